package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"gitops-agent/verify"
)

// TestSigningConfigs parses the configs in docs/workflows.md. They are valid, except for the trusted root and the anchor, which each reader
// must set.
func TestSigningConfigs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "workflows.md"))
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
			t.Fatalf("got %v, want a config:\n%s", err, block)
		}
		c.Trust.Anchor, c.Trust.TrustOnFirstUse = "", true
		if _, err := verify.NewPolicy(c.policyOptions(trustedRootOf(t, "pinned"))); err != nil {
			t.Errorf("got %v, want a policy:\n%s", err, block)
		}
	}
	if found != 2 {
		t.Errorf("got %d configs in the document, want those of GitHub and GitLab", found)
	}
}

// unindented removes the indentation of a block in a list.
func unindented(block string) string {
	indent := block[:len(block)-len(strings.TrimLeft(block, " "))]
	return strings.ReplaceAll("\n"+block, "\n"+indent, "\n")
}
