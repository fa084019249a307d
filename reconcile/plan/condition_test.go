package plan

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// docs/plan.md lists every reason once, in the order of ConditionReasons.
func TestManualListsConditionReasons(t *testing.T) {
	text, err := os.ReadFile(filepath.FromSlash("../../docs/plan.md"))
	if err != nil {
		t.Fatal(err)
	}
	var listed []ConditionReason
	for _, row := range regexp.MustCompile("(?m)^\\| [A-Z][A-Za-z]+ \\| `([a-z-]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		listed = append(listed, ConditionReason(row[1]))
	}
	if diff := cmp.Diff(ConditionReasons(), listed); diff != "" {
		t.Errorf("reasons in docs/plan.md differ (-want +got):\n%s", diff)
	}
}

// ConditionReasons lists every constant of its type.
func TestConditionReasonsIsComplete(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "condition.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared []ConditionReason
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "ConditionReason" {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			declared = append(declared, ConditionReason(text))
		}
		return true
	})
	if diff := cmp.Diff(declared, ConditionReasons()); diff != "" {
		t.Errorf("the list differs from the constants (-want +got):\n%s", diff)
	}
}
