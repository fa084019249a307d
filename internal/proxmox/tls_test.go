package proxmox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"

	"github.com/google/go-cmp/cmp"
)

func TestTrust(t *testing.T) {
	var served atomic.Int64
	server := quietTLS(t, func(w http.ResponseWriter, _ *http.Request) {
		served.Add(1)
		_, _ = w.Write([]byte(`{"data":{"version":"9.2.11"}}`))
	})

	leaf := server.Certificate()
	digest := sha256.Sum256(leaf.Raw)
	right := hex.EncodeToString(digest[:])
	wrong := strings.Repeat("00", sha256.Size)
	ca := caFile(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Raw}))
	other, err := pvesim.NewCertificate()
	if err != nil {
		t.Fatal(err)
	}
	otherCA := caFile(t, other.PEM)

	tests := map[string]struct {
		ca   string
		pins []string
		want string // part of the error; empty is success
	}{
		"ca":                 {ca: ca},
		"pin":                {pins: []string{right}},
		"pin_with_colons":    {pins: []string{colons(right)}},
		"one_of_two_pins":    {pins: []string{wrong, strings.ToUpper(right)}},
		"ca_and_pin":         {ca: ca, pins: []string{right}},
		"system_authorities": {want: "certificate"},
		"wrong_pin":          {pins: []string{wrong}, want: "fingerprint " + right + ", which is not pinned"},
		"ca_and_wrong_pin":   {ca: ca, pins: []string{wrong}, want: "not pinned"},
		"wrong_ca":           {ca: otherCA, want: "certificate"},
		"wrong_ca_and_pin":   {ca: otherCA, pins: []string{right}, want: "certificate"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before := served.Load()
			client := newClient(t, Options{Endpoints: []string{server.URL}, CAFile: test.ca, Fingerprints: test.pins})
			_, err := client.Version(t.Context())
			if test.want == "" {
				if err != nil {
					t.Errorf("got error %v, want none", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || !errors.Is(err, cluster.ErrNotReady) {
				t.Errorf("got error %v, want ErrNotReady with %q", err, test.want)
			}
			_, err = client.Do(t.Context(), startCall, nil)
			if diff := cmp.Diff([]string{cluster.ErrNotReady.Error()}, meanings(err)); diff != "" {
				t.Errorf("write: got error %v: meaning (-want +got)\n%s", err, diff)
			}
			if served.Load() != before {
				t.Error("got a request with the token at a server that is not trusted")
			}
		})
	}
}

// A certificate of a trusted CA for another host is rejected, unless a pin replaces the check.
func TestTrustChecksName(t *testing.T) {
	server := quietTLS(t, http.NotFound)
	ca := caFile(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	localhost := strings.Replace(server.URL, "127.0.0.1", "localhost", 1) // the certificate names example.com and 127.0.0.1
	_, err := newClient(t, Options{Endpoints: []string{localhost}, CAFile: ca}).Version(t.Context())
	if err == nil || !strings.Contains(err.Error(), "localhost") {
		t.Errorf("got error %v, want one about the name", err)
	}
}

func caFile(t *testing.T, certificate []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(path, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// quietTLS returns a TLS server that does not log aborted handshakes.
func quietTLS(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

func colons(digest string) string {
	var pairs []string
	for i := 0; i < len(digest); i += 2 {
		pairs = append(pairs, digest[i:i+2])
	}
	return strings.Join(pairs, ":")
}
