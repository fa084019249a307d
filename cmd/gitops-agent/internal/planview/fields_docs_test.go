package planview

import (
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

	"gitops-agent/reconcile/preflight"
	"gitops-agent/reconcile/report"
)

const fieldsHead = `# Fields of status and plan

Generated from the program (do not edit). Fields of ` + "`/status.json`, `gitops-agent status -o json` and `gitops-agent plan -o json`" + `, as [cli.md](cli.md) says about every document of this kind. A field may be missing while
it has no value. Times are RFC 3339.
`

// TestFieldsPage compares docs/report-fields.md with the page that is generated from the types and their comments.
func TestFieldsPage(t *testing.T) {
	t.Parallel()
	p := fieldsPage{t: t, comments: make(map[string]map[string]string), known: make(map[reflect.Type]bool)}
	p.WriteString(fieldsHead)
	for _, document := range []struct {
		title string
		of    reflect.Type
	}{
		{"`/status.json`, `status -o json`", reflect.TypeFor[report.Document]()},
		{"`/status.json?guest=201`, `status KIND/NAME -o json`", reflect.TypeFor[report.GuestDocument]()},
		{"`plan -o json`", reflect.TypeFor[Document]()},
	} {
		p.table(document.title, document.of)
	}
	for len(p.open) > 0 {
		next := p.open[0]
		p.open = p.open[1:]
		p.table(wordOf(next), next)
	}
	path := filepath.Join("..", "..", "..", "..", "docs", "report-fields.md")
	if *update {
		if err := os.WriteFile(path, []byte(p.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(p.String(), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("docs/report-fields.md differs from the types, run go test ./cmd/gitops-agent/internal/planview -run FieldsPage -update (-want +got):\n%s", diff)
	}
}

// fieldsPage is a page with a table for each type of a document.
type fieldsPage struct {
	strings.Builder

	t        *testing.T
	comments map[string]map[string]string // by package, then TYPE.FIELD
	known    map[reflect.Type]bool
	open     []reflect.Type // whose tables follow
}

func (p *fieldsPage) table(title string, of reflect.Type) {
	fmt.Fprintf(p, "\n## %s\n\n| field | type | |\n|---|---|---|\n", title)
	p.rows(of)
}

// rows writes the fields of a type, with those of embedded types in their place.
func (p *fieldsPage) rows(of reflect.Type) {
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-" || !field.IsExported() && !field.Anonymous:
		case field.Anonymous && name == "":
			p.rows(field.Type)
		default:
			fmt.Fprintf(p, "| `%s` | %s | %s |\n", name, p.typeOf(field.Type), p.comment(of, field.Name))
		}
	}
}

// typeOf returns the word for a type, and remembers to describe it.
func (p *fieldsPage) typeOf(t reflect.Type) string {
	switch t.Kind() { //nolint:exhaustive // the other kinds are numbers
	case reflect.Pointer:
		return p.typeOf(t.Elem())
	case reflect.Slice:
		return "list of " + p.typeOf(t.Elem())
	case reflect.Map:
		return "mapping to " + p.typeOf(t.Elem())
	case reflect.Struct:
		switch {
		case t.PkgPath() == "time":
			return "time"
		case t == reflect.TypeFor[preflight.Cause](): // it marshals itself
			return "`guest`, `key`, `origin`"
		case t.NumField() == 1 && t.Field(0).Anonymous && t.Field(0).Type.Kind() == reflect.Struct: // a type with methods alone
			return p.typeOf(t.Field(0).Type)
		}
		if !p.known[t] {
			p.known[t] = true
			p.open = append(p.open, t)
		}
		word := wordOf(t)
		return "[" + word + "](#" + strings.ToLower(word) + ")"
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "text"
	case reflect.Interface:
		return "any"
	default:
		return "number"
	}
}

// wordOf returns the heading of a type, "Hold". Types of two packages may share a name.
func wordOf(t reflect.Type) string {
	name := strings.TrimSuffix(t.Name(), "View")
	name = strings.ToUpper(name[:1]) + name[1:]
	switch pkg := t.PkgPath()[strings.LastIndex(t.PkgPath(), "/")+1:]; pkg {
	case "planview":
		return "Plan" + name
	case "report", "plan":
		return name
	default:
		return strings.ToUpper(pkg[:1]) + pkg[1:] + name
	}
}

// comment returns the comment of a field, from the source of its package.
func (p *fieldsPage) comment(of reflect.Type, field string) string {
	if p.comments[of.PkgPath()] == nil {
		p.comments[of.PkgPath()] = commentsOf(p.t, filepath.Join("..", "..", "..", "..", strings.TrimPrefix(of.PkgPath(), "gitops-agent/")))
	}
	return strings.NewReplacer("|", "\\|", "nil ", "missing ").Replace(p.comments[of.PkgPath()][of.Name()+"."+field])
}

// commentsOf returns the comment of each field of the types in a directory, by TYPE.FIELD.
func commentsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: got %d files, %v, want those of a package", dir, len(files), err)
	}
	comments := make(map[string]string)
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
						comments[declared.Name.Name+"."+name.Name] = strings.Join(strings.Fields(f.Doc.Text()+f.Comment.Text()), " ")
					}
				}
			}
			return true
		})
	}
	return comments
}
