package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/policy"
	"gitops-agent/reconcile/reason"
)

// Rules are policies with the guests that manifests name. A guest is judged once for each reading that differs. Several goroutines may use a Rules; a nil
// Rules has no policies.
type Rules struct {
	set    *policy.Set
	guests map[guest.Ref]*guest.Desired // by policyKey
	left   map[int][]journal.Former     // by vmid: places that manifests left, and whose policies still apply

	mu    sync.Mutex
	known map[guest.Ref]*judged
}

// judged is what the policies about guests say of a guest, and what it follows from.
type judged struct {
	findings []policy.Finding

	digest     string // of the configuration
	readAt     time.Time
	status     guest.Status
	node, pool string
	template   bool
	ha         bool
	by         []journal.Introduction

	configuring bool // the guest was not seen configured yet, so the fields of ignoreFields count
}

// NewRules returns the policies for guests; nil without policies. It is made once for each revision. Left contains the places that the manifests of guests left, and whose policies still
// apply, by vmid.
func NewRules(set *policy.Set, guests []guest.Desired, left map[int][]journal.Former) *Rules {
	if set.Len() == 0 {
		return nil
	}
	r := &Rules{set: set, left: left, guests: make(map[guest.Ref]*guest.Desired, len(guests)), known: make(map[guest.Ref]*judged, len(guests))}
	for i := range guests {
		r.guests[policyKey(guests[i].Ref)] = &guests[i]
	}
	return r
}

// Findings returns what the policies say of a step now. The policies about guests are about every step that follows from a manifest, except for those
// after which the guest is down: a guest that breaks a rule may be stopped.
func (g Gate) Findings(step plan.Step) []policy.Finding {
	r := g.Rules
	if r == nil || step.Weakens != nil || step.Refused != "" {
		return nil
	}
	return g.findings(step, r.guests[policyKey(step.Guest)])
}

// findingsOfDestroy returns what the policies would say of the destruction of a guest whose manifest is removed.
func (g Gate) findingsOfDestroy(ref guest.Ref) []policy.Finding {
	if g.Rules == nil {
		return nil
	}
	step := plan.Step{Guest: ref, Op: cluster.OpDestroy, Class: guest.Destructive}
	if live := g.seen(ref.VMID); live != nil {
		step.Volumes = guest.Volumes(*live)
	}
	if d := g.Rules.guests[policyKey(ref)]; d != nil {
		step.File = d.Origin.File
	}
	return g.findings(step, nil)
}

// findings returns what the policies say of a step, of whose guest the manifest asks for d; nil if none names it.
func (g Gate) findings(step plan.Step, d *guest.Desired) []policy.Finding {
	r, key := g.Rules, policyKey(step.Guest)
	if d != nil {
		d = plan.WantedNow(d, g.Owned[step.Guest.VMID])
	}
	aboutGuest := d != nil && step.Order == nil && !step.TakesDown()
	brief := &policy.Step{Op: string(step.Op), Class: string(step.Class)}
	at := r.placeOf(step, d)
	aboutStep := r.set.HasSteps(brief, at)
	if !aboutGuest && !aboutStep {
		return nil
	}
	var findings []policy.Finding
	if aboutGuest {
		findings = r.judge(g, key, d)
	}
	if aboutStep {
		before, after := guestsOf(g, step.Guest, d)
		of := r.set.Step(&policy.Subject{New: after, Old: before, Step: stepOf(step, g.Scope), Now: g.Now, Place: at})
		findings = slices.Concat(findings, of)
	}
	return findings
}

// placeOf returns where the manifest of what a step changes lies. The manifest of a guest is nil if there is none.
func (r *Rules) placeOf(step plan.Step, d *guest.Desired) policy.Place {
	if d != nil {
		return r.placeOfGuest(d)
	}
	return policy.Place{File: step.File, Earlier: guard.Earlier(r.left[step.Guest.VMID]), Of: step.Guest}
}

func (r *Rules) placeOfGuest(d *guest.Desired) policy.Place {
	return policy.Place{File: d.Origin.File, Earlier: guard.Earlier(r.left[d.VMID]), Of: d.Ref}
}

// guestsOf returns the guest of a step as it is now and as its manifest wants it, for the few steps that policies about steps are about.
func guestsOf(g Gate, ref guest.Ref, d *guest.Desired) (before, after *policy.Guest) {
	before, after = policy.NoGuest, policy.NoGuest
	live := g.seen(ref.VMID)
	var labels map[string]string
	if d != nil {
		labels, after = d.Labels, policy.NewGuest(d, live, g.Scope.signersOf(d.Ref))
	}
	if live != nil {
		before = policy.ObservedGuest(live, labels)
	}
	return before, after
}

// seen returns the newest reading of a guest, nil if there is none.
func (g Gate) seen(vmid int) *guest.Observed {
	if seen, isLive := g.Seen[vmid]; isLive {
		return &seen
	}
	return nil
}

