package policytest

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"gitops-agent/reconcile/manifest/tree"
)

// TestExamples runs the tables of examples/policies. Each policy has a table, in which it says something and in which it says nothing.
func TestExamples(t *testing.T) {
	t.Parallel()
	policies, err := filepath.Glob("../../../../examples/policies/*.yaml")
	if err != nil || len(policies) != 10 {
		t.Fatalf("got %d policies (%v), want 10", len(policies), err)
	}
	for _, file := range policies {
		table, err := Read(t.Context(), filepath.Join(filepath.Dir(file), "tests", filepath.Base(file)))
		if err != nil {
			t.Fatal(err)
		}
		result, err := table.Run()
		if err != nil {
			t.Fatal(err)
		}
		said, silent := 0, 0
		for _, c := range result.Cases {
			if len(c.Problems) > 0 {
				t.Errorf("%s: %s: %v", file, c.Name, c.Problems)
			}
			said, silent = said+min(len(c.Found), 1), silent+1-min(len(c.Found), 1)
		}
		if said == 0 || silent == 0 {
			t.Errorf("%s: got %d cases in which it says something, and %d in which it does not, want both", file, said, silent)
		}
	}
}

const onePolicy = `apiVersion: proxmox.gitops/v1alpha1
kind: Policy
metadata: {name: tags}
spec: {when: size(new.tags) == 0, message: no tags}
`

// TestTables are tables with mistakes, and a case that does not pass.
func TestTables(t *testing.T) {
	t.Parallel()
	guest := "{kind: VirtualMachine, metadata: {name: web-1}, spec: {}}"
	tests := map[string]struct{ table, want string }{
		"not_wanted":     {"policies: [p.yaml]\ncases: [{name: one, new: " + guest + "}]\n", "t.yaml: one: not wanted: tags denies it: no tags\n"},
		"nothing_found":  {"policies: [p.yaml]\ncases: [{name: one, old: " + guest + ", want: [{policy: tags, result: deny, message: x}]}]\n", "t.yaml: one: no policy says: tags deny with x\n"},
		"passes":         {"policies: [p.yaml]\ncases: [{name: one, new: " + guest + ", want: [{policy: tags, result: deny, message: no tags}]}]\n", "t.yaml: 1 of 1 case passed\n"},
		"unknown_field":  {"policies: [p.yaml]\ncases: [{name: one, neww: {}}]\n", "t.yaml: yaml: unmarshal errors:\n  line 2: field neww not found"},
		"no_cases":       {"policies: [p.yaml]\n", "t.yaml: got 1 policies and 0 cases, want at least one file in policies or a repository, and one of cases"},
		"no_guest":       {"policies: [p.yaml]\ncases: [{name: one}]\n", "t.yaml: case one: got no guest, want old, new or both"},
		"no_name":        {"policies: [p.yaml]\ncases: [{new: " + guest + "}]\n", "t.yaml: cases[0]: got no name, want one"},
		"no_policy":      {"policies: [q.yaml]\ncases: [{name: one, new: " + guest + "}]\n", "q.yaml: no such file or directory"},
		"wrong_guest":    {"policies: [p.yaml]\ncases:\n  - name: one\n    new: {kind: VirtualMachine, metadata: {name: web-1}, spec: {memory: {size: 1}}}\n", "t.yaml: case one: line 4: new: VirtualMachine web-1: memory.size: got"},
		"another_kind":   {"policies: [p.yaml]\ncases: [{name: one, new: {kind: GuestClass, metadata: {name: web-1}, spec: {}}}]\n", "line 2: new: got 0 guests, want kind: VirtualMachine or Container"},
		"wrong_step":     {"policies: [p.yaml]\ncases: [{name: one, new: " + guest + ", step: {op: delete}}]\n", "case one: got step delete of class live, want an operation and a change class of docs/policies.md"},
		"null":           {"policies: [p.yaml]\ncases: [{name: one, new: ~}]\n", "case one: line 2: new: got nothing, want kind: VirtualMachine or Container"},
		"hidden_key":     {"policies: [p.yaml]\ncases: # of one \u2028- {name: one, new: " + guest + "}\n", "t.yaml: line 2, column 17: got the line separator U+2028, "},
		"escapes":        {"policies: [p.yaml]\ncases: [{name: one, new: {kind: VirtualMachine, metadata: {name: web-1}, spec: {description: \"a\\Lb\\rc\\P\\uFEFFd\"}}, want: [{policy: tags, result: deny}]}]\n", "t.yaml: 1 of 1 case passed\n"},
		"not_a_document": {"policies: [p.yaml]\ncases: [{name: one, new: [1]}]\n", "line 2: new: yaml: unmarshal errors"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, text := range map[string]string{"p.yaml": onePolicy, "t.yaml": test.table} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var out bytes.Buffer
			table, err := Read(t.Context(), filepath.Join(dir, "t.yaml"))
			if err == nil {
				var result Result
				result, err = table.Run()
				result.WriteText(&out)
			}
			if err != nil {
				out.WriteString(err.Error())
			}
			if got := strings.ReplaceAll(out.String(), dir+"/", ""); !strings.Contains(got, test.want) {
				t.Errorf("got %s\nwant %s", got, test.want)
			}
		})
	}
}

// TestEncode writes the values that a guest of a case can have, and reads them back as a manifest is read.
func TestEncode(t *testing.T) {
	t.Parallel()
	texts := []any{"", "plain", "true", "12", "1e3", "~", "2026-01-05", "a: b # c", "- x", "one\ntwo\n", " \t", "a\rb", "a\u0085b", "a\u2028b", "a\u2029", "\ufeffa", "é\"'\\"}
	value := map[string]any{"texts": texts, "number": 12, "large": uint64(1 << 63), "part": 1.5, "yes": true, "none": nil, "a\u2028b": map[string]any{"empty": []any{}}}
	data, err := encode(value)
	if err != nil || len(tree.Invisible("x", data)) > 0 {
		t.Fatalf("got %s and %v, want escapes alone", data, err)
	}
	var got map[string]any
	if err := yaml.Unmarshal(data, &got); err != nil || !reflect.DeepEqual(got, value) {
		t.Errorf("got %v and %#v from %s, want %#v", err, got, data, value)
	}
}
