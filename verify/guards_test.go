package verify_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A guard is a condition whose body returns or collects a refusal.
type guard struct {
	file       string
	line       int
	text       string
	start, end int // bytes of the condition in file
}

// An exemption is a guard without a row in the list of checks.
type exemption struct {
	file string
	code string // occurs exactly once in file and overlaps the condition
	why  string
}

// exemptions returns every guard without a mutation, with the reason.
func exemptions() []exemption {
	const restated = "a value that does not parse stays empty, and the next check on it refuses with the same reason"
	const cannotFail = "the input was made or checked before, so no test can cause the error"
	return []exemption{
		{"adopted.go", `err != nil {
		return forCommit(tip.id, treeProblem`, "each change between the two trees was compared before"},
		{"object.go", `err != nil {
				return nil, refuse(ReasonMalformed, "tree`, restated},
		{"cms.go", `err != nil {
		return signature{}, refuse(ReasonMalformedSignature, "not CMS`, restated},
		{"cms.go", `&first)
	if err != nil`, restated},
		{"cms.go", `err != nil {
		return nil, refuse(ReasonMalformedSignature, "signed attributes: %w"`, restated},
		{"log_entry.go", `err != nil {
		return logEntry{}, refuse(ReasonMalformedSignature, "log entry: %w"`, "the canonical encoding of an empty entry differs, and that check refuses with the same reason"},
		{"entity.go", `err != nil {
		return nil, fmt.Errorf("encode certificate`, cannotFail},
		{"evidence.go", `err != nil {
		return nil, fmt.Errorf("encode log entry`, cannotFail},
		{"evidence.go", `err != nil {
		return signature{}, nil, refuse(ReasonBadEvidence, "not a Sigstore`, restated},
		{"policy.go", `err != nil {
		return nil, fmt.Errorf("make policy: %w", err)
	}
	return`, cannotFail},
		{"proof.go", `err != nil {
		return nil, fmt.Errorf("make verifier`, cannotFail},
		{"signer.go", `err != nil {
		return nil, fmt.Errorf("issuer`, cannotFail},
	}
}

// TestEveryGuardIsListed finds the guards in the source of the package. It fails if a guard has neither a check nor an
// exemption, so that a new refusal must come with a test that fails without it.
func TestEveryGuardIsListed(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		guards := guardsIn(t, file, source)
		found += len(guards)
		listed, exempt := spans(file, string(source))
		for _, g := range guards {
			switch covered, excused := touches(listed, g), touches(exempt, g); {
			case !covered && !excused:
				t.Errorf("%s:%d: no row of checks removes the guard %s", g.file, g.line, g.text)
			case covered && excused:
				t.Errorf("%s:%d: the guard %s has a check and an exemption: remove the exemption", g.file, g.line, g.text)
			}
		}
	}
	if found < len(checks())/2 {
		t.Errorf("got %d guards in the source, want at least half as many as there are checks", found)
	}
}

// TestExemptionsAreCurrent: each exemption names an existing guard and has a reason.
func TestExemptionsAreCurrent(t *testing.T) {
	t.Parallel()
	for _, e := range exemptions() {
		source, err := os.ReadFile(e.file)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(source), e.code); n != 1 {
			t.Errorf("%s: got %q %d times, want once", e.file, e.code, n)
			continue
		}
		at := strings.Index(string(source), e.code)
		own := []span{{at, at + len(e.code)}}
		if !slices.ContainsFunc(guardsIn(t, e.file, source), func(g guard) bool { return touches(own, g) }) || e.why == "" {
			t.Errorf("%s: %q overlaps no guard, or the exemption has no reason", e.file, e.code)
		}
	}
}

// A span is a range of bytes in a file.
type span struct{ start, end int }

// spans returns the positions of the checks and the exemptions of a file in its source.
func spans(file, source string) (listed, exempt []span) {
	for _, c := range checks() {
		if at := strings.Index(source, c.code); c.file == file && at >= 0 {
			listed = append(listed, span{at, at + len(c.code)})
		}
	}
	for _, e := range exemptions() {
		if at := strings.Index(source, e.code); e.file == file && at >= 0 {
			exempt = append(exempt, span{at, at + len(e.code)})
		}
	}
	return listed, exempt
}

func touches(spans []span, g guard) bool {
	return slices.ContainsFunc(spans, func(s span) bool { return s.start < g.end && g.start < s.end })
}

// guardsIn returns the conditions of a file that decide on a refusal. Each part of a condition with || is a separate guard.
func guardsIn(t *testing.T, file string, source []byte) []guard {
	t.Helper()
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var guards []guard
	add := func(body []ast.Stmt, conditions ...ast.Expr) {
		if !slices.ContainsFunc(body, refuses) {
			return
		}
		for _, condition := range conditions {
			for _, part := range alternatives(condition) {
				start, end := set.Position(part.Pos()), set.Position(part.End())
				guards = append(guards, guard{file, start.Line, string(source[start.Offset:end.Offset]), start.Offset, end.Offset})
			}
		}
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			add(n.Body.List, n.Cond)
		case *ast.CaseClause:
			add(n.Body, n.List...)
		}
		return true
	})
	return guards
}

// alternatives splits a condition at its ||.
func alternatives(condition ast.Expr) []ast.Expr {
	if or, ok := condition.(*ast.BinaryExpr); ok && or.Op == token.LOR {
		return append(alternatives(or.X), alternatives(or.Y)...)
	}
	return []ast.Expr{condition}
}

// refuses reports whether a statement itself, without the statements nested in it, returns or collects an error or a
// problem that it makes.
func refuses(statement ast.Stmt) bool {
	var results []ast.Expr
	switch s := statement.(type) {
	case *ast.ReturnStmt:
		results = s.Results
	case *ast.AssignStmt:
		results = s.Rhs
	}
	return slices.ContainsFunc(results, func(result ast.Expr) bool {
		makes := false
		ast.Inspect(result, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				makes = makes || makesRefusal(n.Fun)
			case *ast.Ident:
				makes = makes || n.Name == "RejectedError" || n.Name == "notInLastParagraph"
			}
			return true
		})
		return makes
	})
}

// makesRefusal reports whether a function makes refusals or problems.
func makesRefusal(function ast.Expr) bool {
	switch f := function.(type) {
	case *ast.Ident:
		return slices.Contains([]string{"refuse", "refusal", "void", "treeProblem"}, f.Name)
	case *ast.SelectorExpr:
		from, ok := f.X.(*ast.Ident)
		return ok && slices.Contains([]string{"fmt.Errorf", "errors.New", "fmt.Sprintf"}, from.Name+"."+f.Sel.Name)
	}
	return false
}
