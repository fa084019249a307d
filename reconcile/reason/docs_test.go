package reason

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the table of reasons in docs/reasons.md")

const tableHead = "| reason | condition | act | means | what to do |\n|---|---|---|---|---|\n"

// docs/reasons.md has the table of reasons.
func TestManualHasTheTable(t *testing.T) {
	t.Parallel()
	var rows strings.Builder
	for _, r := range Rows() {
		cells := []string{"`" + string(r.Name) + "`", joinTypes(r), string(r.Act), joined(". ", r.Sentence, r.Docs), joinRemedies(r.Remedies...)}
		rows.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	path := filepath.Join("..", "..", "docs", "reasons.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, after, found := strings.Cut(string(text), tableHead)
	table, rest, ends := strings.Cut(after, "\n\n")
	if !found || !ends {
		t.Fatalf("docs/reasons.md: got no table with the head %q", tableHead)
	}
	if *update {
		if err := os.WriteFile(path, []byte(before+tableHead+rows.String()+"\n"+rest), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(rows.String(), table+"\n"); diff != "" {
		t.Errorf("docs/reasons.md (-want +got; -update rewrites it):\n%s", diff)
	}
}

func joinTypes(r Row) string {
	var types []string
	for _, kind := range r.Types {
		types = append(types, string(kind))
	}
	if r.Held != "" && !strings.Contains(strings.Join(types, " "), string(r.Held)) {
		types = append(types, string(r.Held))
	}
	return strings.Join(types, ", ")
}

func joined(sep string, texts ...string) string {
	var list []string
	for _, text := range texts {
		if text != "" {
			list = append(list, text)
		}
	}
	return strings.Join(list, sep)
}

func joinRemedies(list ...Remedy) string {
	var texts []string
	for _, r := range list {
		texts = append(texts, strings.ReplaceAll(r.String(), "|", "\\|"))
	}
	return joined(" · ", texts...)
}
