package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"gitops-agent/verify"
)

// TestDocumentedTrust parses what pages of the manual write below trust. It is valid, except for the trusted root and the anchor, which each reader must set.
func TestDocumentedTrust(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]int{"workflows.md": 2, "teams.md": 1} {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for block := range strings.SplitSeq(string(text), "```yaml\n") {
			block, _, _ = strings.Cut(block, "```")
			_, block, isTrust := strings.Cut("\n"+unindented(block), "\ntrust:\n")
			if !isTrust {
				continue
			}
			found++
			var c Config
			c.Source.Branch, c.Cluster.Name = "main", "home"
			decoder := yaml.NewDecoder(strings.NewReader("trust:\n" + block))
			decoder.KnownFields(true)
			if err := decoder.Decode(&c); err != nil {
				t.Fatalf("%s: got %v, want a config:\n%s", page, err, block)
			}
			c.Trust.Anchor, c.Trust.TrustOnFirstUse = "", true
			if c.Trust.Binding == "" {
				c.Trust.Binding = string(verify.BindingTrailer)
			}
			if _, err := verify.NewPolicy(c.policyOptions(trustedRootOf(t, "pinned"))); err != nil {
				t.Errorf("%s: got %v, want a policy:\n%s", page, err, block)
			}
		}
		if found != want {
			t.Errorf("%s: got %d configs, want %d", page, found, want)
		}
	}
}

// unindented removes the indentation of a block in a list.
func unindented(block string) string {
	indent := block[:len(block)-len(strings.TrimLeft(block, " "))]
	return strings.ReplaceAll("\n"+block, "\n"+indent, "\n")
}
