package manifest

import (
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/policy"
)

// Finding is what a policy of the source says of a guest.
type Finding struct {
	Guest  string       `json:"guest"` // label
	Origin guest.Origin `json:"-"`     // of the guest
	policy.Finding
}

// String returns "web.yaml:3:1: VirtualMachine web-1: policy two-nics (policies.yaml:1:1) denies it: ...".
func (f Finding) String() string {
	return Problem{Origin: f.Origin, Guest: f.Guest, Message: "policy " + f.Finding.String()}.String()
}

// Findings returns what the policies of the source about guests say of its guests, sorted by guest. A guest is judged as if it were created now: what its manifest does not mention
// is empty, who introduced its fields is not known, and neither are the scopes of those who sign the policies.
func (s Set) Findings() []Finding {
	if len(s.Policies) == 0 {
		return nil
	}
	set := policy.CompileRepository(s.Policies)
	var findings []Finding
	for i := range s.Guests {
		g := &s.Guests[i]
		for _, f := range set.Guest(policy.NewGuest(&g.desired, nil, nil), policy.Place{File: g.desired.Origin.File, Of: g.Ref}) {
			findings = append(findings, Finding{g.Label(), g.desired.Origin, f})
		}
	}
	return findings
}
