package setup

import (
	"strings"
	"testing"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/agent"
)

// TestRejectedAnswers contains what a flag or an answer must not be.
func TestRejectedAnswers(t *testing.T) {
	t.Parallel()
	reject := func(what string, err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", what, err, want)
		}
	}
	for text, want := range map[string]string{
		"alice@example.org":                             "want ISSUER=SUBJECT",
		"=alice@example.org":                            "want ISSUER=SUBJECT",
		"https://a.test=":                               "want ISSUER=SUBJECT",
		"a.test=alice@example.org":                      "want ISSUER=SUBJECT",
		"name=https://a.test=alice=x":                   "want ISSUER=SUBJECT",
		"https://a.test=*@example.org":                  "compared exactly",
		"https://a.test?x=1=alice@example.org=whatever": "want ISSUER=SUBJECT",
	} {
		_, err := parseSigner(text)
		reject(text, err, want)
	}
	for text, want := range map[string]string{
		"http://pve1.lan:8006":            "only https",
		"https://user:secret@pve1.lan":    "must not contain credentials",
		"https://pve1.lan/api2/json":      "want a host",
		"https://pve1.lan?x=1":            "want a host",
		"":                                "want a host",
		"https://":                        "want a host",
		"pve1.lan:port":                   "want a host",
		"https://[fe80::1%25eth0/":        "want a host",
		"gopher://pve1.lan":               "only https",
		"https://root:hunter2@[::1]:8006": "must not contain credentials",
	} {
		_, err := normalEndpoint(text)
		reject(text, err, want)
		if err != nil && (strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "secret@")) {
			t.Errorf("%s: got %v, want no password in the error", text, err)
		}
	}
	for text, want := range map[string]string{
		"home\nbinding: none":     "printable",
		"home\x00":                "printable",
		"ho\x1b[31mme":            "printable",
		"home\u202eemoh":          "printable",
		"\xff":                    "UTF-8",
		strings.Repeat("a", 5000): "at most 4096",
	} {
		err := (&setup{Options: Options{Cluster: text}}).checkAnswers()
		reject(text, err, want)
	}
	reject("roles", (&setup{Options: Options{May: []string{"root"}, Out: new(strings.Builder)}}).decideSigners(t.Context()), "choose from change")
	reject("anchor", (&setup{Options: Options{Anchor: "3f2a1c9", Out: new(strings.Builder)}}).decideAnchor(t.Context()), "want the full id")
	reject("two roots", (&setup{Options: Options{TrustedRoot: "a", TUFMirror: "b", TUFRoot: "c"}}).checkAnswers(), "exclude each other")
}

// FuzzAnswers: a config means what was answered, or is not written.
func FuzzAnswers(f *testing.F) {
	f.Add("home", "https://github.com/example/homelab.git", "main", "alice@example.org", "/etc/gitops-agent/token", "push")
	f.Add("a: b", "git@forge.lan:x.git", "rel/1 # 2", `"}, may: [seal]`, `C:\token`, "{{.}}")
	f.Add("no", "~", "0x10", "null", "*a", "!!binary x")
	f.Fuzz(func(t *testing.T, cluster, remote, branch, subject, token, trigger string) {
		for _, text := range []string{cluster, remote, branch, subject, token, trigger} {
			if text == "" || term.CheckAnswer(text) != nil {
				return // no answer can have it: TestRejectedAnswers
			}
		}
		s := setup{config: agent.Config{
			Cluster: agent.ClusterConfig{Name: cluster}, Source: agent.SourceConfig{Branch: branch, Paths: []string{branch}, Remotes: []agent.RemoteConfig{{URL: remote, TokenFile: token}}},
			Trust: agent.TrustConfig{
				TrustedRootFile: token, Binding: "trailer", Anchor: strings.Repeat("1", 40),
				Signers: []agent.SignerConfig{{Name: subject, Issuer: remote, Subject: subject, May: []string{"change"}, Extensions: agent.ExtensionsConfig{BuildTrigger: trigger}}},
			},
			Proxmox: agent.ProxmoxConfig{Endpoints: []string{"https://pve1.lan:8006"}, TokenFile: token}, StateDir: token,
		}}
		if _, err := s.render(); err != nil {
			t.Errorf("got %v, want a config", err)
		}
		if signer, err := parseSigner(subject); err == nil {
			if again, err := parseSigner(signer.Name + "=" + signer.Issuer + "=" + signer.Subject); err != nil || again.Issuer != signer.Issuer || again.Subject != signer.Subject {
				t.Errorf("got %+v and %v for %q, want %+v", again, err, subject, signer)
			}
		}
		if endpoint, err := normalEndpoint(remote); err == nil {
			if again, err := normalEndpoint(endpoint); err != nil || again != endpoint {
				t.Errorf("got %q and %v for the endpoint %q, want the same", again, err, endpoint)
			}
		}
	})
}
