package reconcile_test

import (
	"os"
	"path/filepath"
	"testing"

	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sigtest"
)

// TestLostRepository: if the repository in the state directory is lost, the first poll clones it again, and the accepted revision stays in force. If the policy
// trusts its signer no longer, a commit of somebody who may not change files does not bring it back.
func TestLostRepository(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		trusted []sigtest.Identity
		refused string
	}{
		"signer_is_trusted":           {[]sigtest.Identity{alice, olga}, ""},
		"signer_is_trusted_no_longer": {[]sigtest.Identity{olga}, "missing-role"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, newSim(t, pvesim.Options{}))
			l.files["cluster.yaml"] = clusterYAML
			l.files["web.yaml"] = vmYAML("web-1", 201, "cpu: {cores: 1}")
			first := l.push("first", alice)
			l.once()
			l.ok(os.RemoveAll(filepath.Join(l.state, "repository")))
			l.trust(test.trusted...)
			if test.refused != "" {
				l.push("nothing changed", olga)
				r := l.once()
				if refused := r.Source.Refused; refused == nil || refused.Reason != test.refused || r.Writes.Allowed {
					t.Errorf("got %+v and writes %+v, want %s and no writes", r.Source, r.Writes, test.refused)
				}
				return
			}
			r := l.once()
			l.wantInForce(r, first, "", "")
			if !r.Converged {
				t.Errorf("got %+v, want it converged at the first poll", r.Source)
			}
		})
	}
}
