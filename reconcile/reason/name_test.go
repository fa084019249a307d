package reason

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// docs/plan.md lists every reason of a condition once, in the order of Conditions.
func TestManualListsConditions(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.FromSlash("../../docs/plan.md"))
	if err != nil {
		t.Fatal(err)
	}
	var listed []Name
	for _, row := range regexp.MustCompile("(?m)^\\| [A-Z][A-Za-z]+ \\| `([a-z-]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		listed = append(listed, Name(row[1]))
	}
	if diff := cmp.Diff(Conditions(), listed); diff != "" {
		t.Errorf("reasons in docs/plan.md differ (-want +got):\n%s", diff)
	}
}

// Conditions and Holds together list every constant of their type, Stops each of its own.
func TestListsAreComplete(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]map[string][]string{
		"name.go": {"Name": append(texts(Conditions()), texts(Holds())...)}, "stop.go": {"Stop": texts(Stops())},
	} {
		for kind, list := range want {
			slices.Sort(list)
			if diff := cmp.Diff(slices.Compact(list), declared(t, file, kind)); diff != "" {
				t.Errorf("the constants in %s differ from the list (-list +constants):\n%s", file, diff)
			}
		}
	}
}

func texts[T ~string](list []T) []string {
	var texts []string
	for _, e := range list {
		texts = append(texts, string(e))
	}
	return texts
}

// declared returns the values of the constants of a type in a file, sorted.
func declared(t *testing.T, name, kind string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if of, ok := spec.Type.(*ast.Ident); ok && of.Name == kind {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, text)
		}
		return true
	})
	slices.Sort(values)
	return values
}
