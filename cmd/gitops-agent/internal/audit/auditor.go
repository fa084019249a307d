package audit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unique"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/gitsource"
	"gitops-agent/internal/attest"
	"gitops-agent/verify"
)

// maxAudited bounds the number of commits of a range.
const maxAudited = 200_000 // commits

// auditor verifies commits and tags, each by itself.
type auditor struct {
	repo   *gitsource.Repository
	judge  judge
	policy *verify.Policy                   // whose seals count; nil if no policy judges
	done   func(n, of int)                  // called after each commit, by several goroutines
	note   func(format string, args ...any) // shows what the auditor does before and after that; nil shows nothing
	walked func(n, of int)                  // called after the walk to the beginning of a range read a commit; of is 0, since the walk finds the number; nil calls nothing
	sides  bool                             // verify the commits of side branches too
}

func (a auditor) read(n int) {
	if a.walked != nil {
		a.walked(n, 0)
	}
}

func (a auditor) progress(format string, args ...any) {
	if a.note != nil {
		a.note(format, args...)
	}
}

// A judge verifies one object: a *verify.Policy, or a *verify.Identifier, which accepts nothing.
type judge interface {
	Audit(ctx context.Context, repo *gitsource.Repository, id gitsource.ID) verify.Verdict
	AuditTag(ctx context.Context, repo *gitsource.Repository, id gitsource.ID, ref string) verify.Verdict
}

// A selection holds the objects that a revision names.
type selection struct {
	tag        gitsource.ID   // an annotated tag, or ""
	ref        string         // the full name of the ref of the tag; "" if the revision names the tag by its id
	commits    []gitsource.ID // oldest first
	floor, tip gitsource.ID   // of a range; tip is "" if it is none, and floor if the range begins with the history
}

// verdict is the verdict on an object.
type verdict struct {
	verify.Verdict
	kind     string       // kindCommit or kindTag
	name     string       // of the ref of a tag, without refs/tags/; "" if it is not known
	sealedBy gitsource.ID // the commit that seals a refused one, or ""
	mergedBy gitsource.ID // of a commit of a side branch: the merge that brings it into the range
	depth    int          // of a refused commit: first parents between HEAD and it, or notBelowHead; only if Options.Explain is set
	below    gitsource.ID // of a single commit that is refused as the tip of a branch alone: the older commit that is the cause
	first    bool         // it has no parent
	path     string       // a file that it changes, if Options.Paths is set
	attested []attest.Attestation
	promotes *promotionView // nil without a trailer Gitops-Promoted
}

// The kinds of objects.
const kindCommit, kindTag = "commit", "tag"

// The words for a verdict.
const (
	wordAccepted = "accepted"
	wordRefused  = "refused"
	wordSealed   = "sealed" // refused by itself, and sealed by a later commit
)

func (a verdict) word() string {
	switch {
	case a.Accepted:
		return wordAccepted
	case a.sealedBy != "":
		return wordSealed
	default:
		return wordRefused
	}
}

// audit verifies the objects of a selection, and marks the refused ones of a range that a later commit seals.
func (a auditor) audit(ctx context.Context, chosen selection) ([]verdict, notAudited, error) {
	verdicts := make([]verdict, len(chosen.commits))
	if err := a.each(ctx, chosen.commits, func(i int, v verdict) { verdicts[i] = v }); err != nil {
		return nil, notAudited{}, err
	}
	if chosen.tip == "" {
		return append(a.auditTags(ctx, chosen), verdicts...), notAudited{}, nil
	}
	var merges []merge
	for _, v := range verdicts {
		if len(v.Merged) > 0 {
			merges = append(merges, merge{v.Object, v.Merged})
		}
	}
	side, complete, err := a.sideBranches(ctx, chosen.floor, chosen.commits, merges)
	if err != nil {
		return nil, notAudited{}, err
	}
	missed := notAudited{len(side), !complete}
	if a.sides {
		missed.sides = 0
		if verdicts, err = a.withSides(ctx, verdicts, side); err != nil {
			return nil, notAudited{}, err
		}
	}
	return verdicts, missed, a.seal(ctx, verdicts, chosen.floor, chosen.tip)
}

// withSides verifies the commits of side branches, and returns all verdicts, those of a side branch before the merge that brings it in.
func (a auditor) withSides(ctx context.Context, verdicts []verdict, side []sideCommit) ([]verdict, error) {
	found := make([]verdict, len(side))
	ids := make([]gitsource.ID, len(side))
	for i, s := range side {
		ids[i] = s.id
	}
	err := a.each(ctx, ids, func(i int, v verdict) {
		v.mergedBy = side[i].merge
		found[i] = v
	})
	if err != nil {
		return nil, err
	}
	all := make([]verdict, 0, len(verdicts)+len(side))
	for _, v := range verdicts {
		for len(found) > 0 && found[0].mergedBy == v.Object {
			all, found = append(all, found[0]), found[1:]
		}
		all = append(all, v)
	}
	return all, nil
}

