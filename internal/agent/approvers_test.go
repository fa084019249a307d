package agent

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestApproverWarnings: config check warns of approvers with a scope, and if too few people without one are left.
func TestApproverWarnings(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	olga := SignerConfig{Name: "olga", May: []string{"change", "approve"}}
	again := SignerConfig{Name: "olga", Issuer: "https://other.test", May: []string{"approve"}}
	dora := SignerConfig{Name: "dora", May: []string{"approve"}, Guests: []string{"VirtualMachine/db-*"}, Paths: []string{"db", "mail"}}
	wanda := SignerConfig{Name: "wanda", May: []string{"change"}, Guests: []string{"VirtualMachine/web-*"}}
	left, leaves := olga, olga
	left.Until, leaves.Until = now, now.Add(time.Second)
	ofDora := "trust.signers[1]: approvals by dora count only for steps that reach nothing outside of the guests VirtualMachine/db-* and the paths db, mail"
	tests := map[string]struct {
		signers []SignerConfig
		minimum int
		want    []string // prefixes
	}{
		"no_scope":       {[]SignerConfig{olga, wanda}, 2, nil},
		"nobody":         {[]SignerConfig{wanda}, 0, nil},
		"scope":          {[]SignerConfig{olga, dora}, 0, []string{ofDora}},
		"leaves_later":   {[]SignerConfig{leaves, dora}, 1, []string{ofDora}},
		"has_left":       {[]SignerConfig{left, dora}, 1, []string{ofDora, "trust.signers: got 0 names of approvers without guests and paths, want at least 1. "}},
		"only_scopes":    {[]SignerConfig{wanda, dora}, 0, []string{ofDora, "trust.signers: got 0 names of approvers without guests and paths, want at least 1. "}},
		"one_person_two": {[]SignerConfig{olga, dora, again}, 2, []string{ofDora, "trust.signers: got 1 names of approvers without guests and paths, want at least 2. "}},
	}
	for name, test := range tests {
		c := Config{Trust: TrustConfig{Signers: test.signers, Guards: GuardsConfig{Approvals: test.minimum}}}
		got := c.ApproverWarnings(now)
		for i := range got {
			if i < len(test.want) && strings.HasPrefix(got[i], test.want[i]) {
				got[i] = test.want[i]
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
