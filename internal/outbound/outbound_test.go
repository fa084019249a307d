package outbound

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSendTrustsTheFile reaches a server whose authority only the file contains, and no server without it.
func TestSendTrustsTheFile(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for caFile, want := range map[string]int{file: http.StatusTeapot, "": 0} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Send(r, caFile); got != want || (err == nil) != (want != 0) {
			t.Errorf("authorities %q: got status %d and %v, want status %d", caFile, got, err, want)
		}
	}
}

// TestSendFollowsNoRedirect returns the status of the redirect, so that the token of the request reaches no other host.
func TestSendFollowsNoRedirect(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("got a request with %v, want none", r.Header) }))
	t.Cleanup(other.Close)
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	t.Cleanup(server.Close)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Send(r, ""); got != http.StatusTemporaryRedirect || err != nil {
		t.Errorf("got status %d and %v, want 307", got, err)
	}
}

func TestAuthoritiesNamesTheFile(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"text.pem": "no certificate", "large.pem": strings.Repeat("x", maxAuthorities+1)} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Authorities(file); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: got %v, want an error that names the file", name, err)
		}
	}
}

func TestIsExposed(t *testing.T) {
	for text, want := range map[string]bool{
		"https://forge.example.org": false, "http://127.0.0.1:3000": false, "http://[::1]:3000": false, "http://10.0.0.1": true, "http://forge.example.org": true,
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := IsExposed(u); got != want {
			t.Errorf("%s: got %t, want %t", text, got, want)
		}
	}
}
