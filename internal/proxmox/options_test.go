package proxmox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNewReportsEveryProblem(t *testing.T) {
	_, err := New(Options{
		Endpoints:    []string{"pve1:8006", "http://pve1.lan:8006", "https://user@pve1.lan", "https://pve1.lan/api2", "ftp://pve1.lan"},
		TokenFile:    filepath.Join(t.TempDir(), "absent"),
		Fingerprints: []string{"AA:BB"},
		ReadsPerNode: -1,
	})
	if err == nil {
		t.Fatal("got no error, want one for each option")
	}
	for _, want := range []string{
		`endpoint "pve1:8006"`, `endpoint "http://pve1.lan:8006": http would send the token unencrypted`, `endpoint "https://user@pve1.lan"`,
		`endpoint "https://pve1.lan/api2"`, `endpoint "ftp://pve1.lan": scheme "ftp", want https`, "read token file", `fingerprint "AA:BB"`, "limits: ",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got error\n%v\nwant it to contain %q", err, want)
		}
	}
}

func TestNewNeedsEndpoint(t *testing.T) {
	if _, err := NewReader(Options{TokenFile: tokenFile(t)}); err == nil || !strings.Contains(err.Error(), "endpoints: none given") {
		t.Errorf("got error %v, want one about endpoints", err)
	}
}

func TestNewRefusesCAFileWithoutCertificate(t *testing.T) {
	_, err := New(Options{Endpoints: []string{"https://pve1.lan"}, TokenFile: tokenFile(t), CAFile: tokenFile(t)})
	if err == nil || !strings.Contains(err.Error(), "no certificate in PEM form") {
		t.Errorf("got error %v, want one about the CA file", err)
	}
}

func TestParseEndpoint(t *testing.T) {
	tests := map[string]string{
		"https://pve1.lan":         "https://pve1.lan:8006",
		"https://pve1.lan/":        "https://pve1.lan:8006",
		"https://192.0.2.10:443":   "https://192.0.2.10:443",
		"https://[2001:db8::1]":    "https://[2001:db8::1]:8006",
		"http://127.0.0.1:8080":    "http://127.0.0.1:8080",
		"http://localhost:8080":    "http://localhost:8080",
		"http://[::1]:8080":        "http://[::1]:8080",
		"https://[2001:db8::1]:80": "https://[2001:db8::1]:80",
	}
	for text, want := range tests {
		got, err := parseEndpoint(text)
		if err != nil || got.String() != want {
			t.Errorf("parseEndpoint(%q): got %v, %v, want %s", text, got, err, want)
		}
	}
}

func TestReadToken(t *testing.T) {
	tests := map[string]struct {
		text string
		want string // of the id; empty is an error
	}{
		"plain":       {"root@pam!agent=" + testSecret, "root@pam!agent"},
		"newline":     {"gitops@pve!agent-1=" + testSecret + "\n", "gitops@pve!agent-1"},
		"no_secret":   {"root@pam!agent=", ""},
		"no_name":     {"root@pam=" + testSecret, ""},
		"two_lines":   {"root@pam!agent=" + testSecret + "\nroot@pam!b=" + testSecret, ""},
		"secret_only": {testSecret, ""},
		"empty":       {"", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "token")
			if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := readToken(path)
			if got.id != test.want || (err != nil) != (test.want == "") {
				t.Errorf("got id %q, error %v, want id %q", got.id, err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), testSecret) {
				t.Errorf("got the secret in error %v", err)
			}
		})
	}
}

func TestTokenPrintsNoSecret(t *testing.T) {
	secret := token{id: "root@pam!agent", secret: testSecret}
	for _, verb := range []string{"%v", "%s", "%+v", "%#v", "%q"} {
		if got := fmt.Sprintf(verb, secret); strings.Contains(got, testSecret) {
			t.Errorf("got %s for %s, want no secret", got, verb)
		}
	}
}
