package access_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"gitops-agent/internal/status/access"
)

const loopback, network = "127.0.0.1:9746", "0.0.0.0:9746"

// page answers every request as the status page and its probes do.
func page(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/readyz" {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = io.WriteString(w, "the content\n")
}

func handler(t *testing.T, opts access.Options) http.Handler {
	t.Helper()
	a, err := access.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return a.Handler(http.HandlerFunc(page), access.Exempt{Probes: []string{"/healthz", "/readyz"}, Own: []string{"/webhook"}})
}

// ask sends a request with a Host header.
func ask(h http.Handler, host, path string, edit func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Host = host
	if edit != nil {
		edit(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func token(text string) func() (string, error) { return func() (string, error) { return text, nil } }

// write writes a file of the test, and moves it to another time, so that a second content of the same size differs.
func write(t *testing.T, path, text string, age time.Duration) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-age)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

func usersFile(t *testing.T, password string) string {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("basic_auth_users:\n  prometheus: %s\n", hash)
}

func TestOnlyNamesOfTheAgentAreAccepted(t *testing.T) {
	t.Parallel()
	tests := []struct {
		listen, host string
		hosts        []string
		accepted     bool
	}{
		{loopback, "localhost:9746", nil, true},
		{loopback, "LOCALHOST.", nil, true},
		{loopback, "127.0.0.1:9746", nil, true},
		{loopback, "127.1.2.3", nil, true},
		{loopback, "[::1]:9746", nil, true},
		{loopback, "[::ffff:127.0.0.1]:9746", nil, true},
		{loopback, "attacker.example:9746", nil, false},
		{loopback, "localhost.attacker.example", nil, false},
		{loopback, "127.0.0.1.attacker.example", nil, false},
		{loopback, "10.0.0.5:9746", nil, false},
		{loopback, "", nil, false},
		{loopback, "agent.example.org", []string{"Agent.Example.org"}, true},
		{loopback, "agent.example.org:443", []string{"agent.example.org"}, true},
		{loopback, "other.example.org", []string{"agent.example.org"}, false},
		{network, "10.0.0.5:9746", nil, true},
		{network, "[fd00::5]:9746", nil, true},
		{network, "localhost:9746", nil, true},
		{network, "attacker.example", nil, false},
		{network, "agent.example.org", []string{"agent.example.org"}, true},
	}
	for _, tt := range tests {
		var refused []access.Reason
		h := handler(t, access.Options{
			Listen: tt.listen, Hosts: tt.hosts, Unauthenticated: true, OnRefuse: func(r access.Reason) { refused = append(refused, r) },
		})
		got := ask(h, tt.host, "/", nil)
		if accepted := got.Code == http.StatusOK; accepted != tt.accepted {
			t.Errorf("listen %s, Host %q, hosts %q: got %d, want accepted %v", tt.listen, tt.host, tt.hosts, got.Code, tt.accepted)
		}
		if !tt.accepted && (got.Code != http.StatusMisdirectedRequest || !strings.Contains(got.Body.String(), "status.hosts") || len(refused) != 1 || refused[0] != access.RefusedHost) {
			t.Errorf("Host %q: got %d %q and %q, want 421 with the remedy and reason host", tt.host, got.Code, got.Body, refused)
		}
		for _, path := range []string{"/healthz", "/webhook"} {
			if got := ask(h, tt.host, path, nil); got.Code != http.StatusOK {
				t.Errorf("%s with Host %q: got %d, want it answered for every name", path, tt.host, got.Code)
			}
		}
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "web.yaml")
	write(t, file, usersFile(t, "s3cret"), 0)
	basic := func(user, password string) func(*http.Request) {
		return func(r *http.Request) { r.SetBasicAuth(user, password) }
	}
	header := func(value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", value) }
	}
	both := handler(t, access.Options{Listen: loopback, WebConfigFile: file, Token: token("t0ken")})
	tests := []struct {
		name string
		edit func(*http.Request)
		want int
	}{
		{"nothing", nil, 401},
		{"user", basic("prometheus", "s3cret"), 200},
		{"user again", basic("prometheus", "s3cret"), 200},
		{"wrong password", basic("prometheus", "secret"), 401},
		{"wrong password again", basic("prometheus", "secret"), 401},
		{"unknown user", basic("grafana", "s3cret"), 401},
		{"unknown user with the password of no user", basic("grafana", ""), 401},
		{"token", header("Bearer t0ken"), 200},
		{"token, other case of the scheme", header("bearer t0ken"), 200},
		{"wrong token", header("Bearer token"), 401},
		{"empty token", header("Bearer "), 401},
		{"token as a password", basic("", "t0ken"), 401},
		{"password as a token", header("Bearer s3cret"), 401},
	}
	for _, tt := range tests {
		got := ask(both, "localhost", "/metrics", tt.edit)
		if got.Code != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got.Code, tt.want)
		}
		if schemes := strings.Join(got.Header().Values("WWW-Authenticate"), " "); tt.want == 401 && (!strings.Contains(schemes, "Basic") || !strings.Contains(schemes, "Bearer")) {
			t.Errorf("%s: got WWW-Authenticate %q, want both schemes", tt.name, schemes)
		}
	}
	onlyUsers := handler(t, access.Options{Listen: loopback, WebConfigFile: file})
	if got := ask(onlyUsers, "localhost", "/", header("Bearer ")); got.Code != 401 {
		t.Errorf("an empty token, none configured: got %d, want 401", got.Code)
	}
	broken := handler(t, access.Options{Listen: loopback, Token: failsLater()})
	if got := ask(broken, "localhost", "/", header("Bearer ")); got.Code != 401 {
		t.Errorf("a token that cannot be read any more: got %d, want 401", got.Code)
	}
}

