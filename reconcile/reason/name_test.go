package reason

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/event"
)

// Each constant has one row, and each row states what every outlet needs.
func TestEachReasonHasOneRow(t *testing.T) {
	t.Parallel()
	var names, stopped []string
	for _, r := range Rows() {
		names = append(names, string(r.Name))
		if len(r.Types) == 0 && r.Held == "" || r.Sentence == "" || !slices.Contains(Acts(), r.Act) || !slices.Contains(Severities(), r.Severity) {
			t.Errorf("%s: got the row %+v, want a type, a sentence, an act and a severity", r.Name, r)
		}
		for _, e := range r.Events {
			if !slices.Contains(event.Names(), e) {
				t.Errorf("%s: got the event %s, want one of package event", r.Name, e)
			}
		}
		if r.Held != "" && len(r.Events) == 0 {
			t.Errorf("%s: got no event, and each hold is logged", r.Name)
		}
		if r.Notice != (Notice{}) && !slices.Contains(HoldNotices(), r.Notice) {
			t.Errorf("%s: got the notice %q, which pages do not show", r.Name, r.Notice.One)
		}
		for _, text := range []string{r.Sentence, r.Docs} {
			if strings.HasSuffix(text, ".") || strings.ContainsAny(text, "|\n") {
				t.Errorf("%s: got %q, want it without a full stop and fit for a table", r.Name, text)
			}
		}
	}
	if !slices.IsSorted(names) {
		t.Errorf("got the rows %q, want them sorted", names)
	}
	if diff := cmp.Diff(names, declared(t, "name.go", "Name")); diff != "" {
		t.Errorf("the rows differ from the constants (-rows +constants):\n%s", diff)
	}
	for _, s := range Stops() {
		stopped = append(stopped, string(s))
	}
	slices.Sort(stopped)
	if diff := cmp.Diff(stopped, declared(t, "stop.go", "Stop")); diff != "" {
		t.Errorf("the rows of stops differ from the constants (-rows +constants):\n%s", diff)
	}
	for _, s := range Stops()[1:] {
		if r := s.Row(); r.Title == "" || r.Sentence == "" || !slices.Contains(Acts(), r.Act) || !slices.Contains(Severities(), r.Severity) {
			t.Errorf("%s: got the row %+v, want a title, a sentence, an act and a severity", s, r)
		}
	}
	for _, r := range Outages() {
		if found := Outage(r.Part, r.Name); found.Sentence != r.Sentence || r.Sentence == "" || !slices.Contains(Acts(), r.Act) || !slices.Contains(Severities(), r.Severity) || !slices.Contains(event.Names(), r.Event) {
			t.Errorf("%s %s: got the row %+v, want one with a sentence, an act, a severity and an event", r.Part, r.Name, r)
		}
	}
}

// Each type has a row, and a reason of another release has the severity of its type.
func TestEachTypeHasARow(t *testing.T) {
	t.Parallel()
	var types []string
	for _, r := range Types() {
		if types = append(types, string(r.Type)); r.Type.Row() != r || r.Label == "" || !slices.Contains(Severities(), r.Severity) {
			t.Errorf("%s: got the row %+v", r.Type, r)
		}
	}
	slices.Sort(types)
	if diff := cmp.Diff(types, declared(t, "row.go", "Type")); diff != "" {
		t.Errorf("the rows differ from the constants (-rows +constants):\n%s", diff)
	}
	if r := Type("Newer").Row(); r.Label != "Newer" || r.Severity != SeverityWarning || r.Runbook != "" {
		t.Errorf("got the row %+v for an unknown type, want its name and a warning", r)
	}
	if r := Name("config").Row(); r.Act != "" || r.Severity != "" || r.Name != "config" {
		t.Errorf("got the row %+v for an operation, want an empty one", r)
	}
	if Approval.Act() != Approve || Name("config").Act() != FixCluster {
		t.Errorf("got the acts %s and %s, want those of the table and of a failed step", Approval.Act(), Name("config").Act())
	}
	if r := Stop("newer").Row(); r.Act != "" || r.Title != "" {
		t.Errorf("got the row %+v for an unknown stop, want an empty one", r)
	}
}

// Every remedy is in the row of a reason. A command and the value of an edit are in the text, with the same placeholders.
func TestRemediesAreInRows(t *testing.T) {
	t.Parallel()
	var all []Remedy
	for _, r := range Rows() {
		all = append(all, r.Remedies...)
	}
	for _, s := range Stops() {
		all = append(all, s.Row().Remedy)
	}
	for _, r := range Outages() {
		all = append(all, r.Remedy)
	}
	count := 0
	for _, r := range all {
		if r.Text == "" {
			continue
		}
		if !strings.Contains(r.Text, r.Command) {
			t.Errorf("%q: got the command %q, want it in the text", r.Text, r.Command)
		}
		for _, e := range r.Edits {
			last := e.Field[strings.LastIndex(e.Field, ".")+1:]
			if e.Field == "" || !strings.Contains(r.Text, last) || !strings.Contains(r.Text, e.Value) {
				t.Errorf("%q: got the edit %+v, want its field and value in the text", r.Text, e)
			}
		}
	}
	file, err := parser.ParseFile(token.NewFileSet(), "remedies.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		count++
		text, err := strconv.Unquote(spec.Values[0].(*ast.CompositeLit).Elts[0].(*ast.KeyValueExpr).Value.(*ast.BasicLit).Value)
		if err != nil || !slices.ContainsFunc(all, func(r Remedy) bool { return r.Text == text }) {
			t.Errorf("%s: got no row with the remedy (%v)", spec.Names[0].Name, err)
		}
		return true
	})
	if count < 80 {
		t.Errorf("got %d remedies, want all", count)
	}
}

func TestRemedyWith(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		remedy Remedy
		values []any
		want   string
	}{
		{RemoveSuspend, nil, "remove spec.suspend"},
		{GrantAudit, []any{210}, "grant VM.Audit on /vms/210, or choose another vmid"},
		{Unlock, []any{"pct", 210}, "wait; if no task creates it any more, unlock it on its node (pct unlock 210) and remove it"},
		{Remedy{Text: "{a} {b} {a}"}, []any{"{b}", "2"}, "{b} 2 {b}"},
		{Remedy{Text: "{a}"}, []any{1, 2}, "1"},
	} {
		if got := test.remedy.With(test.values...); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
	if got := GrantAudit.String(); got != "grant VM.Audit on /vms/VMID, or choose another vmid" {
		t.Errorf("got %q, want the placeholder in capitals", got)
	}
}

// A former name is no name any more, and its successor has a row.
func TestFormerNames(t *testing.T) {
	t.Parallel()
	if len(Former()) == 0 || len(Rows()) > 40 {
		t.Errorf("got %d former names and %d reasons, want at most 40 reasons", len(Former()), len(Rows()))
	}
	for _, name := range Former() {
		if now, isFormer := Successor(name); !isFormer || now.Row().Act == "" || Name(name).Row().Act != "" {
			t.Errorf("%s: got the successor %s (%t), want a reason of the table in place of one that is not", name, now, isFormer)
		}
	}
	if _, isFormer := Successor(string(Approval)); isFormer {
		t.Error("got a successor of a reason that is in use")
	}
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
