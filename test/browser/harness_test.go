//go:build integration

package browser

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// The tools find known faults, so that a test that finds none means something.
func TestTheToolsFindFaults(t *testing.T) {
	t.Parallel()
	faulty := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<!DOCTYPE html><html lang="en"><title>Faulty</title><style>p { color: #bbb; background: #fff } div { width: 900px }</style>
<main><h1>Faulty</h1><p>This text is pale.</p><input type="text"><div>wide</div></main><script>document.title = "ran"</script>`))
	}))
	t.Cleanup(faulty.Close)
	b := openTab(t, phone)
	b.visit(faulty.URL)
	var rules []string
	for _, v := range b.violations() {
		rules = append(rules, v.ID)
	}
	for _, want := range []string{"color-contrast", "label"} {
		if !slices.Contains(rules, want) {
			t.Errorf("got the violations %v of axe-core, want %s among them", rules, want)
		}
	}
	if problems := b.takeProblems(); !strings.Contains(strings.Join(problems, "\n"), "Content Security Policy") {
		t.Errorf("got %q from the browser, want the breach of the Content-Security-Policy", problems)
	}
	if b.tooWide() == "" {
		t.Error("got a page that fits into the window, want one that is too wide")
	}
}
