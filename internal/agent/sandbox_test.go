package agent_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestProgramIsNoSandbox: nothing that is linked into gitops-agent makes a config or a policy of a sandbox.
func TestProgramIsNoSandbox(t *testing.T) {
	t.Parallel()
	files := 0
	for _, dir := range []string{"../../cmd/gitops-agent", "../../internal/agent", "../../internal/evidence", "../../reconcile"} {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || path == "../../internal/agent/policy.go" {
				return err
			}
			files++
			parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					if n.Sel.Name == "InSandbox" || n.Sel.Name == "Sandbox" {
						t.Errorf("%s uses %s", path, n.Sel.Name)
					}
				case *ast.KeyValueExpr:
					if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Sandbox" {
						t.Errorf("%s sets Sandbox", path)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 50 {
		t.Errorf("got %d files, want those of the program", files)
	}
}
