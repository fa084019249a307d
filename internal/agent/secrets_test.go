package agent_test

import (
	"bytes"
	"context"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gitops-agent/internal/agent"
	"gitops-agent/internal/traces/collectortest"
	"gitops-agent/metrics"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

const webYAML = `apiVersion: proxmox.gitops/v1alpha1
kind: VirtualMachine
metadata: {name: web-1}
spec:
  vmid: 201
  node: pve1
  source: {blank: {}}
  cloudInit: {storage: local-lvm, user: ops, passwordFrom: {file: web}}
`

// book is a log that several goroutines write and that a test reads.
type book struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *book) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(line)
}

func (b *book) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// TestSecretsStayOnTheHost runs the whole agent with passwords for a virtual machine and a container, with a manifest that names a link
// to the agent's token, and with a rotation. The agent must not write, log, serve or trace a password or its hash.
func TestSecretsStayOnTheHost(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.config.SecretsDir = filepath.Join(t.TempDir(), "secrets")
	h.ok(os.Mkdir(h.config.SecretsDir, 0o700))
	password := filepath.Join(h.config.SecretsDir, "web")
	h.write(password, "hunter2 the first\n")
	h.ok(os.Symlink(h.config.Proxmox.TokenFile, filepath.Join(h.config.SecretsDir, "token")))
	h.repo.Files = map[string]string{
		"cluster.yaml": clusterYAML, "web.yaml": webYAML, "dns.yaml": dnsYAML + "  passwordFrom: {file: web}\n",
		"thief.yaml": strings.NewReplacer("web-1", "thief", "201", "202", "file: web", "file: token").Replace(webYAML),
	}
	h.repo.Push(h.sig, alice, "guests with passwords")
	collector := h.trace()
	log := &book{}
	a, err := agent.New(context.Background(), agent.Options{
		Config: h.config, ClaimWait: claimWait, Build: metrics.Build{Version: "v1.2.3"},
		Logger: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	h.ok(err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	given := func(d report.Document) bool {
		return strings.HasPrefix(h.sim.Value(201, "cipassword"), "$6$") && blocked(d, "thief")
	}
	h.until(a, "the first password", given)
	first := h.sim.Value(201, "cipassword")
	h.write(password, "hunter2 the second\n")
	h.until(a, "the second password", func(d report.Document) bool { return h.sim.Value(201, "cipassword") != first && given(d) })

	shown := map[string]string{}
	for _, path := range []string{"/", "/status.json", "/metrics"} {
		_, shown[path] = h.get(a, path)
	}
	stop()
	h.ok(<-ended)
	h.ok(a.Close())
	if names := h.checkState(); !slices.Equal(names, []string{"journal", "repository", "secrets.key"}) {
		t.Errorf("got %v in the state directory, want the journal, the repository and the key", names)
	}
	shown["log"], shown["traces"] = log.String(), string(collector.Bytes())
	if got := len(collectortest.Find(collector.Spans(), "step create")); got == 0 {
		t.Error("got no span of a step that creates a guest, want some")
	}
	maps.Copy(shown, filesBelow(t, h.config.StateDir))
	token, err := os.ReadFile(h.config.Proxmox.TokenFile)
	h.ok(err)
	_, tokenSecret, _ := strings.Cut(strings.TrimSpace(string(token)), "=")
	needles := []string{"hunter2", tokenSecret, collectorToken, first, first[strings.LastIndex(first, "$")+1:], h.sim.Value(201, "cipassword")}
	for where, text := range shown {
		for _, needle := range needles {
			if strings.Contains(text, needle) {
				t.Errorf("got %q in %s, want it nowhere", needle, where)
			}
		}
	}
	if got := h.sim.Config(202); strings.Contains(got, tokenSecret) || strings.Contains(got, "cipassword") {
		t.Errorf("got configuration %s, want no secret behind a link sent", got)
	}
}

// blocked reports whether a guest waits for its secret.
func blocked(d report.Document, name string) bool {
	for _, g := range d.Guests {
		for _, c := range g.Conditions {
			if g.Name == name && c.Reason == reason.Secret && c.Hint != "" {
				return true
			}
		}
	}
	return false
}

// filesBelow returns the content of every file in a directory by its path.
func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		files[path] = string(content)
		return err
	})
	if err != nil || len(files) < 3 {
		t.Fatalf("got %d files in %s and %v, want journal, key and repository", len(files), dir, err)
	}
	return files
}

func TestCheckSecret(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"web": "hunter2", "modern": "$y$j9T$abc$def"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		dir, name, want string
	}{
		"good":         {dir, "web", ""},
		"unknown_hash": {dir, "modern", "kind of hash"},
		"missing":      {dir, "db", "no such file"},
		"no_directory": {"", "web", "no directory of secrets"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := agent.Config{SecretsDir: test.dir}.CheckSecret(guest.Secret{File: test.name})
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
