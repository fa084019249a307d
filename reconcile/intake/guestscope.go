package intake

import (
	"context"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/policy"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
	"gitops-agent/verify/scope"
)

// tracer compares the manifests before and after the commits of a revision. It lowers them, so a changed class counts for every guest that uses it,
// and a changed file that changes nothing for a guest does not count.
type tracer struct {
	repo  *gitsource.Repository
	scope Scope
	all   bool // compare also the commits of signers without guests, to record who introduced what
	// passes says that commits of other signers are below the tip, so that the guards are needed that each commit asks for.
	passes bool
	series manifest.Series
	known  map[gitsource.ID]manifest.Set // trees that were parsed before: the accepted one, and the tip
	last   map[gitsource.ID]*loweredTree // the tree after the last commit, which is the tree before the next one

	entered map[journal.Label][][]string // the paths of the signers with paths who brought a manifest into its file, by its label
}

// loweredTree is what the manifests of one tree want.
type loweredTree struct {
	cluster manifest.Cluster
	guests  map[string]guest.Desired // by label, without their positions in files: moving a line is not a change
	images  map[string]image.Desired // by name, in the same way
	objects map[string]kind.Desired  // by label, in the same way

	policies      map[string]policy.Rule  // by name, in the same way
	policyOrigins map[string]guest.Origin // by name

	files map[journal.Label]string // of the manifests of guests, images and objects
}

// authored is what one commit changed. After commits whose manifests do not parse, the next commit's changes are by the signers of all of them.
type authored struct {
	by     []journal.Introduction // without fields
	scopes []journal.Introduction // the same with the scopes of the signers, for policies

	policies map[string][]journal.Introduction // those of scopes who changed the file of a policy, by its name; a policy that is not listed is by all of them

	fields  map[journal.Label][]string
	removed []journal.Label
	left    map[journal.Label]string // guests whose manifests are no longer in this file
	asks    asked
}

// follow compares the commits of a revision in order. It refuses a revision in which a signer changed guests outside of the guests that the policy
// names for the signer.
func (t *tracer) follow(ctx context.Context, rev verify.Revision) ([]authored, error) {
	var list []authored
	var unread []verify.SignedCommit // commits of signers without guests whose manifests do not parse
	var before *loweredTree          // the last tree before them
	commits := rev.Commits()
	foreign := newNotAdopted(commits)
	for _, commit := range commits {
		limited, recorded := len(commit.Guests) > 0, len(commit.Guests) > 0 || t.all || t.passes
		if commit.Tree == commit.Before || !recorded && !foreign.concerns(commit) && len(commit.Paths) == 0 && len(unread) == 0 {
			foreign.adopt(commit)
			continue
		}
		if len(unread) == 0 || limited {
			var err error
			if before, err = t.load(ctx, commit, commit.Before); err != nil && (limited || !isRefusal(err)) {
				return nil, err
			}
		}
		after, err := t.load(ctx, commit, commit.Tree)
		switch {
		case err != nil && !limited && isRefusal(err):
			unread = append(unread, commit)
			continue
		case err != nil:
			return nil, err
		}
		c := compare(before, after, append(unread, commit))
		if err := t.attributePolicies(ctx, &c, before, after, append(unread, commit)); err != nil {
			return nil, err
		}
		if outside := c.outside(commit); limited && len(outside) > 0 {
			return nil, outOfScope(commit, fmt.Errorf("%s may change %s and changed %s",
				commit.Subject, strings.Join(commit.Guests, ", "), strings.Join(outside, ", ")))
		}
		if secrets := foreignSecrets(before, after, append(unread, commit)); len(secrets) > 0 {
			return nil, outOfScope(commit, fmt.Errorf("%s may change %s and refers to the encrypted %s",
				commit.Subject, strings.Join(commit.Paths, ", "), strings.Join(secrets, ", ")))
		}
		if err := foreign.note(ctx, t.repo, c, append(unread, commit)); err != nil {
			return nil, err
		}
		foreign.adopt(commit)
		if recorded {
			if t.passes {
				c.asks = askedBy(c, after, append(unread, commit))
			}
			list = append(list, c)
		}
		t.noteEntered(before, after, append(unread, commit))
		unread = nil
		t.last = map[gitsource.ID]*loweredTree{commit.Tree: after}
	}
	return list, foreign.check(ctx, t, commits)
}

