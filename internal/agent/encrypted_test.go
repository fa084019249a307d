package agent_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"gitops-agent/internal/agent"
	"gitops-agent/internal/traces/collectortest"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/report"
)

// encryptFor returns a file of age.
func encryptFor(t *testing.T, to *age.X25519Identity, text string) string {
	t.Helper()
	var out bytes.Buffer
	w, err := age.Encrypt(&out, to.Recipient())
	if err == nil {
		_, err = w.Write([]byte(text))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func newIdentity(t *testing.T) *age.X25519Identity {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// inRepository is a secret in a file of age.
func inRepository(path, content string) guest.Secret {
	return guest.Secret{Key: "cipassword", File: "age:" + path, Encrypted: guest.Encrypted{Format: "age", Path: path, Content: content}}
}

// fixtures is where the files are that the real sops made.
const fixtures = "../../reconcile/encrypted/testdata/"

// TestEncryptedSecrets runs the whole agent with passwords in files of age and SOPS for virtual machines and a container, with files that cannot be decrypted,
// and with a rotation by commit. Only the guests with such files wait. The agent must not write, log, serve or trace a password or its hash.
func TestEncryptedSecrets(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	id := newIdentity(t)
	sopsIdentity, err := os.ReadFile(fixtures + "identity.txt")
	h.ok(err)
	sopsFile, err := os.ReadFile(fixtures + "suffix.sops.yaml")
	h.ok(err)
	identityFile := filepath.Join(t.TempDir(), "identity.txt")
	h.write(identityFile, id.String()+"\n"+string(sopsIdentity))
	h.config.Secrets.AgeIdentities = []agent.AgeIdentityConfig{{File: identityFile}}
	machine := func(name, vmid, from string) string {
		return strings.NewReplacer("web-1", name, "201", vmid, "{file: web}", from).Replace(webYAML)
	}
	damaged := encryptFor(t, id, "hunter2 damaged\n")
	h.repo.Files = map[string]string{
		"cluster.yaml": clusterYAML, "web.yaml": machine("web-1", "201", "{age: {file: web.age}}"),
		"db.yaml":       machine("db-1", "202", "{sops: {file: all.sops.yaml, key: db.password}}"),
		"dns.yaml":      dnsYAML + "  passwordFrom: {age: {file: web.age}}\n",
		"foreign.yaml":  machine("foreign", "203", "{age: {file: foreign.age}}"),
		"damaged.yaml":  machine("damaged", "204", "{age: {file: damaged.age}}"),
		"no-key.yaml":   machine("no-key", "205", "{sops: {file: all.sops.yaml, key: db.root}}"),
		"no-file.yaml":  machine("no-file", "206", "{age: {file: gone.age}}"),
		"bad-mac.yaml":  machine("bad-mac", "207", "{sops: {file: mac.sops.yaml, key: db.password}}"),
		"plain.yaml":    machine("plain", "208", "{age: {file: plain.age}}"),
		"web.age":       encryptFor(t, id, "hunter2 the first\n"),
		"all.sops.yaml": string(sopsFile), "foreign.age": encryptFor(t, newIdentity(t), "hunter2 foreign\n"),
		"damaged.age":   damaged[:len(damaged)-3],
		"mac.sops.yaml": strings.Replace(string(sopsFile), "anybody may read this", "hunter2", 1),
		"plain.age":     "hunter2 plain\n",
	}
	h.repo.Push(h.sig, alice, "guests with encrypted passwords")
	collector := h.trace()
	log := &book{}
	a, err := agent.New(context.Background(), agent.Options{Config: h.config, Logger: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), ClaimWait: claimWait})
	h.ok(err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	given := func(d report.Document) bool {
		for _, name := range []string{"foreign", "damaged", "no-key", "no-file", "bad-mac", "plain"} {
			if !blocked(d, name) {
				return false
			}
		}
		return strings.HasPrefix(h.sim.Value(201, "cipassword"), "$6$") && strings.HasPrefix(h.sim.Value(202, "cipassword"), "$6$")
	}
	h.until(a, "the first passwords", given)
	first := h.sim.Value(201, "cipassword")
	h.repo.Files["web.age"] = encryptFor(t, id, "hunter2 the second\n")
	h.repo.Files["foreign.age"] = encryptFor(t, id, "hunter2 corrected\n")
	h.repo.Push(h.sig, alice, "rotate a password, and correct one")
	a.Hint()
	h.until(a, "the second password", func(report.Document) bool {
		return h.sim.Value(201, "cipassword") != first && strings.HasPrefix(h.sim.Value(203, "cipassword"), "$6$")
	})
	shown := map[string]string{}
	for _, path := range []string{"/", "/status.json", "/metrics"} {
		_, shown[path] = h.get(a, path)
	}
	stop()
	h.ok(<-ended)
	h.ok(a.Close())
	shown["log"], shown["traces"] = log.String(), string(collector.Bytes())
	if got := len(collectortest.Find(collector.Spans(), "step create")); got == 0 {
		t.Error("got no span of a step that creates a guest, want some")
	}
	maps.Copy(shown, filesBelow(t, h.config.StateDir))
	needles := []string{"hunter2", "battery staple", "AGE-SECRET-KEY", first, h.sim.Value(201, "cipassword"), h.sim.Value(202, "cipassword"), base64.StdEncoding.EncodeToString([]byte("hunter2 the second"))}
	for where, text := range shown {
		for _, needle := range needles {
			if strings.Contains(text, needle) {
				t.Errorf("got %q in %s, want it nowhere", needle, where)
			}
		}
	}
}

// TestAgeIdentityPaths: a copy of an encrypted file in another folder is not decrypted by an identity that is limited to paths.
func TestAgeIdentityPaths(t *testing.T) {
	t.Parallel()
	id := newIdentity(t)
	at := filepath.Join(t.TempDir(), "identity.txt")
	if err := os.WriteFile(at, []byte(id.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := agent.Config{Secrets: agent.SecretsConfig{AgeIdentities: []agent.AgeIdentityConfig{{File: at, Paths: []string{"db"}}}}}
	content := encryptFor(t, id, "hunter2\n")
	for path, good := range map[string]bool{"db/root.age": true, "db/sub/root.age": true, "web/root.age": false, "dbs/root.age": false, "root.age": false} {
		if err := config.CheckSecret(inRepository(path, content)); (err == nil) != good {
			t.Errorf("%s: got %v, want it decrypted: %v", path, err, good)
		}
	}
}

// TestAgeIdentityFile: a problem with the identity is a problem of the guest, with a remedy, and is gone when the file is corrected.
func TestAgeIdentityFile(t *testing.T) {
	t.Parallel()
	id := newIdentity(t)
	at := filepath.Join(t.TempDir(), "identity.txt")
	s := inRepository("web.age", encryptFor(t, id, "hunter2\n"))
	config := agent.Config{}
	check := func(want string) {
		t.Helper()
		err := config.CheckSecret(s)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	check("the agent has no identity")
	config.Secrets.AgeIdentities = []agent.AgeIdentityConfig{{File: at}}
	check("no such file")
	for text, want := range map[string]string{"hunter2\n": "contains no identity", newIdentity(t).String(): "no identity of the agent can decrypt it", id.String(): ""} {
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		check(want)
	}
	if err := os.WriteFile(at, []byte(id.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(at, 0o644); err != nil {
		t.Fatal(err)
	}
	check("other users may read")
}
