package reason

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The code gives each reason a type of its row, a remedy of the table, and each remedy as many values as it has placeholders.
func TestCodeUsesTheTable(t *testing.T) {
	t.Parallel()
	names, remedies, types := constants(t, "name.go"), placeholders(t), constants(t, "row.go")
	conditions, filled := 0, 0
	inspect := func(path string, n ast.Node) {
		switch n := n.(type) {
		case *ast.CompositeLit:
			name, kind := selected(field(n, "Reason")), strings.TrimPrefix(strings.TrimPrefix(selected(field(n, "Type")), "reason.Type"), "plan.")
			value, known := names[strings.TrimPrefix(name, "reason.")]
			if !strings.HasPrefix(name, "reason.") || !known {
				return
			}
			row := Name(value).Row()
			if kind = strings.Replace(kind, "NotObserved", "Unknown", 1); kind != "" {
				conditions++
				if of := Type(types["Type"+kind]); of != row.Held && !slices.Contains(row.Types, of) {
					t.Errorf("%s: got the reason %s with the type %s, which its row does not have", path, name, kind)
				}
			}
			if hint, isText := field(n, "Hint").(*ast.BasicLit); isText && hint.Value != `""` {
				t.Errorf("%s: got the remedy %s of %s, want one of package reason", path, hint.Value, name)
			}
		case *ast.CallExpr:
			if len(n.Args) == 3 && selected(n.Fun) == "held" {
				if _, isText := n.Args[2].(*ast.BasicLit); isText && n.Args[2].(*ast.BasicLit).Value != `""` {
					t.Errorf("%s: got the remedy %s, want one of package reason", path, n.Args[2].(*ast.BasicLit).Value)
				}
			}
			with, isMethod := n.Fun.(*ast.SelectorExpr)
			if !isMethod || with.Sel.Name != "With" || !strings.HasPrefix(selected(with.X), "reason.") {
				return
			}
			filled++
			if want, known := remedies[strings.TrimPrefix(selected(with.X), "reason.")]; !known || want != len(n.Args) {
				t.Errorf("%s: got %d values for %s, want %d", path, len(n.Args), selected(with.X), want)
			}
		}
	}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool { inspect(path, n); return true })
		return nil
	})
	if err != nil || conditions < 50 || filled < 20 {
		t.Errorf("got %d conditions and %d remedies with values (%v), want all", conditions, filled, err)
	}
}

// field returns the value of a key of a composite literal, nil if it has none.
func field(lit *ast.CompositeLit, key string) ast.Expr {
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if id, ok := kv.Key.(*ast.Ident); ok && id.Name == key {
				return kv.Value
			}
		}
	}
	return nil
}

// selected returns an identifier, or a selector with one dot, as text.
func selected(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			return x.Name + "." + e.Sel.Name
		}
	}
	return ""
}

// constants returns the values of the constants of a file by name.
func constants(t *testing.T, name string) map[string]string {
	t.Helper()
	values := make(map[string]string)
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
			if lit, ok := spec.Values[0].(*ast.BasicLit); ok {
				values[spec.Names[0].Name] = strings.Trim(lit.Value, `"`)
			}
		}
		return true
	})
	return values
}

// placeholders returns the number of different placeholders of each remedy.
func placeholders(t *testing.T) map[string]int {
	t.Helper()
	counts := make(map[string]int)
	file, err := parser.ParseFile(token.NewFileSet(), "remedies.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			text := spec.Values[0].(*ast.CompositeLit).Elts[0].(*ast.KeyValueExpr).Value.(*ast.BasicLit).Value
			found := regexp.MustCompile(`\{[a-z ]+\}`).FindAllString(text, -1)
			slices.Sort(found)
			counts[spec.Names[0].Name] = len(slices.Compact(found))
		}
		return true
	})
	return counts
}
