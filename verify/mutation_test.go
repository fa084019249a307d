//go:build mutation

package verify_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gitops-agent/internal/gooverlay"
)

// TestEveryCheckMatters removes each check of the list from the source, one at a time, and fails if the test of that check
// still passes. The source on disk does not change: the compiler reads the changed files through an overlay. All
// conditions share one build, in which the environment selects the one that is off. Each other change has its own build.
//
// Run it with go test -tags mutation -run TestEveryCheckMatters ./verify.
func TestEveryCheckMatters(t *testing.T) {
	var conditions []check
	for _, c := range checks() {
		if c.instead == "" {
			conditions = append(conditions, c)
			continue
		}
		t.Run(name(c), func(t *testing.T) {
			t.Parallel()
			requireNotice(t, build(t, overlay{c.file: change(t, c.file, c.code, c.instead)}), c)
		})
	}
	binary := build(t, switchable(t, conditions))
	requirePass(t, binary)
	for _, c := range conditions {
		t.Run(name(c), func(t *testing.T) {
			t.Parallel()
			requireNotice(t, binary, c)
		})
	}
}

func name(c check) string { return strings.ReplaceAll(c.name, " ", "_") }

// An overlay is changed source by file name.
type overlay map[string]string

// switchable returns the source with a switch before each condition. A condition is false if the environment names its check.
func switchable(t *testing.T, conditions []check) overlay {
	t.Helper()
	changed := overlay{"off.go": "package verify\n\nimport \"os\"\n\nvar off = os.Getenv(\"VERIFY_CHECK_OFF\")\n"}
	for _, c := range conditions {
		source, known := changed[c.file]
		if !known {
			source = read(t, c.file)
		}
		changed[c.file] = strings.Replace(source, c.code, c.without("off != "+strconv.Quote(c.name)), 1)
	}
	return changed
}

func change(t *testing.T, file, code, instead string) string {
	t.Helper()
	return strings.Replace(read(t, file), code, instead, 1)
}

func read(t *testing.T, file string) string {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(source)
}

// build compiles the tests of this package with changed source and returns the binary.
func build(t *testing.T, changed overlay) string {
	t.Helper()
	here, sources := workingDirectory(t), make(map[string]string, len(changed))
	for file, source := range changed {
		sources[filepath.Join(here, file)] = source
	}
	binary := filepath.Join(t.TempDir(), "verify.test")
	gooverlay.Build(t, sources, "test", "-c", "-vet=off", "-o", binary, ".")
	return binary
}

func workingDirectory(t *testing.T) string {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return here
}

// requirePass fails unless all tests pass while every check is on.
func requirePass(t *testing.T, binary string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), binary).CombinedOutput(); err != nil {
		t.Fatalf("with every check on: %v\n%s", err, out)
	}
}

// requireNotice fails unless the test of c fails while c is off.
func requireNotice(t *testing.T, binary string, c check) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, "-test.v", "-test.run", exactly(c.test))
	cmd.Env = append(os.Environ(), "VERIFY_CHECK_OFF="+c.name)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || errors.Is(t.Context().Err(), context.Canceled) {
		t.Fatalf("run: %v", err)
	}
	if !strings.Contains(string(out), "--- FAIL: "+c.test) {
		t.Errorf("%s: got no failure of %s without it:\n%s", c.name, c.test, out)
	}
}

// exactly returns the pattern that selects one test or subtest.
func exactly(test string) string {
	return "^" + strings.ReplaceAll(test, "/", "$/^") + "$"
}