// notAudited says what of a range has no verdict.
type notAudited struct {
	sides int  // commits of side branches
	more  bool // there are more, which were not counted
}

// choose finds the objects that a revision names: a commit, an annotated tag with its commit, or the commits of a range A..B along first parents. If one is
// missing, the error has the remedy for a clone that lacks objects.
func (a auditor) choose(ctx context.Context, revision string) (selection, error) {
	chosen, err := a.find(ctx, revision)
	if errors.Is(err, gitsource.ErrNotFound) {
		if lacks := a.repo.Lacks(); lacks != "" {
			err = term.WithHint(err, lacks)
		}
	}
	return chosen, err
}

func (a auditor) find(ctx context.Context, revision string) (selection, error) {
	if from, to, isRange := cutRange(revision); isRange {
		return a.chooseRange(ctx, from, to)
	}
	var chosen selection
	name := strings.TrimSuffix(revision, "^{tag}")
	if tag, err := a.repo.Resolve(ctx, name+"^{tag}"); err == nil {
		refs, err := a.repo.Refs(name)
		if err != nil {
			return selection{}, err
		}
		chosen.tag, chosen.ref = tag, append(refs, "")[0]
	}
	if chosen.tag != "" && name != revision {
		return chosen, nil
	}
	id, err := a.repo.Resolve(ctx, revision)
	chosen.commits = []gitsource.ID{id}
	return chosen, err
}

// maxTags bounds the number of tags of tags.
const maxTags = 10

// auditTags verifies the tag of a selection, if there is one, and the tags that it names in turn. The name of the first one must be that of its ref; an
// inner tag has no ref.
func (a auditor) auditTags(ctx context.Context, chosen selection) []verdict {
	var verdicts []verdict
	name := strings.TrimPrefix(chosen.ref, "refs/tags/")
	for id, ref := chosen.tag, chosen.ref; id != "" && len(verdicts) < maxTags; ref = "" {
		v := a.judge.AuditTag(ctx, a.repo, id, ref)
		verdicts = append(verdicts, verdict{kind: kindTag, name: name, Verdict: v})
		id, name = "", ""
		if v.PointsTo == kindTag {
			id = v.Points
		}
	}
	return verdicts
}

// cutRange splits A..B.
func cutRange(revision string) (from, to string, isRange bool) { return strings.Cut(revision, "..") }

// chooseRange finds the commits after from, up to and including to. An empty from is the beginning of the history, an empty to is HEAD.
func (a auditor) chooseRange(ctx context.Context, from, to string) (selection, error) {
	if strings.HasPrefix(to, ".") {
		return selection{}, term.UsageErrorf("range: want A..B; A...B is not a first-parent path")
	}
	var chosen selection
	var err error
	if from != "" {
		if chosen.floor, err = a.repo.Resolve(ctx, from); err != nil {
			return selection{}, err
		}
	}
	if chosen.tip, err = a.repo.Resolve(ctx, cmp.Or(to, "HEAD")); err != nil {
		return selection{}, err
	}
	if chosen.commits, err = a.reach(ctx, chosen.floor, chosen.tip); err != nil {
		return selection{}, rangeError(err)
	}
	return chosen, nil
}

// reach returns the commits of a range, oldest first. A commit that does not have the layout that git writes is refused and does not end the range: below it,
// the range goes on with what git takes for its first parent. One that is missing or too large is the first of the range, since nobody knows what is below it.
func (a auditor) reach(ctx context.Context, floor, tip gitsource.ID) ([]gitsource.ID, error) {
	var ids []gitsource.ID
	for to := tip; ; {
		path, err := verify.FirstParents(ctx, a.repo, floor, to, maxAudited-len(ids), func(n int) {
			a.read(len(ids) + n)
		})
		ids = append(path, ids...)
		if len(path) == 0 || err == nil {
			return ids, err
		}
		below, err := a.repo.Resolve(ctx, string(path[0])+"~1")
		if errors.Is(err, gitsource.ErrNotFound) || errors.Is(err, gitsource.ErrTooLarge) || below == floor {
			return ids, nil
		}
		if err != nil {
			return nil, err
		}
		to = below
	}
}

// rangeError adds the exit status of a refusal to the error for a history that cannot be walked.
func rangeError(err error) error {
	var rejected *verify.RejectedError
	if !errors.As(err, &rejected) {
		return err
	}
	if rejected.Reason == verify.ReasonNotDescendant {
		err = term.WithHint(err, "a range A..B, or the range since the anchor, follows first parents: choose a beginning that is on the first-parent path of the end")
	}
	return term.WithStatus(term.ExitRefused, err)
}

