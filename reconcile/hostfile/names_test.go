package hostfile_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "gitops-agent/internal/memtemp"
	"gitops-agent/reconcile/hostfile"
)

// parsed returns the syntax of every file of the module that is not a test.
func parsed(t *testing.T) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files[path], err = parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestNamesListsEveryFile checks that Names has every constant, and that every other package takes its name from these constants: the agent checks the
// owners of the files in this list.
func TestNamesListsEveryFile(t *testing.T) {
	t.Parallel()
	used := map[string]int{}
	for path, file := range parsed(t) {
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && isIdentifier(spec.Type, "Name") && file.Name.Name == "hostfile" {
				for _, value := range spec.Values {
					text := strings.Trim(value.(*ast.BasicLit).Value, `"`)
					if !slices.Contains(hostfile.Names(), hostfile.Name(text)) {
						t.Errorf("got Names without %q", text)
					}
				}
			}
			literal, ok := n.(*ast.CompositeLit)
			if !ok || !isSelector(literal.Type, "File") {
				return true
			}
			for _, element := range literal.Elts {
				pair, isPair := element.(*ast.KeyValueExpr)
				if isPair && isIdentifier(pair.Key, "Dir") {
					continue
				}
				if !isPair || !isSelector(pair.Value, "") {
					t.Errorf("%s: got a hostfile.File with another name, want Name: and a constant of package hostfile", path)
					continue
				}
				used[pair.Value.(*ast.SelectorExpr).Sel.Name]++
			}
			return true
		})
	}
	if len(used) != len(hostfile.Names()) {
		t.Errorf("got the files %v in use, want %v", used, hostfile.Names())
	}
}

// isSelector reports whether an expression is hostfile.name, or any symbol of package hostfile if name is "".
func isSelector(e ast.Expr, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && isIdentifier(s.X, "hostfile") && (name == "" || s.Sel.Name == name)
}

func isIdentifier(e ast.Expr, name string) bool {
	i, ok := e.(*ast.Ident)
	return ok && i.Name == name
}
