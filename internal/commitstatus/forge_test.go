package commitstatus

import "testing"

// TestForgeNeedsEncryption refuses to send a token over a network without encryption.
func TestForgeNeedsEncryption(t *testing.T) {
	for api, want := range map[string]bool{
		"https://forge.example.org/api/v1": true, "http://127.0.0.1:3000/api/v1": true, "http://localhost:3000/api/v1": true,
		"http://forge.example.org/api/v1": false, "http://10.0.0.1/api/v1": false,
	} {
		err := Forge{Kind: Gitea, API: api, Repository: "a/b", Token: func() (string, error) { return "t", nil }}.Check()
		if (err == nil) != want {
			t.Errorf("%s: got %v, want accepted %t", api, err, want)
		}
	}
}
