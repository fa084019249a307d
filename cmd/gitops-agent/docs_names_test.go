package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// codePages are the pages that describe the code.
var codePages = []string{"ARCHITECTURE.md", "CONTRIBUTING.md", "docs/internals/concepts.md"}

// notFromHere are words that look like identifiers and are names from outside the module.
var notFromHere = []string{"GitHub", "GitLab", "NixOS", "OpenID", "OpenTelemetry", "PostgreSQL"}

// codeTree is what the Go files of the module declare. Paths are slash-separated and relative to the root of the module.
type codeTree struct {
	root     string
	packages map[string]*codePackage // by directory
	byName   map[string][]*codePackage
	imported map[string]bool // last elements of import paths
	words    map[string]bool // string literals and the keys of struct tags, of files without tests
}

// codePackage is one directory with Go files, tests included.
type codePackage struct {
	dir     string
	doc     string                     // the package comment of its files without tests
	symbols map[string]bool            // declared at the top level
	members map[string]map[string]bool // fields and methods, by type
	code    bool                       // it has a file without tests
}

// readCode parses every Go file of the module, whatever its build tags.
func readCode(t *testing.T, root string) *codeTree {
	t.Helper()
	tree := &codeTree{root: root, packages: map[string]*codePackage{}, byName: map[string][]*codePackage{}, imported: map[string]bool{}, words: map[string]bool{}}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == ".git"):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(file, ".go"):
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(file))
		tree.add(filepath.ToSlash(rel), parsed, strings.HasSuffix(file, "_test.go"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range tree.packages {
		tree.byName[path.Base(p.dir)] = append(tree.byName[path.Base(p.dir)], p)
	}
	return tree
}

func (c *codeTree) add(dir string, file *ast.File, isTest bool) {
	p := c.packages[dir]
	if p == nil {
		p = &codePackage{dir: dir, symbols: map[string]bool{}, members: map[string]map[string]bool{}}
		c.packages[dir] = p
	}
	if !isTest {
		p.code = true
		p.doc += file.Doc.Text()
	}
	for _, spec := range file.Imports {
		if imported, err := strconv.Unquote(spec.Path.Value); err == nil {
			c.imported[path.Base(imported)] = true
		}
	}
	for _, decl := range file.Decls {
		p.declare(decl)
	}
	if isTest {
		return
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil {
				c.words[text] = true
			}
		}
		if field, ok := n.(*ast.Field); ok && field.Tag != nil {
			for _, key := range []string{"json", "yaml"} {
				name, _, _ := strings.Cut(reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get(key), ",")
				c.words[name] = true
			}
		}
		return true
	})
}

func (p *codePackage) declare(decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			p.symbols[d.Name.Name] = true
			return
		}
		p.member(receiver(d.Recv.List[0].Type), d.Name.Name)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.ValueSpec:
				for _, name := range s.Names {
					p.symbols[name.Name] = true
				}
			case *ast.TypeSpec:
				p.symbols[s.Name.Name] = true
				p.fields(s.Name.Name, s.Type)
			}
		}
	}
}

// fields notes the fields of a struct and the methods of an interface.
func (p *codePackage) fields(of string, typ ast.Expr) {
	var list *ast.FieldList
	switch t := typ.(type) {
	case *ast.StructType:
		list = t.Fields
	case *ast.InterfaceType:
		list = t.Methods
	default:
		return
	}
	for _, field := range list.List {
		for _, name := range field.Names {
			p.member(of, name.Name)
		}
	}
}

func (p *codePackage) member(of, name string) {
	if p.members[of] == nil {
		p.members[of] = map[string]bool{}
	}
	p.members[of][name] = true
}

