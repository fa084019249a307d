package statusview

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCredentialsNeedEncryption: a token or password is sent in the clear only to this machine.
func TestCredentialsNeedEncryption(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("token"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		target  Target
		refused bool
	}{
		"token":              {Target{URL: "http://pve1.lan:9746", TokenFile: file}, true},
		"password":           {Target{URL: "http://192.168.1.5:9746", User: "ops", PasswordFile: file}, true},
		"name_like_loopback": {Target{URL: "http://localhost.evil.test", TokenFile: file}, true},
		"encrypted":          {Target{URL: "https://pve1.lan:9746", TokenFile: file}, false},
		"loopback":           {Target{URL: "http://127.0.0.1:9746", TokenFile: file}, false},
		"loopback_ipv6":      {Target{URL: "http://[::1]:9746", TokenFile: file}, false},
		"no_credentials":     {Target{URL: "http://pve1.lan:9746"}, false},
	}
	for name, test := range tests {
		_, err := NewClient(test.target, nil)
		if refused := err != nil && strings.Contains(err.Error(), "would get the token or password unencrypted: use https://"); refused != test.refused || err != nil && !refused {
			t.Errorf("%s: got %v, want refused %t", name, err, test.refused)
		}
	}
}

// Another program, or a newer agent, may answer at the address.
func TestClientRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		status int
		body   string
		want   string
	}{
		"not_found":     {http.StatusNotFound, "", "404"},
		"not_json":      {http.StatusOK, "<html>", "is not a status of a gitops-agent"},
		"newer":         {http.StatusOK, `{"schemaVersion": 2}`, "has schemaVersion 2, and this program reads 1"},
		"other_program": {http.StatusOK, `{"status": "UP"}`, "has schemaVersion 0"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.status)
				_, _ = w.Write([]byte(test.body))
			}))
			defer server.Close()
			_, body, err := Client{url: server.URL, http: server.Client()}.Read(t.Context())
			if err == nil || !strings.Contains(err.Error(), test.want) || body != nil {
				t.Errorf("got %v and %d bytes, want an error with %q", err, len(body), test.want)
			}
		})
	}
}
