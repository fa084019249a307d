package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	_ "gitops-agent/internal/memtemp"
	"gitops-agent/internal/sigtest"
)

var update = flag.Bool("update", false, "rewrite what the scripts compare with, and docs/commands.md")

// sigstoreVariable names the directory of the saved Sigstore for git's signing programs.
const sigstoreVariable = "SIGSTORE"

// people returns the identities that can sign. The config of the scripts defines their roles; Mallory has none.
func people() map[string]sigtest.Identity {
	const issuer = "https://accounts.test"
	return map[string]sigtest.Identity{
		"alice":   {Subject: "alice@example.org", Issuer: issuer}, // change
		"olga":    {Subject: "olga@example.org", Issuer: issuer},  // approve
		"mallory": {Subject: "mallory@example.org", Issuer: issuer},
		"robot":   sigtest.GitHubWorkflow("example/homelab", "release.yaml", "refs/heads/main"),
	}
}

// claimWait is how long the agents of the tests wait after their claim of the cluster. No other agent claims it meanwhile.
const claimWait = 30 * time.Millisecond

func TestMain(m *testing.M) {
	programs := map[string]func(){"gitops-agent": func() {
		os.Exit((&program{out: os.Stdout, err: os.Stderr, claimWait: claimWait}).run(untilSignal(), os.Args[1:])) //nolint:forbidigo // it is the program
	}, "gitops-agent-unchanged": main}
	for name, program := range signers() {
		programs[name] = signer(program)
	}
	programs["gitsign"] = signAsGitsign
	_ = flag.Set("test.parallel", "8") // scripts wait more than they compute; a flag of the command line replaces it
	testscript.Main(m, programs)
}

// collectorSetting is GOGC for the programs of scripts: they live for a moment, and spent a fifth of it on garbage collections at their start.
const collectorSetting = "400"

// signers are the signing programs of git, by name.
func signers() map[string]sigtest.GitProgram {
	alice := people()["alice"]
	programs := map[string]sigtest.GitProgram{
		"sign-as-online":        {Identity: alice, Online: true}, // the default of gitsign
		"sign-as-online-before": {Identity: alice, Online: true, OldTags: true},
		"sign-as-unlogged":      {Identity: alice, Options: sigtest.SignOptions{Log: sigtest.Absent()}},
	}
	for name, identity := range people() {
		programs["sign-as-"+name] = sigtest.GitProgram{Identity: identity}
	}
	return programs
}

// signer returns a signing program for git.
func signer(program sigtest.GitProgram) func() {
	return func() {
		if err := sign(os.Getenv(sigstoreVariable), program, os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err) // git misses the status line and fails
		}
	}
}

// sign signs as git asks, with the Sigstore that is saved in a directory.
func sign(dir string, program sigtest.GitProgram, args []string, payload io.Reader, signature, status io.Writer) error {
	sigstore, err := sigtest.Load(dir)
	if err != nil {
		return err
	}
	// Proven times are whole seconds. A truncated time must not be before the state that an approval is for.
	program.Options.At = time.Now().Add(time.Second)
	program.Sigstore = sigstore
	return errors.Join(program.Run(context.Background(), args, payload, signature, status), sigstore.Save(dir))
}

// TestNoScriptLooksForAnEmptyLine finds patterns that pass for nearly every output: the end of an output behind its last newline is an empty line for
// testscript. A script says "! stdout ." instead.
func TestNoScriptLooksForAnEmptyLine(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("got %d scripts, %v, want some", len(scripts), err)
	}
	emptyLine := regexp.MustCompile(`(?m)^(stdout|stderr|grep) +'?\^\$'?( |$)`)
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		if found := emptyLine.Find(text); found != nil {
			t.Errorf("%s: got %q, want a pattern that a line of output can fail", script, found)
		}
	}
}

// TestScripts specifies the program. Each script has a cluster, a Sigstore, a repository and a config of its own; see stage_test.go.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		Setup:               newStage,
		Cmds:                stageCommands(),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition: func(name string) (bool, error) {
			switch name {
			case "root": // only root can give files to other users
				return os.Geteuid() == 0, nil
			case "terminal":
				return hasTerminals(), nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
	})
}

// hasTerminals reports whether the system gives a program a new terminal. A sandbox or a container may lack /dev/pts.
func hasTerminals() bool {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	return terminal.Close() == nil
}