// noteEntered notes which manifests the signers of some commits brought into their files.
func (t *tracer) noteEntered(before, after *loweredTree, commits []verify.SignedCommit) {
	for _, commit := range commits {
		if len(commit.Paths) == 0 {
			continue
		}
		for label, file := range after.files {
			if before == nil || before.files[label] != file {
				t.entered[label] = append(t.entered[label], commit.Paths)
			}
		}
	}
}

func isRefusal(err error) bool { return errors.As(err, new(*RefusedError)) }

func outOfScope(commit verify.SignedCommit, err error) error {
	return &RefusedError{
		Commit: commit.ID, Reason: report.RefusedScope, Err: err,
		Hint: "let a signer who may change these guests sign the change, or extend the signer's guests in the agent's config",
	}
}

// filesUnknown is the error about a commit whose changed files are not known. It refuses the commit only if its trees are the reason: every other error may pass.
func filesUnknown(commit verify.SignedCommit, err error) error {
	err = fmt.Errorf("the files that %s changed cannot be determined: %w", commit.Subject, err)
	if gitsource.IsUnfit(err) {
		return outOfScope(commit, err)
	}
	return err
}

// load lowers a tree on one side of a commit. The tree before the first commit is empty and contains no guests. A tree that does not parse is
// refused, because it concerns all guests.
func (t *tracer) load(ctx context.Context, commit verify.SignedCommit, tree gitsource.ID) (*loweredTree, error) {
	if last := t.last[tree]; last != nil {
		return last, nil
	}
	set, known := t.known[tree]
	if !known && tree != "" {
		var err error
		set, err = load(ctx, t.repo, commit.ID, tree, t.scope, t.series.ParseEarlier)
		var refused *RefusedError
		switch {
		case errors.As(err, &refused):
			return nil, outOfScope(commit, fmt.Errorf("the changes by %s cannot be determined: %w", commit.Subject, refused.Err))
		case err != nil && !errors.Is(err, gitsource.ErrNoPath):
			return nil, err
		}
	}
	return lowered(set), nil
}

func lowered(set manifest.Set) *loweredTree {
	l := &loweredTree{cluster: set.Cluster, guests: make(map[string]guest.Desired, len(set.Guests)), images: make(map[string]image.Desired, len(set.Images)), objects: make(map[string]kind.Desired, len(set.Objects)), policies: make(map[string]policy.Rule, len(set.Policies)), policyOrigins: make(map[string]guest.Origin, len(set.Policies))}
	l.files = filesOf(set.Images, set.Objects)
	l.cluster.Origin = guest.Origin{}
	for _, d := range set.Images {
		d.Origin = guest.Origin{}
		l.images[d.Name] = d
	}
	for _, d := range set.Objects {
		l.objects[d.Label()] = d.WithoutPositions()
	}
	for _, rule := range set.Policies {
		l.policyOrigins[rule.Name] = rule.Origin
		rule.Origin, rule.Positions = guest.Origin{}, nil
		l.policies[rule.Name] = rule
	}
	guests, err := set.Lower(nil)
	if err != nil {
		return l // cannot happen: without assigned vmids there are no vmids that could collide
	}
	for _, d := range guests {
		l.guests[d.Label()], l.files[guard.LabelOf(d.Ref)] = d, d.Origin.File
	}
	return l
}

// compare returns what differs between two trees, as changed by the signers of some commits. A nil tree is empty.
func compare(before, after *loweredTree, commits []verify.SignedCommit) authored {
	if before == nil {
		before = &loweredTree{}
	}
	c := authored{fields: make(map[journal.Label][]string), left: make(map[journal.Label]string)}
	for _, commit := range commits {
		by := journal.Introduction{Signer: commit.Signer, Entry: commit.Entry, Limited: len(commit.Guests) > 0, Commit: string(commit.ID)}
		c.by = append(c.by, by)
		by.Paths, by.Guests = commit.Paths, commit.Guests
		c.scopes = append(c.scopes, by)
	}
	if changed := changedOfCluster(before.cluster, after.cluster); len(changed) > 0 {
		c.fields[journal.Label{Kind: "Cluster", Name: after.cluster.Name}] = changed
	}
	withPolicies := len(before.policies)+len(after.policies) > 0 // which make it matter where a manifest lies
	for label, d := range after.guests {
		key := journal.Label{Kind: string(d.Kind), Name: d.Name}
		old, existed := before.guests[label]
		if !existed {
			c.fields[key] = []string{journal.AllFields}
			continue
		}
		changed := guest.ChangedFields(old, d)
		if withPolicies && path.Dir(old.Origin.File) != path.Dir(d.Origin.File) {
			changed = append(changed, gate.FieldFolder)
			slices.Sort(changed)
		}
		if len(changed) > 0 {
			c.fields[key] = changed
		}
	}
	c.compareImages(before.images, after.images)
	c.compareObjects(before.objects, after.objects)
	c.comparePolicies(before.policies, after.policies)
	for label, d := range before.guests {
		next, still := after.guests[label]
		key := journal.Label{Kind: string(d.Kind), Name: d.Name}
		if !still {
			c.removed = append(c.removed, key)
		}
		if next.Origin.File != d.Origin.File {
			c.left[key] = d.Origin.File
		}
	}
	return c
}

