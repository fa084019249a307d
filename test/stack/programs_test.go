//go:build integration

package stack

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A program is a program that the tests run. The programs of the tools module come first; tools has their names for go tool.
type program int

const (
	gitsign program = iota
	fulcio
	rekor
	timestamper
	rekorV1
	trillianServer
	trillianSigner
	createTree
	agent
	releaseSigner  // signs the checksums of a release
	trillianSchema // not a program: the file with the tables of Trillian's database
)

func tools() []string {
	return []string{
		gitsign:        "github.com/sigstore/gitsign",
		fulcio:         "github.com/sigstore/fulcio",
		rekor:          "github.com/sigstore/rekor-tiles/v2/cmd/rekor-server/posix",
		timestamper:    "github.com/sigstore/timestamp-authority/v2/cmd/timestamp-server",
		rekorV1:        "github.com/sigstore/rekor/cmd/rekor-server",
		trillianServer: "github.com/google/trillian/cmd/trillian_log_server",
		trillianSigner: "github.com/google/trillian/cmd/trillian_log_signer",
		createTree:     "github.com/google/trillian/cmd/createtree",
	}
}

// build returns the files of all programs. The programs of the tools module are in Go's build cache; build builds missing ones.
// The agent and the signer of releases are built in the folder of the test binary, which go test removes.
func build() ([]string, error) {
	var built []string
	for _, tool := range tools() {
		out, err := goCommand("../sigstore", "tool", "-n", tool)
		if err != nil {
			return nil, err
		}
		built = append(built, strings.TrimSpace(out))
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	file := filepath.Join(filepath.Dir(self), "gitops-agent")
	if _, err := goCommand("../..", "build", "-o", file, "./cmd/gitops-agent"); err != nil {
		return nil, err
	}
	signer := filepath.Join(filepath.Dir(self), "sign")
	if _, err := goCommand("../../packaging/tools", "build", "-o", signer, "./sign"); err != nil {
		return nil, err
	}
	trillian, err := goCommand("../sigstore", "list", "-m", "-f", "{{.Dir}}", "github.com/google/trillian")
	if err != nil {
		return nil, err
	}
	return append(built, file, signer, filepath.Join(strings.TrimSpace(trillian), "storage", "postgresql", "schema", "storage.sql")), nil
}

// goCommand runs go in a folder. It overrides GOFLAGS and CGO_ENABLED of the tests.
func goCommand(dir string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false", "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s in %s: %w", strings.Join(args, " "), dir, err)
	}
	return string(out), nil
}

// file returns the path of a program, for tests inside the namespace.
func (p program) file() string {
	return filepath.SplitList(os.Getenv(programsVariable))[p]
}

// TestProgramsAreThePinnedOnes expects each tool to have the version that the tools module requires.
func TestProgramsAreThePinnedOnes(t *testing.T) {
	for tool, version := range map[program]string{
		gitsign: "v0.17.1", fulcio: "v1.8.8", rekor: "v2.3.0", timestamper: "v2.1.3", rekorV1: "v1.5.4", trillianServer: "v1.8.0",
	} {
		out, err := goCommand(".", "version", "-m", tool.file())
		if err != nil {
			t.Fatal(err)
		}
		if module := strings.SplitN(tools()[tool], "/cmd/", 2)[0]; !strings.Contains(out, "\t"+module+"\t"+version) {
			t.Errorf("%s: got\n%.400s\nwant %s of %s", tool.file(), out, version, module)
		}
	}
}
