package fleetview

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gitops-agent/cmd/gitops-agent/internal/statusview"

	"github.com/google/go-cmp/cmp"
)

func TestParseTargets(t *testing.T) {
	t.Parallel()
	defaults := statusview.Target{TokenFile: "/default/token", CAFile: "/default/ca.pem"}
	tests := map[string]struct {
		text string
		want []Target
	}{
		"yaml": {"- targets: [\"pve1.lan:9746\"]\n  labels: {cluster: berlin, site: de}\n", []Target{{
			Name: "pve1.lan:9746", Labels: map[string]string{"cluster": "berlin", "site": "de"},
			Agent: statusview.Target{URL: "http://pve1.lan:9746", TokenFile: "/default/token", CAFile: "/default/ca.pem"},
		}}},
		"json": {`[{"targets": ["[fd00::1]:443"], "labels": {"__scheme__": "https", "__metrics_path__": "/gitops/metrics", "__meta_zone__": "a"}}]`, []Target{{
			Name: "[fd00::1]:443", Labels: map[string]string{},
			Agent: statusview.Target{URL: "https://[fd00::1]:443/gitops", TokenFile: "/default/token", CAFile: "/default/ca.pem"},
		}}},
		"own_credentials": {"- targets: [a:1]\n  labels: {__user: fleet, __password_file: secret, __ca_file: /etc/ca.pem, __cert_file: c.pem, __key_file: c.key}\n", []Target{{
			Name: "a:1", Labels: map[string]string{},
			Agent: statusview.Target{URL: "http://a:1", User: "fleet", PasswordFile: "/srv/secret", CAFile: "/etc/ca.pem", CertFile: "/srv/c.pem", KeyFile: "/srv/c.key"},
		}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parseTargets([]byte(test.text), "/srv", defaults)
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("got %v, targets differ (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestParseTargetsRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"empty":          {"", "it names no target"},
		"no_target":      {"- targets: []\n", "it names no target"},
		"no_list":        {"targets: [a:1]\n", "line 1"},
		"no_group":       {"- a:1\n", "line 1: want a mapping"},
		"unknown_field":  {"- targets: [a:1]\n  label: {}\n", `unknown field "label"`},
		"no_port":        {"- targets: [agent.example.org]\n", `target "agent.example.org": want host:port`},
		"with_scheme":    {"- targets: [\"https://a:1\"]\n", "want host:port; the scheme is the label __scheme__"},
		"with_user":      {"- targets: [\"mia@a:1\"]\n", "want host:port"},
		"scheme":         {"- targets: [a:1]\n  labels: {__scheme__: ftp}\n", `label __scheme__ is "ftp", want http or https`},
		"path":           {"- targets: [a:1]\n  labels: {__metrics_path__: /other}\n", "want a path that ends with /metrics"},
		"relative_path":  {"- targets: [a:1]\n  labels: {__metrics_path__: x/metrics}\n", "want a path that ends with /metrics"},
		"misspelt_label": {"- targets: [a:1]\n  labels: {__token_fil: x}\n", "unknown label __token_fil, want __scheme__"},
		"twice":          {"- targets: [a:1]\n- targets: [a:1]\n", "line 2: target \"a:1\" is also in the group at line 1"},
		"number":         {"- targets: [[a]]\n", "line 1"},
		"second_line":    {"- targets: [a:1]\n- targets: [b]\n", "line 2"},
		"too_many":       {"- targets: [" + many(maxTargets+1) + "]\n", "more than 10000 targets"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := parseTargets([]byte(test.text), "/srv", statusview.Target{}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v and %v, want an error with %q", got, err, test.want)
			}
		})
	}
}

// many returns n targets.
func many(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = "agent:" + strconv.Itoa(i)
	}
	return strings.Join(list, ", ")
}

func TestReadTargetsNamesTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "agents.yaml")
	if err := os.WriteFile(path, []byte("- targets: [a]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + ".missing", filepath.Dir(path)} {
		if _, err := ReadTargets(name, statusview.Target{}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want an error that names %s", err, name)
		}
	}
}

func FuzzParseTargets(f *testing.F) {
	f.Add("- targets: [\"pve1.lan:9746\"]\n  labels: {cluster: berlin, __scheme__: https}\n")
	f.Add(`[{"targets": ["[fd00::1]:443"], "labels": {"__metrics_path__": "/gitops/metrics"}}]`)
	f.Add("- &a\n  targets: [a:1]\n- *a\n")
	f.Fuzz(func(t *testing.T, text string) {
		targets, err := parseTargets([]byte(text), "/srv", statusview.Target{})
		if (err == nil) != (len(targets) > 0) {
			t.Errorf("got %d targets and %v", len(targets), err)
		}
		for _, target := range targets {
			if !strings.HasPrefix(target.Agent.URL, "http://") && !strings.HasPrefix(target.Agent.URL, "https://") {
				t.Errorf("got the address %q", target.Agent.URL)
			}
		}
	})
}