// seal marks the refused commits that a later commit seals. A seal of a merge covers what the merge brings in. It reads no seals if nothing is refused.
func (a auditor) seal(ctx context.Context, verdicts []verdict, floor, tip gitsource.ID) error {
	if !slices.ContainsFunc(verdicts, func(v verdict) bool { return !v.Accepted }) {
		return nil
	}
	a.progress("looking for seals")
	sealedBy, err := a.policy.SealedBy(ctx, a.repo, floor, tip, maxAudited)
	if errors.As(err, new(*verify.RejectedError)) {
		return nil // a seal covers only a history in which every commit shows its parents
	}
	if err != nil {
		return err
	}
	for i, v := range verdicts {
		if !v.Accepted && !v.Denied {
			verdicts[i].sealedBy = sealedBy[cmp.Or(v.mergedBy, v.Object)]
		}
	}
	return nil
}

// each verifies commits on all processors, and calls use with each position in ids and its verdict, by several goroutines.
func (a auditor) each(ctx context.Context, ids []gitsource.ID, use func(i int, v verdict)) error {
	var next, done atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(ids)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(ids)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				use(int(i), a.auditCommit(ctx, ids[i]))
				a.done(int(done.Add(1)), len(ids))
			}
		})
	}
	workers.Wait()
	return ctx.Err()
}

func (a auditor) auditCommit(ctx context.Context, id gitsource.ID) verdict {
	v := verdict{kind: kindCommit, Verdict: a.judge.Audit(ctx, a.repo, id)}
	for _, text := range []*string{&v.Subject, &v.Issuer, &v.Log, &v.Target, &v.ClaimedSubject, &v.ClaimedIssuer} {
		*text = unique.Make(*text).Value() // most commits of a long range have the same
	}
	if !v.Accepted && v.Reason != "" {
		l, err := a.repo.Links(ctx, id)
		v.first = len(l.Parents) == 0
		if v.Reason == verify.ReasonMalformed && err == nil && len(l.Parents) > 1 {
			v.Merged = l.Parents[1:]
		}
		if v.Reason == verify.ReasonIncompleteHistory {
			v.Hint = cmp.Or(a.repo.Lacks(), v.Hint)
		}
	}
	return v
}

// maxSealDepth is how far below a seal a commit may be, along first parents.
const maxSealDepth = 1000

// notBelowHead is the depth of a commit that is not among the first parents of HEAD, or so far below that no seal can cover it.
const notBelowHead = -1

// measure finds how far each commit is below HEAD, along first parents.
func (a auditor) measure(ctx context.Context, verdicts []verdict) {
	depths := make(map[gitsource.ID]int)
	for id, err := a.repo.Resolve(ctx, "HEAD"); err == nil && len(depths) < maxSealDepth; id, err = a.repo.Resolve(ctx, string(id)+"~1") {
		depths[id] = len(depths)
	}
	for i, v := range verdicts {
		verdicts[i].depth = notBelowHead
		if depth, found := depths[v.Object]; found {
			verdicts[i].depth = depth
		}
	}
}

// locate finds for each refused commit a file that it changes, for output formats that need a path. A commit whose trees cannot be compared
// gets no path.
func (a auditor) locate(ctx context.Context, verdicts []verdict) {
	for i, v := range verdicts {
		if v.Accepted || v.kind != kindCommit {
			continue
		}
		after, err := a.tree(ctx, string(v.Object))
		if err != nil {
			continue
		}
		var before gitsource.ID
		if !v.first {
			if before, err = a.tree(ctx, string(v.Object)+"~1"); err != nil {
				continue
			}
		}
		if changed, err := a.repo.Changed(ctx, before, after); err == nil && len(changed) > 0 {
			verdicts[i].path = changed[0]
		}
	}
}

func (a auditor) tree(ctx context.Context, revision string) (gitsource.ID, error) {
	id, err := a.repo.Resolve(ctx, revision)
	if err != nil {
		return "", err
	}
	commit, err := a.repo.Commit(ctx, id)
	if err != nil {
		return "", err
	}
	return TreeOf(commit)
}

// TreeOf returns the tree that a commit names in its first line. Use it only to read an untrusted commit: a revision that is applied gets
// its tree from package verify.
func TreeOf(commit gitsource.Commit) (gitsource.ID, error) {
	line, _, _ := bytes.Cut(commit.Raw, []byte("\n"))
	text, found := bytes.CutPrefix(line, []byte("tree "))
	if !found {
		return "", fmt.Errorf("commit %s does not begin with a tree", commit.ID)
	}
	return gitsource.ParseID(string(text))
}
