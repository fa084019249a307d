package kinds

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestTrustPageNamesEveryKind compares the table with docs/trust.md, which says for each kind what a signer and a stolen token can do.
func TestTrustPageNamesEveryKind(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/trust.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Pools and other objects\n")
	section, _, _ = strings.Cut(section, "\n## ")
	heads := regexp.MustCompile(`(?m)^- \*\*([A-Za-z, ]+)\.\*\* `)
	paragraphs := make(map[string]string)
	at := heads.FindAllStringSubmatchIndex(section, -1)
	for i, m := range at {
		end := len(section)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		text := section[m[1]:end]
		if j := strings.Index(text, "\n- "); j >= 0 {
			text = text[:j]
		}
		for name := range strings.SplitSeq(section[m[2]:m[3]], ", ") {
			paragraphs[name] = strings.Join(strings.Fields(text), " ")
		}
	}
	for _, k := range All() {
		text, found := paragraphs[string(k.Name)]
		if !found || !strings.Contains(text, "stolen token") {
			t.Errorf("%s: got the paragraph %q in docs/trust.md, want one about a stolen token", k.Name, text)
		}
		delete(paragraphs, string(k.Name))
	}
	for name := range paragraphs {
		t.Errorf("got a paragraph about %s, which is no kind", name)
	}
}