// judge returns what the policies about guests say of a guest.
func (r *Rules) judge(g Gate, key guest.Ref, d *guest.Desired) []policy.Finding {
	by := g.Scope.Introduced[guard.LabelOf(d.Ref)].By
	live := g.seen(d.VMID)
	seen := live
	if seen == nil {
		seen = &guest.Observed{}
	}
	r.mu.Lock()
	j, known := r.known[key]
	r.mu.Unlock()
	configuring := g.Owned[d.VMID].Configuring
	if known && j.configuring == configuring && j.isOf(seen, by) {
		return j.findings
	}
	j = &judged{
		findings: r.set.Wanted(d, live, g.Scope.signersOf(d.Ref), r.placeOfGuest(d)),
		digest:   seen.Digest, readAt: seen.ReadAt, status: seen.Status, node: seen.Node, pool: seen.Pool, template: seen.Template, ha: seen.HA, by: by, configuring: configuring,
	}
	r.mu.Lock()
	r.known[key] = j
	r.mu.Unlock()
	return j.findings
}

// isOf reports whether the judgement is of the same reading, or of one with the same configuration, and of the same signers.
func (j *judged) isOf(seen *guest.Observed, by []journal.Introduction) bool {
	sameConfig := j.readAt.Equal(seen.ReadAt) || j.digest != "" && j.digest == seen.Digest
	sameSigners := len(j.by) == len(by) && (len(by) == 0 || &j.by[0] == &by[0]) // the journal replaces a record that changes
	return sameConfig && sameSigners && j.status == seen.Status && j.node == seen.Node && j.pool == seen.Pool && j.template == seen.Template && j.ha == seen.HA
}

// signersOf returns who introduced the fields of a guest.
func (s Scope) signersOf(ref guest.Ref) policy.Signers {
	record, recorded := s.Introduced[guard.LabelOf(ref)]
	if !recorded {
		return nil
	}
	return func(field string) []string {
		var names []string
		for _, by := range introducers(record, field) {
			names = append(names, by.Signer)
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
}

// stepOf returns a step as expressions see it.
func stepOf(step plan.Step, scope Scope) *policy.Step {
	s := &policy.Step{
		Op: string(step.Op), Class: string(step.Class), Volumes: step.Volumes, Signers: slices.Sorted(maps.Keys(scope.Authors(step))),
	}
	if step.Order != nil && step.Order.Scheduled == nil {
		s.Order = step.Order.String()
	}
	for _, c := range step.Changes {
		s.Changes = append(s.Changes, policy.Change{Key: c.Key, From: c.From, To: c.To, Class: string(c.Class)})
	}
	return s
}

// judgeDenial holds a step that a policy denies.
func judgeDenial(findings []policy.Finding) Verdict {
	var denied []string
	for _, f := range findings {
		if f.Result == policy.Deny {
			denied = append(denied, f.String())
		}
	}
	if len(denied) == 0 {
		return Verdict{}
	}
	return held(reason.Policy, "policy "+strings.Join(denied, "; policy "), reason.CorrectDenied.Text)
}

// judgeRequired holds a step that has fewer approvals than a policy requires.
func (g Gate) judgeRequired(step plan.Step, findings []policy.Finding) Verdict {
	f, asks := policy.First(findings, policy.RequireApproval)
	adopts := step.TakesOwnership && step.Op != cluster.OpCreate // the adoption is a record; the approval names the identity that it makes
	if !asks || adopts {
		return Verdict{}
	}
	why := "policy " + f.String()
	switch {
	case step.AfterAdoption:
		return held(reason.Policy, why+": the guest is adopted first", reason.AfterAdoption.Text)
	case step.Op == cluster.OpCreate && step.Guest.VMID == 0:
		return held(reason.Policy, why, reason.AfterVMID.Text)
	}
	digest := step.Digest(g.Cluster, g.identity(step))
	if d := g.Rules.guests[policyKey(step.Guest)]; step.Op == cluster.OpCreate && d != nil {
		digest = creationDigest(g.Cluster, d)
	}
	required := policy.Approvals(findings)
	v := g.judgeDigest(reason.Policy, step, digest, why, required)
	v.Required = required
	if step.TakesOwnership {
		v.ApprovalKeys = nil // the call that creates the guest uses them up
	}
	return v
}

// creationDigest identifies the creation of exactly the guest that a manifest wants. It contains neither marker nor uuid, which the agent draws between the
// approval and the call, nor the node if the agent chooses it.
func creationDigest(clusterName string, d *guest.Desired) string {
	wanted := d.WithoutOrigins()
	wanted.Marker, wanted.UUID, wanted.Former, wanted.Override = "", "", nil, nil
	if wanted.WhyNode = ""; wanted.Placement != nil {
		wanted.Node = "" // the manifest leaves it to the agent
	}
	subject := struct {
		Creates string        `json:"creates"`
		Cluster string        `json:"cluster"`
		Guest   guest.Desired `json:"guest"`
	}{d.Label(), clusterName, wanted}
	text, _ := json.Marshal(subject) // marshalling texts, numbers and maps of texts cannot fail
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// PolicyConditions returns the conditions of a guest about which policies warn, one for each policy.
func PolicyConditions(verdicts []Verdict) []plan.Condition {
	var conditions []plan.Condition
	told := make(map[policy.Finding]bool)
	for _, v := range verdicts {
		for _, f := range v.Policies {
			if f.Result == policy.Warn && !told[f] {
				told[f] = true
				conditions = append(conditions, plan.Condition{
					Type: plan.Warned, Reason: reason.Policy, Message: fmt.Sprintf("policy %s", f), Hint: reason.HoldsNothing.Text,
				})
			}
		}
	}
	return conditions
}