// failsLater returns a token once, and an error after that.
func failsLater() func() (string, error) {
	asked := false
	return func() (string, error) {
		if asked {
			return "", os.ErrPermission
		}
		asked = true
		return "t0ken", nil
	}
}

func TestProbesTellTheirReasonsOnlyWithCredentials(t *testing.T) {
	t.Parallel()
	h := handler(t, access.Options{Listen: network, Token: token("t0ken")})
	for path, want := range map[string]string{"/healthz": "ok\n", "/readyz": "not ok\n"} {
		if got := ask(h, "10.0.0.5", path, nil); got.Body.String() != want {
			t.Errorf("%s without credentials: got %q, want %q", path, got.Body, want)
		}
		given := ask(h, "10.0.0.5", path, func(r *http.Request) { r.Header.Set("Authorization", "Bearer t0ken") })
		if given.Body.String() != "the content\n" {
			t.Errorf("%s with the token: got %q, want the content", path, given.Body)
		}
	}
	if got := ask(h, "10.0.0.5", "/readyz", nil); got.Code != http.StatusServiceUnavailable {
		t.Errorf("/readyz without credentials: got %d, want 503", got.Code)
	}
}

func TestListeningToTheNetworkWithoutUsersIsStated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	users, headers := filepath.Join(dir, "users.yaml"), filepath.Join(dir, "headers.yaml")
	write(t, users, usersFile(t, "s3cret"), 0)
	write(t, headers, "http_server_config: {headers: {X-Frame-Options: sameorigin}}\n", 0)
	tests := []struct {
		name    string
		opts    access.Options
		refused bool
	}{
		{"loopback", access.Options{Listen: loopback}, false},
		{"localhost", access.Options{Listen: "localhost:9746"}, false},
		{"IPv6 loopback", access.Options{Listen: "[::1]:9746"}, false},
		{"every address", access.Options{Listen: ":9746"}, true},
		{"one address", access.Options{Listen: "10.0.0.5:9746"}, true},
		{"a name", access.Options{Listen: "agent.example.org:9746"}, true},
		{"a file without users", access.Options{Listen: network, WebConfigFile: headers}, true},
		{"an empty token", access.Options{Listen: network, Token: token("")}, true},
		{"users", access.Options{Listen: network, WebConfigFile: users}, false},
		{"token", access.Options{Listen: network, Token: token("t0ken")}, false},
		{"stated", access.Options{Listen: network, Unauthenticated: true}, false},
	}
	for _, tt := range tests {
		_, err := access.New(tt.opts)
		if (err != nil) != tt.refused || tt.refused && !strings.Contains(err.Error(), "status.unauthenticated") {
			t.Errorf("%s: got %v, want refused %v with the remedy", tt.name, err, tt.refused)
		}
	}
}

func TestWrongFilesAndNamesAreRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"unknown field":      "basic_auth: {}\n",
		"no hash":            "basic_auth_users: {prometheus: secret}\n",
		"certificate absent": "tls_server_config: {cert_file: absent.pem, key_file: absent.key}\n",
		"unknown header":     "http_server_config: {headers: {Server: agent}}\n",
		"too large":          strings.Repeat("#", 1<<20+1),
	} {
		file := filepath.Join(t.TempDir(), "web.yaml")
		write(t, file, text, 0)
		if _, err := access.New(access.Options{Listen: loopback, WebConfigFile: file}); err == nil || !strings.Contains(err.Error(), "status.web_config_file "+file) {
			t.Errorf("%s: got %v, want an error that names the field and the file", name, err)
		}
	}
	if _, err := access.New(access.Options{Listen: network, Hosts: []string{"https://a"}}); err == nil || !strings.Contains(err.Error(), "status.hosts") || !strings.Contains(err.Error(), "status.unauthenticated") {
		t.Errorf("two problems: got %v, want both", err)
	}
	for _, host := range []string{"", "https://agent.example.org", "agent.example.org:443", "agent.example.org/path", "*.example.org"} {
		if _, err := access.New(access.Options{Listen: loopback, Hosts: []string{host}}); err == nil || !strings.Contains(err.Error(), "status.hosts") {
			t.Errorf("host %q: got %v, want an error", host, err)
		}
	}
}

func TestHeadersAndRateOfTheFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "web.yaml")
	write(t, file, "http_server_config: {headers: {X-Frame-Options: sameorigin}}\nrate_limit: {interval: 24h, burst: 2}\n", 0)
	h := handler(t, access.Options{Listen: loopback, WebConfigFile: file})
	var codes []int
	for range 3 {
		got := ask(h, "localhost", "/", nil)
		codes = append(codes, got.Code)
		if got.Header().Get("X-Frame-Options") != "sameorigin" {
			t.Errorf("got X-Frame-Options %q, want that of the file", got.Header().Get("X-Frame-Options"))
		}
	}
	if codes[0] != 200 || codes[1] != 200 || codes[2] != http.StatusTooManyRequests {
		t.Errorf("got %v, want 429 after the burst of two", codes)
	}
}

func TestFileIsReadAgain(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "web.yaml")
	write(t, file, usersFile(t, "before"), 3*time.Hour)
	h := handler(t, access.Options{Listen: loopback, WebConfigFile: file})
	with := func(password string) int {
		return ask(h, "localhost", "/", func(r *http.Request) { r.SetBasicAuth("prometheus", password) }).Code
	}
	if with("before") != 200 || with("after") != 401 {
		t.Fatal("got other replies, want the first password only")
	}
	write(t, file, "basic_auth_users: {prometheus: not a hash}\n", 2*time.Hour)
	if with("before") != 200 {
		t.Error("got a refusal, want the previous file while the new one is not valid")
	}
	write(t, file, usersFile(t, "after"), time.Hour)
	if with("before") != 401 || with("after") != 200 {
		t.Error("got other replies, want the second password only")
	}
}

// certificate writes a self-signed certificate with a serial number and its key, and returns it.
func certificate(t *testing.T, dir, name string, serial int64) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, name+".pem"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), 0)
	write(t, filepath.Join(dir, name+".key"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})), 0)
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// serve serves page over the listener of a, and returns its URL.
func serve(t *testing.T, a *access.Access) string {
	t.Helper()
	plain, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: a.Handler(http.HandlerFunc(page), access.Exempt{}), ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(a.Listener(plain)) }()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
	})
	return "https://" + plain.Addr().String()
}

func TestTLSWithClientCertificates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := certificate(t, dir, "server", 1)
	certificate(t, dir, "client", 2)
	file := filepath.Join(dir, "web.yaml")
	write(t, file, "tls_server_config: {cert_file: server.pem, key_file: server.key, client_ca_file: client.pem, client_auth_type: RequireAndVerifyClientCert}\n", 0)
	a, err := access.New(access.Options{Listen: network, WebConfigFile: file}) // client certificates authenticate
	if err != nil {
		t.Fatal(err)
	}
	url := serve(t, a)
	get := func(server *x509.Certificate, withClient bool) (outcome string) {
		pool := x509.NewCertPool()
		pool.AddCert(server)
		config := &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
		if withClient {
			pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "client.pem"), filepath.Join(dir, "client.key"))
			if err != nil {
				t.Fatal(err)
			}
			config.Certificates = []tls.Certificate{pair}
		}
		transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true, DisableKeepAlives: true}
		defer transport.CloseIdleConnections()
		response, err := (&http.Client{Transport: transport}).Get(url)
		if err != nil {
			return err.Error()
		}
		_ = response.Body.Close()
		return response.Proto + " " + response.Status
	}
	const answered = "HTTP/2.0 200 OK"
	if got := get(first, true); got != answered {
		t.Errorf("with a client certificate: got %s, want %s", got, answered)
	}
	if got := get(first, false); got == answered {
		t.Error("without a client certificate: got a reply, want none")
	}
	// A half-written certificate keeps the previous one; a new pair is used without a restart.
	write(t, filepath.Join(dir, "server.pem"), "half", 0)
	if got := get(first, true); got != answered {
		t.Errorf("with a half-written certificate: got %s, want the previous one", got)
	}
	second := certificate(t, dir, "server", 3)
	if got := get(second, true); got != answered {
		t.Errorf("after the renewal: got %s, want the new certificate", got)
	}
}
