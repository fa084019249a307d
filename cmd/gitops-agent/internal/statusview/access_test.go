package statusview

import (
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/agent"
	"gitops-agent/internal/status/access"
)

// secured starts a server with TLS that requires a token, and returns the config of an agent at its address.
func secured(t *testing.T) agent.Config {
	t.Helper()
	dir := t.TempDir()
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS() // for its certificate
	pair := server.TLS.Certificates[0]
	server.Close()
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"cert.pem": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}),
		"key.pem":  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
		"web.yaml": []byte("tls_server_config: {cert_file: cert.pem, key_file: key.pem}\n"),
		"token":    []byte("t0ken\n"),
		"wrong":    []byte("other\n"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	config := agent.Config{
		Listen: &address, Status: agent.StatusConfig{WebConfigFile: filepath.Join(dir, "web.yaml"), TokenFile: filepath.Join(dir, "token")},
	}
	a, err := access.New(access.Options{Listen: address, WebConfigFile: config.Status.WebConfigFile, Token: config.StatusToken})
	if err != nil {
		t.Fatal(err)
	}
	plain := httptest.NewUnstartedServer(a.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"schemaVersion": 1}`)
	}), access.Exempt{}))
	_ = plain.Listener.Close()
	plain.Listener = a.Listener(listener)
	plain.Start()
	t.Cleanup(plain.Close)
	return config
}

func TestClientLogsIn(t *testing.T) {
	t.Parallel()
	config := secured(t)
	dir := filepath.Dir(config.Status.TokenFile)
	url := "https://" + *config.Listen
	tests := map[string]struct {
		target Target
		want   string // part of the error; "" is success
	}{
		"credentials locally":  {Target{TokenFile: config.Status.TokenFile}, "need --url"},
		"url":                  {Target{URL: url, CAFile: filepath.Join(dir, "cert.pem"), TokenFile: config.Status.TokenFile}, ""},
		"url without token":    {Target{URL: url, CAFile: filepath.Join(dir, "cert.pem")}, "401"},
		"url with wrong token": {Target{URL: url, CAFile: filepath.Join(dir, "cert.pem"), TokenFile: filepath.Join(dir, "wrong")}, "401"},
		"url without CA":       {Target{URL: url, TokenFile: config.Status.TokenFile}, "certificate"},
		"no certificates":      {Target{URL: url, CAFile: config.Status.TokenFile}, "no certificate in PEM"},
		"user without file":    {Target{URL: url, User: "prometheus"}, "required together"},
		"password in the url":  {Target{URL: "https://prometheus:secret@" + *config.Listen}, "--password-file"},
	}
	for name, test := range tests {
		client, err := NewClient(test.target, func() (agent.Config, error) { return config, nil })
		if err == nil {
			_, _, err = client.Read(t.Context())
		}
		if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
		if hint, _ := term.Hint(err); test.want == "401" && !strings.Contains(hint, "--token-file") {
			t.Errorf("%s: got hint %q, want the flags", name, hint)
		}
	}
}

// A redirect must not take the credentials to another server.
func TestClientDoesNotFollowToAnotherServer(t *testing.T) {
	t.Parallel()
	asked := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer other.Close()
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusFound))
	defer server.Close()
	client, err := NewClient(Target{URL: server.URL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := client.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "another server") || asked {
		t.Errorf("got %v and the other server asked %v, want an error and no request", err, asked)
	}
}
