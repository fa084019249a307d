package intake

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/ownership"
	"gitops-agent/reconcile/policy"
	"gitops-agent/verify"
)

// asked is what commits ask for that may be a guard, of what they changed.
type asked struct {
	cluster  *manifest.Guards // nil if they did not change the guards of the Cluster
	guests   map[journal.Label]guest.Desired
	objects  map[journal.Label]kind.Desired
	policies map[journal.Label]policy.Rule
}

func newAsked() asked {
	return asked{guests: make(map[journal.Label]guest.Desired), objects: make(map[journal.Label]kind.Desired), policies: make(map[journal.Label]policy.Rule)}
}

// askedBy returns what commits ask for that changed the manifests of a tree. What they changed for other targets comes into force with a later commit.
func askedBy(c authored, after *loweredTree, commits []verify.SignedCommit) asked {
	a := newAsked()
	if slices.ContainsFunc(commits, func(commit verify.SignedCommit) bool { return commit.Elsewhere }) {
		return a
	}
	for label, fields := range c.fields {
		name := label.Kind + "/" + label.Name
		if label.Kind == "Cluster" && fields[0] != "spec" {
			a.cluster = &after.cluster.Guards
		}
		if d, is := after.guests[name]; is {
			a.guests[label] = d
		}
		if d, is := after.objects[name]; is {
			a.objects[label] = d
		}
		if rule, is := after.policies[label.Name]; is && label.Kind == string(policy.Kind) {
			rule.Origin = after.policyOrigins[label.Name]
			a.policies[label] = rule
		}
	}
	return a
}

// passesSigners reports whether commits are by several signers.
func passesSigners(commits []verify.SignedCommit) bool {
	return slices.ContainsFunc(commits, func(c verify.SignedCommit) bool { return c.Entry != commits[0].Entry })
}

// then adds what a later commit of the same signers asks for.
func (a *asked) then(later authored) {
	for _, label := range later.removed {
		delete(a.guests, label)
		delete(a.objects, label)
		delete(a.policies, label)
	}
	a.cluster = cmp.Or(later.asks.cluster, a.cluster)
	maps.Copy(a.guests, later.asks.guests)
	maps.Copy(a.objects, later.asks.objects)
	maps.Copy(a.policies, later.asks.policies)
}

// passed returns the guards that commits below the tip ask for, and the state with them. Where one signer follows another, they are in force as if the agent had polled in between: otherwise
// who pushes right after a guard takes it away without an approval. A signer corrects the own commits freely until another one follows.
func (a Accepted) passed(state journal.State, limits gate.Limits) ([]journal.Body, journal.State) {
	var records []journal.Body
	state.Objects = maps.Clone(state.Objects)
	commits := a.trace.commits
	for begin, end := 0, 1; end < len(commits); end++ {
		if slices.EqualFunc(commits[end].by, commits[begin].by, func(x, y journal.Introduction) bool { return x.Entry == y.Entry }) {
			continue
		}
		asks := newAsked()
		for _, c := range commits[begin:end] {
			asks.then(c)
		}
		until := a
		until.trace.commits = commits[:end]
		introduced := newIntroduced(until, state, false)
		found := asks.guards(guard.After(state, introduced), scopeAfter(state, introduced, limits))
		objects := ownership.AcceptObjects(slices.Collect(maps.Values(asks.objects)), state, func(former string, _ kind.Desired) string { return former })
		for _, body := range objects {
			if owned, is := body.(journal.OwnedObject); is {
				state.Objects[journal.ObjectID{Kind: owned.Kind, ID: owned.ID}] = owned
			}
		}
		state, records, begin = guard.After(state, found), slices.Concat(records, found, objects), end
	}
	return records, state
}

// guards returns the records of what is asked for of owned guests, of the Cluster and of policies.
func (a *asked) guards(state journal.State, scope gate.Scope) []journal.Body {
	records := guard.AcceptPolicies(slices.Collect(maps.Values(a.policies)), state)
	if a.cluster != nil && state.ClusterGuards != nil {
		if g, changed := guard.AcceptCluster(*a.cluster, state); changed {
			records = append(records, g)
		}
	}
	vmids := make(map[journal.Label]int, len(state.Owned))
	for vmid, owned := range state.Owned {
		vmids[journal.Label{Kind: owned.Kind, Name: owned.Name}] = vmid
	}
	for label, d := range a.guests {
		d.VMID = cmp.Or(d.VMID, vmids[label])
		if _, known := guard.InForce(state, d.VMID); !known || d.Invalid != nil || !scope.Guest(d.Ref) {
			continue
		}
		now, g := state.Guarded[d.VMID], guard.Accept(&d, state, time.Now())
		if g.File = now.File; g != now { // the file is recorded for the tip
			records = append(records, g)
		}
	}
	return records
}

// policies returns the policies that the revision and the commits below its tip ask for.
func (a Accepted) policies() []policy.Rule {
	rules := a.set.Policies
	for _, c := range a.trace.commits {
		rules = slices.AppendSeq(slices.Clip(rules), maps.Values(c.asks.policies))
	}
	return rules
}
