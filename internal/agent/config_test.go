package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/agent"
)

const smallest = `
cluster: {name: home}
source: {remotes: [{url: file:///srv/git/homelab.git}]}
trust:
  trusted_root_file: root.json
  signers: [{name: alice, issuer: https://accounts.test, subject: alice@example.org, may: [change]}]
  binding: none
  trust_on_first_use: true
proxmox: {endpoints: ["https://pve1:8006"], token_file: token}
`

func TestConfigDefaults(t *testing.T) {
	t.Parallel()
	c, err := agent.ParseConfig([]byte(smallest))
	if err != nil {
		t.Fatalf("got %v, want a config", err)
	}
	if c.Source.Branch != "main" || *c.Listen != "127.0.0.1:9746" || c.StateDir != "/var/lib/gitops-agent" {
		t.Errorf("got branch %q, listen %q, state_dir %q, want the documented defaults", c.Source.Branch, *c.Listen, c.StateDir)
	}
}

func TestConfigGuards(t *testing.T) {
	t.Parallel()
	c, err := agent.ParseConfig([]byte(strings.Replace(smallest, "  binding:", "  guards: {approvals: 2, max_destroys_per_day: 0, destroy: approve}\n  binding:", 1)))
	if err != nil {
		t.Fatalf("got %v, want a config", err)
	}
	if m := c.Minimum(); m.Approvals != 2 || *m.MaxDestroysPerDay != 0 || m.Destroy != "approve" || m.Recreate != "" || m.RebootPolicy != "" {
		t.Errorf("got %+v, want the bounds of the config and no others", m)
	}
}

func TestConfigListensNowhere(t *testing.T) {
	t.Parallel()
	c, err := agent.ParseConfig([]byte(smallest + "listen: \"\"\n"))
	if err != nil || *c.Listen != "" {
		t.Errorf("got %v and listen %q, want none", err, *c.Listen)
	}
}

func TestConfigDuration(t *testing.T) {
	t.Parallel()
	c, err := agent.ParseConfig([]byte(strings.Replace(smallest, "source: {", "source: {poll: 5s, ", 1)))
	if err != nil || time.Duration(c.Source.Poll) != 5*time.Second {
		t.Errorf("got %v and %v, want 5s", err, time.Duration(c.Source.Poll))
	}
}

// The error contains every problem of a kind, and no name of a Go type.
func TestConfigProblems(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want []string
	}{
		"empty": {"", []string{
			"cluster.name is required", "source.remotes is required", "trust.trusted_root_file is required", "proxmox.endpoints is required",
			"proxmox.token_file is required",
		}},
		"unknown_fields":    {smallest + "colour: blue\nworkers: 3\n", []string{`line 10: unknown field "colour"`, `line 11: unknown field "workers"`}},
		"unknown_and_wrong": {strings.Replace(smallest, "source: {", "source: {poll: often, pol: 3s, ", 1), []string{`unknown field "pol"`, `line 3: got "often", want a duration such as 30s or 2m`}},
		"negative_duration": {strings.Replace(smallest, "source: {", "source: {poll: -3s, ", 1), []string{`got "-3s"`}},
		"duplicate_key":     {smallest + "cluster: {name: away}\n", []string{`"cluster" already defined`}},
		"second_document":   {smallest + "---\ncluster: {name: away}\n", []string{"more than one document"}},
		"not_yaml":          {"cluster: [", []string{"line 1"}},
		"log_and_timestamps": {strings.Replace(smallest, "  binding:", "  timestamps: required\n  rekor_url: https://rekor.test\n  binding:", 1), []string{
			"trust.rekor_url has no effect with timestamps: required",
		}},
		"log_in_the_clear":    {strings.Replace(smallest, "  binding:", "  rekor_url: http://rekor.test\n  binding:", 1), []string{"trust.rekor_url: http shows everyone"}},
		"log_with_password":   {strings.Replace(smallest, "  binding:", "  rekor_url: https://me:secret@rekor.test\n  binding:", 1), []string{"trust.rekor_url: address of the log"}},
		"log_without_address": {strings.Replace(smallest, "  binding:", "  rekor_ca_file: ca.pem\n  binding:", 1), []string{"trust.rekor_ca_file needs trust.rekor_url"}},
		"links": {smallest + "status: {links: {commit: https://git.example.org/ID, proxmox: pve.example.org, runbook: docs/operations.md}}\n", []string{
			"status.links.commit", "want {commit}", `status.links.proxmox: got "pve.example.org"`, "status.links.runbook",
		}},
		"negative_parallel": {smallest + "parallel: -1\n", []string{"parallel must be positive"}},
		"weak_guards": {
			strings.Replace(smallest, "  binding:", "  guards: {approvals: 17, max_destroys_per_day: -1, destroy: allow, recreate: maybe, reboot_policy: auto}\n  binding:", 1),
			[]string{
				"trust.guards.approvals: got 17, want 1 to 16", "trust.guards.max_destroys_per_day: got -1", `trust.guards.destroy: got "allow", want deny or approve`,
				`trust.guards.recreate: got "maybe"`, `trust.guards.reboot_policy: got "auto", want never or approve`,
			},
		},
		"nameless_signer": {strings.Replace(smallest, "name: alice, ", "", 1), []string{
			"trust.signers[0].name is required: the person or workflow that signs as alice@example.org",
		}},
		"number_for_mapping": {"cluster: 3", []string{"line 1: a value of type int `3` is not possible here"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := agent.ParseConfig([]byte(test.text))
			if err == nil {
				t.Fatal("got no error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, want %q in it", err, want)
				}
			}
			if strings.Contains(err.Error(), "agent.") {
				t.Errorf("got %q, want no Go type in it", err)
			}
		})
	}
}

func TestReadConfigBounds(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(smallest+strings.Repeat("#", 1<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := agent.ReadConfig(path); err == nil || !strings.Contains(err.Error(), "larger than 1 MiB") {
		t.Errorf("got %v, want a refusal", err)
	}
}

func TestCheckNamesEveryProblem(t *testing.T) {
	t.Parallel()
	text := strings.NewReplacer("root.json", "/nowhere/root.json", "token_file: token", "token_file: /nowhere/token", "url: file:///srv/git/homelab.git",
		"url: https://user:secret@forge.test/x.git, ca_file: /nowhere/ca.pem").Replace(smallest)
	c, err := agent.ParseConfig([]byte(text + "\nchecks: {ca_file: /nowhere/checks.pem}\n"))
	if err != nil {
		t.Fatal(err)
	}
	err = c.Check()
	for _, want := range []string{"checks.ca_file", "/nowhere/root.json", "/nowhere/token", "source: ", "source.remotes[0].ca_file"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	if err != nil && strings.Contains(err.Error(), "secret@") {
		t.Errorf("got %q, want no credentials in it", err)
	}
}
