package audit

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/cmd/gitops-agent/internal/term"
)

var update = flag.Bool("update", false, "rewrite docs/audit-fields.md from the rules and the types")

// TestAuditPage compares docs/audit-fields.md with the page that is generated from the rules and from the comments of the types.
func TestAuditPage(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("# Rules and fields of an audit\n\nGenerated from the program (do not edit). [cli.md](cli.md#auditing-with-verify) describes audits.\n\n" +
		"The rules are checked in this order, and the first one that fails ends the check of a commit or tag:\n\n| rule | requires |\n|---|---|\n")
	for _, r := range rules() {
		fmt.Fprintf(&b, "| %s | %s |\n", r.name, r.requires+map[string]string{ruleChange: " (commits only)", ruleName: " (tags only)"}[r.name])
	}
	comments := fieldComments(t)
	for _, of := range []struct {
		title    string
		document reflect.Type
	}{
		{"`verify -o json`", reflect.TypeFor[Document]()},
		{"`notAudited`", reflect.TypeFor[notAuditedView]()},
		{"`refusals`: with one reason and one identity", reflect.TypeFor[refusalView]()},
		{"`signers`: by identity; the empty one counts objects whose signer is not proven", reflect.TypeFor[signerView]()},
		{"`verdicts`", reflect.TypeFor[verdictView]()},
		{"`rules`", reflect.TypeFor[ruleView]()},
		{"`promotion`", reflect.TypeFor[promotionView]()},
		{"`verify --who -o json`", reflect.TypeFor[Who]()},
		{"`signers` of `--who`", reflect.TypeFor[whoSigner]()},
		{"`claims` of `--who`: anyone can write these identities", reflect.TypeFor[whoClaim]()},
	} {
		fmt.Fprintf(&b, "\n| field of %s | |\n|---|---|\n", of.title)
		for field := range of.document.Fields() {
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
				fmt.Fprintf(&b, "| `%s` |%s |\n", name, term.Prefixed(" ", comments[of.document.Name()+"."+field.Name]))
			}
		}
	}
	page := filepath.Join("..", "..", "..", "..", "docs", "audit-fields.md")
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(b.String(), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("docs/audit-fields.md differs from the program, run go test ./cmd/gitops-agent/internal/audit -run AuditPage -update (-want +got):\n%s", diff)
	}
}

// fieldComments returns the comment of each field of the types of this package, by TYPE.FIELD.
func fieldComments(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	comments := map[string]string{}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			declared, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if of, ok := declared.Type.(*ast.StructType); ok {
				for _, f := range of.Fields.List {
					for _, name := range f.Names {
						comments[declared.Name.Name+"."+name.Name] = strings.Join(strings.Fields(f.Comment.Text()+f.Doc.Text()), " ")
					}
				}
			}
			return true
		})
	}
	return comments
}