// receiver returns the name of the type that a method belongs to.
func receiver(typ ast.Expr) string {
	for {
		switch t := typ.(type) {
		case *ast.StarExpr:
			typ = t.X
		case *ast.IndexExpr:
			typ = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}

// declares reports whether a package declares "Symbol" or "Symbol.Member".
func (p *codePackage) declares(symbol, member string) bool {
	return p.symbols[symbol] && (member == "" || p.members[symbol][member])
}

// anywhere reports whether one of the packages declares the symbol.
func anywhere(packages []*codePackage, symbol, member string) bool {
	return slices.ContainsFunc(packages, func(p *codePackage) bool { return p.declares(symbol, member) })
}

var (
	codeFence  = regexp.MustCompile("(?ms)^```.*?^```")
	codeSpan   = regexp.MustCompile("`([^`]+)`")
	docLink    = regexp.MustCompile(`\[(\*?[A-Za-z]\w*(?:\.\w+)*)\]`)
	filePath   = regexp.MustCompile(`(?:\.?[\w*-]+/)*\.?[\w*-]+(?:\.[\w*]+)*\.(?:go|mod|md|ya?ml|txt|txtar|html|css)\b|(?:\.?[\w-]+/)+[\w*-]*`)
	qualified  = regexp.MustCompile(`(^|[^\w./*-])([a-z][a-z0-9]*)\.([A-Za-z_]\w*)(?:\.([A-Za-z]\w*))?`)
	typeMember = regexp.MustCompile(`(^|[^\w./-])([A-Z]\w*)\.([A-Za-z]\w*)`)
	bareName   = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
	camelCase  = regexp.MustCompile(`(^|[^\w./$-])([A-Za-z]+[a-z0-9][A-Z]\w*)`)
)

// wrongNames returns the names in a piece of text that the code does not have. From is the package that the text documents, nil for a page.
func (c *codeTree) wrongNames(text string, from *codePackage) []string {
	var wrong []string
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	for _, name := range filePath.FindAllString(text, -1) {
		if c.isPath(name) {
			if !c.exists(name, from) {
				bad("the file or folder %s", name)
			}
		}
	}
	all := slices.Collect(maps.Values(c.packages))
	for _, m := range qualified.FindAllStringSubmatch(text, -1) {
		name, symbol, member := m[2], m[3], m[4]
		isExported := token.IsExported(symbol)
		switch packages := c.byName[name]; {
		case len(packages) > 0 && (anywhere(packages, symbol, member) || !isExported && c.words[symbol]):
		case len(packages) == 0 && len(name) == 1: // a variable in an example
		case isExported && (len(packages) > 0 || !c.imported[name]):
			bad("the symbol %s.%s", name, strings.TrimSuffix(symbol+"."+member, "."))
		case !isExported && len(packages) > 0 && !strings.HasSuffix(m[0], ".go") && !strings.HasSuffix(m[0], ".md"):
			bad("the symbol %s.%s", name, symbol)
		}
	}
	for _, m := range typeMember.FindAllStringSubmatch(text, -1) {
		owners := all
		if from != nil {
			owners = []*codePackage{from}
		}
		if name := m[2] + "." + m[3]; !anywhere(owners, m[2], m[3]) && !c.words[name] && !strings.HasSuffix(name, ".md") {
			bad("the symbol %s", name)
		}
	}
	if from == nil && bareName.MatchString(text) && !anywhere(all, text, "") && !c.words[text] {
		bad("the symbol %s", text)
	}
	for _, m := range camelCase.FindAllStringSubmatch(text, -1) {
		if !c.knows(m[2], from) {
			bad("the name %s", m[2])
		}
	}
	return wrong
}

// knows reports whether a word in camel case is declared in the package, or exported by another one, or is a word of a format.
func (c *codeTree) knows(word string, from *codePackage) bool {
	if slices.Contains(notFromHere, word) || c.words[word] {
		return true
	}
	if singular, plural := strings.CutSuffix(word, "s"); plural && token.IsExported(word) && c.knows(singular, from) {
		return true
	}
	for _, p := range c.packages {
		if from != nil && p != from && !token.IsExported(word) {
			continue
		}
		if p.symbols[word] {
			return true
		}
		for _, members := range p.members {
			if members[word] {
				return true
			}
		}
	}
	return false
}

// isPath reports whether a name can only be a path of the repository: it has the ending of a file, or begins with a folder of the root.
func (c *codeTree) isPath(name string) bool {
	if strings.HasSuffix(name, ".go") || strings.HasSuffix(name, ".md") {
		return true
	}
	first, _, deep := strings.Cut(name, "/")
	info, err := os.Stat(filepath.Join(c.root, first))
	return deep && err == nil && info.IsDir()
}

// exists reports whether a path, in which * may stand for any name, is there: in the folder of the package, or from the root. A decision may be
// named by its number, as in docs/adr/0003.
func (c *codeTree) exists(name string, from *codePackage) bool {
	if ok, _ := path.Match("docs/adr/[0-9][0-9][0-9][0-9]", name); ok {
		name += "-*"
	}
	folders := []string{c.root}
	if from != nil {
		folders = append(folders, filepath.Join(c.root, filepath.FromSlash(from.dir)))
	}
	return slices.ContainsFunc(folders, func(folder string) bool {
		found, err := filepath.Glob(filepath.Join(folder, filepath.FromSlash(name)))
		return err == nil && len(found) > 0
	})
}

// The pages about the code, and every package comment, name files, packages and symbols that exist. A page names a file by its path from the
// root, and a symbol with its package.
func TestDocsNameCodeThatExists(t *testing.T) {
	tree := readCode(t, filepath.Join("..", ".."))
	for _, page := range codePages {
		text, err := os.ReadFile(filepath.Join(tree.root, filepath.FromSlash(page)))
		if err != nil {
			t.Fatal(err)
		}
		pieces := codeFence.FindAllString(string(text), -1)
		for _, m := range codeSpan.FindAllStringSubmatch(codeFence.ReplaceAllString(string(text), ""), -1) {
			pieces = append(pieces, m[1])
		}
		for _, piece := range pieces {
			for _, wrong := range tree.wrongNames(piece, nil) {
				t.Errorf("%s: got %s, which does not exist", page, wrong)
			}
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(tree.packages)) {
		p := tree.packages[dir]
		for _, wrong := range tree.wrongNames(p.doc, p) {
			t.Errorf("comment of package %s: got %s, which does not exist", dir, wrong)
		}
		for _, m := range docLink.FindAllStringSubmatch(p.doc, -1) {
			symbol, member, _ := strings.Cut(strings.TrimPrefix(m[1], "*"), ".")
			if !p.declares(symbol, member) && !anywhere(tree.byName[symbol], member, "") {
				t.Errorf("comment of package %s: got the link %s, which leads nowhere", dir, m[0])
			}
		}
	}
}

// The map in ARCHITECTURE.md has a line for every package.
func TestDocsMapEveryPackage(t *testing.T) {
	tree := readCode(t, filepath.Join("..", ".."))
	text, err := os.ReadFile(filepath.Join(tree.root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range slices.Sorted(maps.Keys(tree.packages)) {
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(dir) + `/ +\S`).Match(text) {
			t.Errorf("ARCHITECTURE.md: got no line %q in the map, want one", dir+"/")
		}
	}
}

// Two pages show the same diagram, and its packages and types exist.
func TestDocsShareOneDiagram(t *testing.T) {
	tree := readCode(t, filepath.Join("..", ".."))
	var diagrams []string
	for _, page := range []string{"ARCHITECTURE.md", "docs/internals/concepts.md"} {
		text, err := os.ReadFile(filepath.Join(tree.root, filepath.FromSlash(page)))
		if err != nil {
			t.Fatal(err)
		}
		diagrams = append(diagrams, codeFence.FindString(string(text)))
	}
	if diagrams[0] != diagrams[1] {
		t.Errorf("got one diagram in ARCHITECTURE.md and another in docs/internals/concepts.md, want the same")
	}
	stages := regexp.MustCompile(`(?m)^.*?([a-z]+) +([A-Z]\w+)  `).FindAllStringSubmatch(diagrams[0], -1)
	if len(stages) < 8 {
		t.Errorf("got %d stages in the diagram, want at least 8", len(stages))
	}
	for _, stage := range stages {
		if len(tree.byName[stage[1]]) == 0 || !tree.knows(stage[2], nil) {
			t.Errorf("got the stage %s %s in the diagram, want a package and a type that exist", stage[1], stage[2])
		}
	}
}

// A wrong name of each form is found, and a right one is not.
func TestWrongNamesInDocs(t *testing.T) {
	tree := readCode(t, filepath.Join("..", ".."))
	journal := tree.packages["reconcile/journal"]
	for text, from := range map[string]*codePackage{
		"metrics/doc.go": nil, "reconcile/guest/rows_*.go": nil, "record.go": journal, "docs/adr/": nil, "docs/adr/0003": nil, "config.yaml": nil,
		"plan.New": nil, "verify.Policy.Check": nil, "cluster.operations": nil, "context.Context": nil, "Holds": nil,
		"Journal.Append returns": journal, "see kindOf in kinds.go": journal, "proxmox.vmlist_file": nil, "Drifted": nil,
	} {
		if got := tree.wrongNames(text, from); len(got) > 0 {
			t.Errorf("%q: got %q, want no wrong name", text, got)
		}
	}
	for text, from := range map[string]*codePackage{
		"metrics/docs.go": nil, "reconcile/guest/lines_*.go": nil, "record.go": nil, "engine.go": journal, "docs/decisions/": nil, "docs/adr/0000": nil,
		"plan.Make": nil, "verify.Policy.Decide": nil, "planner.New": nil, "cluster.operationTable": nil, "HoldCauses": nil,
		"Journal.Write returns": journal, "see kindsOf in kinds.go": journal,
	} {
		if got := tree.wrongNames(text, from); len(got) == 0 {
			t.Errorf("%q: got no wrong name, want one", text)
		}
	}
}
