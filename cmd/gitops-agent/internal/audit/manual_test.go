package audit

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// docs/cli.md names every rule of an audit in its order, and every field of its JSON.
func TestManualNamesRulesAndFields(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	manual := string(text)
	want := func(part string) {
		t.Helper()
		if !strings.Contains(manual, part) {
			t.Errorf("docs/cli.md: got no %q", part)
		}
	}
	var rows strings.Builder
	for _, r := range rules() {
		rows.WriteString("\n| " + r.name + " | " + r.requires)
		if r.name == ruleChange {
			rows.WriteString(" (commits only)")
		}
		if r.name == ruleName {
			rows.WriteString(" (tags only)")
		}
		rows.WriteString(" |")
	}
	want(rows.String())
	for _, document := range []reflect.Type{
		reflect.TypeFor[Document](), reflect.TypeFor[signerView](), reflect.TypeFor[verdictView](), reflect.TypeFor[ruleView](),
		reflect.TypeFor[Who](), reflect.TypeFor[whoSigner](), reflect.TypeFor[whoClaim](),
	} {
		for field := range document.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name != "schemaVersion" {
				want("`" + name + "`")
			}
		}
	}
}
