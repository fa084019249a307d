package pvesim

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestPatternsCompile: a mistake in a pattern shows here, and not when a call uses the pattern first.
func TestPatternsCompile(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range files {
		if !strings.HasSuffix(name.Name(), ".go") || strings.HasSuffix(name.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			function, ok := call.Fun.(*ast.Ident)
			literal, isText := call.Args[0].(*ast.BasicLit)
			if !ok || !isText || function.Name != "newPattern" && function.Name != "matching" {
				return true
			}
			found++
			expr, err := strconv.Unquote(literal.Value)
			if err == nil {
				_, err = regexp.Compile(expr)
			}
			if err != nil {
				t.Errorf("%s: pattern %s: %v", name.Name(), literal.Value, err)
			}
			return true
		})
	}
	if found < 50 {
		t.Errorf("got %d patterns, want more than 50", found)
	}
}
