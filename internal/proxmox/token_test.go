package proxmox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
		"header":      {"PVEAPIToken=root@pam!agent=" + testSecret, ""},
		"space":       {"root@pam!agent = " + testSecret, ""},
		"no_realm":    {"root!agent=" + testSecret, ""},
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
			if err != nil && strings.HasSuffix(err.Error(), "=secret") != (name == "no_secret") {
				t.Errorf("got %v, want what is wrong with it", err)
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

// A secret that is no UUID is none that Proxmox made.
func TestCheckToken(t *testing.T) {
	t.Parallel()
	for secret, ok := range map[string]bool{testSecret: true, strings.ToUpper(testSecret): true, testSecret[1:]: false, "<secret>": false, "password": false} {
		path := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(path, []byte("root@pam!agent="+secret+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := CheckToken(path); (err == nil) != ok || err != nil && strings.Contains(err.Error(), "="+secret) {
			t.Errorf("got %v for %q, want it refused: %t", err, secret, !ok)
		}
	}
}
