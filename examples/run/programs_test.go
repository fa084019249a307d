//go:build integration

package run_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gitops-agent/internal/gooverlay"
)

// TestProgramsReadTheExamples reads the examples with the types of Kubernetes and with the library of Docker Compose. The pod must be restricted by the pod security
// standards. test/deploy is a module of its own.
func TestProgramsReadTheExamples(t *testing.T) {
	if err := gooverlay.NoteSources("../../test/deploy"); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "deploy")
	build := exec.CommandContext(t.Context(), "go", "build", "-C", "../../test/deploy", "-buildvcs=false", "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	check := func(kind, file string) error {
		out, err := exec.CommandContext(t.Context(), program, kind, file).CombinedOutput()
		t.Logf("%s", out)
		return err
	}
	for kind, example := range map[string]struct{ file, good, bad string }{
		"kubernetes": {"kubernetes/gitops-agent.yaml", "drop: [ALL]", "drop: [CHOWN]"},
		"compose":    {"compose/compose.yaml", "  state: {}", "  other: {}"},
	} {
		t.Run(kind, func(t *testing.T) {
			if err := check(kind, example.file); err != nil {
				t.Errorf("got %v, want a valid example", err)
			}
			text := read(t, example.file)
			wrong := filepath.Join(t.TempDir(), "wrong.yaml")
			if err := os.WriteFile(wrong, []byte(strings.Replace(text, example.good, example.bad, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			if check(kind, wrong) == nil {
				t.Errorf("got no error for %s", example.bad)
			}
			if err := os.WriteFile(wrong, []byte(text+"\nnoSuchField: true\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if check(kind, wrong) == nil {
				t.Error("got no error for an unknown field")
			}
		})
	}
}

// TestNixReadsTheModule evaluates the module, with packages that only have names, as NixOS does without its library.
func TestNixReadsTheModule(t *testing.T) {
	const expression = `(import ./nixos/gitops-agent.nix {
  pkgs = {
    dpkg = "/nix/store/dpkg";
    fetchurl = { url, sha256 }: url;
    stdenvNoCC.mkDerivation = { pname, version, src, nativeBuildInputs, unpackPhase, installPhase }: installPhase;
  };
})`
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "nix-instantiate", "--eval", "--strict", "--json", "--expr", "builtins.removeAttrs "+expression+` [ "environment" ]`)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "NIX_STATE_DIR="+t.TempDir(), "NIX_STORE_DIR="+filepath.Join(t.TempDir(), "store"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("nix-instantiate (apt-get install nix-bin): %v\n%s", err, out)
	}
	var system struct {
		Users struct {
			Users map[string]struct{ Group string }
		}
		Systemd struct {
			Packages []string
			Services map[string]struct{ WantedBy []string }
		}
	}
	if err := json.Unmarshal(out, &system); err != nil {
		t.Fatal(err)
	}
	unit := read(t, "../../packaging/systemd/gitops-agent.service")
	if user := system.Users.Users["gitops-agent"]; !strings.Contains(unit, "User=gitops-agent\nGroup="+user.Group+"\n") {
		t.Errorf("got user gitops-agent of group %q, want the ones of the unit", user.Group)
	}
	if _, ok := system.Systemd.Services["gitops-agent"]; !ok || len(system.Systemd.Packages) != 1 || !strings.Contains(system.Systemd.Packages[0], "/lib/systemd/system/gitops-agent.service") {
		t.Errorf("got services %v and packages %v, want the unit of the package", system.Systemd.Services, system.Systemd.Packages)
	}
}
