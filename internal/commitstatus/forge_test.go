package commitstatus

import (
	"errors"
	"testing"
	"time"

	"gitops-agent/internal/forge"
)

// TestForgeNeedsEncryption refuses to send a token over a network without encryption.
func TestForgeNeedsEncryption(t *testing.T) {
	for api, want := range map[string]bool{
		"https://forge.example.org/api/v1": true, "http://127.0.0.1:3000/api/v1": true, "http://localhost:3000/api/v1": true,
		"http://forge.example.org/api/v1": false, "http://10.0.0.1/api/v1": false,
	} {
		err := Forge{Kind: forge.Gitea, API: api, Repository: "a/b", Token: func() (string, error) { return "t", nil }}.Check()
		if (err == nil) != want {
			t.Errorf("%s: got %v, want accepted %t", api, err, want)
		}
	}
}

// The agent starts without Check, so each request refuses too. The token is not even read.
func TestRequestNeedsEncryption(t *testing.T) {
	t.Parallel()
	for _, api := range []string{"http://forge.invalid/api/v1", "HTTP://forge.invalid/api/v1"} {
		read := false
		f := Forge{Kind: forge.Gitea, API: api, Repository: "ops/cluster", Timeout: time.Second, Token: func() (string, error) { read = true; return "t0ken", nil }}
		var permanent permanentError
		if err := f.send(t.Context(), "0a1b", Status{State: Pending}); !errors.As(err, &permanent) || read {
			t.Errorf("%s: got %v and token read %t, want a refusal before", api, err, read)
		}
	}
}
