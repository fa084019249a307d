package forge_test

import (
	"net/http"
	"testing"

	"gitops-agent/internal/forge"
)

// The path and the token of each forge, as its API documentation has them.
func TestKind(t *testing.T) {
	t.Parallel()
	for kind, want := range map[forge.Kind]struct{ path, header, token string }{
		forge.GitHub: {"/repos/our%20team/guests", "Authorization", "Bearer T"},
		forge.GitLab: {"/projects/our%20team%2Fguests", "Private-Token", "T"},
		forge.Gitea:  {"/repos/our%20team/guests", "Authorization", "token T"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://forge.test", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		kind.Authorize(r, "T")
		if got := kind.Path("our team/guests"); got != want.path || r.Header.Get(want.header) != want.token {
			t.Errorf("%s: got %s and %q, want %+v", kind, got, r.Header.Get(want.header), want)
		}
	}
	if len(forge.Kinds()) != 3 {
		t.Errorf("got %v, want three kinds", forge.Kinds())
	}
}