// comparePolicies notes the policies that differ, each as a whole.
func (c *authored) comparePolicies(before, after map[string]policy.Rule) {
	for name, rule := range after {
		if old, existed := before[name]; !existed || !reflect.DeepEqual(old, rule) {
			c.fields[journal.Label{Kind: string(policy.Kind), Name: name}] = []string{journal.AllFields}
		}
	}
	for name := range before {
		if _, still := after[name]; !still {
			c.removed = append(c.removed, journal.Label{Kind: string(policy.Kind), Name: name})
		}
	}
}

// attributePolicies finds who of the signers of several commits changed each policy: those who changed its file. The manifests between the commits do not parse, so the file is all that is
// known. A policy would otherwise apply only within the scopes of people who did not write it.
func (t *tracer) attributePolicies(ctx context.Context, c *authored, before, after *loweredTree, commits []verify.SignedCommit) error {
	if len(commits) < 2 {
		return nil
	}
	var paths []map[string]bool // that each commit changed
	for label := range c.fields {
		if label.Kind != string(policy.Kind) {
			continue
		}
		for _, commit := range commits[len(paths):] {
			changed, err := t.repo.Changed(ctx, commit.Before, commit.Tree)
			if err != nil {
				return filesUnknown(commit, err)
			}
			set := make(map[string]bool, len(changed))
			for _, path := range changed {
				set[path] = true
			}
			paths = append(paths, set)
		}
		former := ""
		if before != nil {
			former = before.policyOrigins[label.Name].File
		}
		var by []journal.Introduction
		for i, set := range paths {
			if set[after.policyOrigins[label.Name].File] || set[former] {
				by = append(by, c.scopes[i])
			}
		}
		if len(by) > 0 {
			if c.policies == nil {
				c.policies = make(map[string][]journal.Introduction)
			}
			c.policies[label.Name] = by
		}
	}
	return nil
}

// compareImages notes the Images that differ. Each of them counts as a whole: the fields of an Image describe one file.
func (c *authored) compareImages(before, after map[string]image.Desired) {
	for name, d := range after {
		if old, existed := before[name]; !existed || !reflect.DeepEqual(old, d) {
			c.fields[journal.Label{Kind: string(image.Kind), Name: name}] = []string{journal.AllFields}
		}
	}
	for name := range before {
		if _, still := after[name]; !still {
			c.removed = append(c.removed, journal.Label{Kind: string(image.Kind), Name: name})
		}
	}
}

// compareObjects notes the objects of package kinds that differ, each as a whole.
func (c *authored) compareObjects(before, after map[string]kind.Desired) {
	for label, d := range after {
		if old, existed := before[label]; !existed || !reflect.DeepEqual(old, d) {
			c.fields[journal.Label{Kind: string(d.Kind), Name: d.Name}] = []string{journal.AllFields}
		}
	}
	for label, d := range before {
		if _, still := after[label]; !still {
			c.removed = append(c.removed, journal.Label{Kind: string(d.Kind), Name: d.Name})
		}
	}
}

// changedOfCluster returns which fields of the Cluster manifest differ.
func changedOfCluster(a, b manifest.Cluster) []string {
	switch {
	case a == b:
		return nil
	case a.Name != b.Name:
		return []string{journal.AllFields}
	case a.Guards == b.Guards:
		return []string{"spec"}
	}
	return []string{gate.FieldGuards}
}

// labels returns the labels of the changed guests and other objects, and of a changed Cluster, sorted.
func (c authored) labels() []string {
	var changed []string
	for label := range c.fields {
		changed = append(changed, label.Kind+"/"+label.Name)
	}
	for _, label := range c.removed {
		changed = append(changed, label.Kind+"/"+label.Name)
	}
	slices.Sort(changed)
	return changed
}

// outside returns the labels that a signer may not change.
func (c authored) outside(commit verify.SignedCommit) []string {
	return slices.DeleteFunc(c.labels(), func(label string) bool { return scope.MatchesAny(commit.Guests, label) })
}
