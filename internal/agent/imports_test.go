package agent_test

import (
	"os/exec"
	"strings"
	"testing"
)

// Packages that print the report, or talk to Proxmox, link neither the verifier nor the repository: they need no trust decision.
func TestObserversAndAdaptersLinkNoVerifier(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"gitops-agent/reconcile/report", "gitops-agent/metrics", "gitops-agent/internal/status", "gitops-agent/internal/proxmox"} {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", name).Output()
		if err != nil {
			t.Fatalf("go list -deps %s: %v", name, err)
		}
		for dependency := range strings.FieldsSeq(string(out)) {
			if strings.Contains(dependency, "sigstore") || strings.Contains(dependency, "go-git") {
				t.Errorf("%s: got %s among its dependencies, want none of sigstore and go-git", name, dependency)
			}
		}
	}
}
