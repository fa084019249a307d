//go:build integration

package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const unit = "systemd/gitops-agent.service"

// TestUnitIsValid reads the unit with systemd, which warns of unknown settings and values. The program is replaced by one that exists.
func TestUnitIsValid(t *testing.T) {
	text, err := os.ReadFile(unit)
	if err != nil {
		t.Fatal(err)
	}
	const program = "/usr/bin/gitops-agent"
	if strings.Count(string(text), program) != 1 {
		t.Fatalf("got %d times %s in the unit, want one", strings.Count(string(text), program), program)
	}
	copied := filepath.Join(t.TempDir(), "gitops-agent.service")
	if err := os.WriteFile(copied, []byte(strings.Replace(string(text), program, "/bin/true", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", "--recursive-errors=no", copied).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("got %v and %s, want a unit without errors and warnings", err, out)
	}
}

// TestUnitExposesLittle rates the unit as systemd-analyze security does, from 0 to 10. Network and the file system of the host remain.
func TestUnitExposesLittle(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=20", unit).CombinedOutput()
	if err != nil {
		t.Errorf("got %v, want an exposure of 2.0 or less:\n%s", err, out)
	}
}
