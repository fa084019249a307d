package tree_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"gopkg.in/yaml.v3"

	"gitops-agent/reconcile/manifest/tree"
)

var update = flag.Bool("update", false, "rewrite the expected problems in testdata")

// report returns one problem per line, with the hint in parentheses.
func report(problems []tree.Problem) string {
	var b strings.Builder
	for _, p := range problems {
		fmt.Fprintf(&b, "%s: %s", p.At, p.Message)
		if p.Hint != "" {
			fmt.Fprintf(&b, " (%s)", p.Hint)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// TestReadReportsProblems compares the problems of every bad file in testdata with the expected text.
func TestReadReportsProblems(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(names) == 0 {
		t.Fatalf("got %d inputs and error %v, want some", len(names), err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			_, problems := tree.Read(archive.Files[0].Name, archive.Files[0].Data)
			want := &archive.Files[len(archive.Files)-1]
			got := report(problems)
			if *update {
				want.Data = []byte(got)
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(want.Data), got); diff != "" {
				t.Errorf("got other problems (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMergeTextIsText reads the text << in each of its spellings: as the library writes it, and as SOPS does, with a tag.
func TestMergeTextIsText(t *testing.T) {
	t.Parallel()
	written, err := tree.Encode(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "<<"})
	if err != nil {
		t.Fatal(err)
	}
	for _, spelling := range []string{string(written), `<<`, `"<<"`, `!!merge <<`} {
		documents, problems := tree.Read("", []byte("key: "+spelling+"\n"))
		if len(problems) > 0 || len(documents) != 1 {
			t.Fatalf("%s: got %v and %d documents, want one", spelling, problems, len(documents))
		}
		if n := documents[0].Get("key"); n.Tag != "!!str" || n.Text != "<<" {
			t.Errorf("%s: got %s %q, want the text <<", spelling, n.Tag, n.Text)
		}
	}
}

// TestReadLimits reads files that exceed a limit.
func TestReadLimits(t *testing.T) {
	t.Parallel()
	head := "apiVersion: proxmox.gitops/v1alpha1\nkind: VirtualMachine\nmetadata: {name: web-1}\nspec:\n"
	tests := map[string]struct{ data, want string }{
		"file":       {"# " + strings.Repeat("x", 1<<20), "web.yaml:1:1: got a file of 1048578 bytes, want at most 1048576\n"},
		"values":     {head + "  tags: [" + strings.Repeat("a,", 50000) + "]", "got more than 50000 keys and values in one document\n"},
		"keys":       {strings.Repeat("? a\n", 100000), "got more than 50000 keys and values in one document\n"},
		"depth":      {head + "  raw: " + strings.Repeat("[", 100) + strings.Repeat("]", 100), "web.yaml:5:31: got values nested deeper than 24 levels\n"},
		"yaml_depth": {head + "  raw: " + strings.Repeat("[", 100000), "malformed YAML: exceeded max depth of 10000\n"},
		"encoding":   {head + "  name: \xff", "web.yaml:5:9: got bytes that are not UTF-8 text\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			documents, problems := tree.Read("web.yaml", []byte(test.data))
			if got := report(problems); !strings.HasSuffix(got, test.want) || len(documents) > 0 {
				t.Errorf("got %d documents and the problems %.2000s, want %q as the last problem", len(documents), got, test.want)
			}
		})
	}
}

// TestReadPositions compares the positions of keys and values in two documents of one file.
func TestReadPositions(t *testing.T) {
	t.Parallel()
	documents, problems := tree.Read("web.yaml", []byte("# a comment\n---\nspec:\n  tags: [web, prod]\n---\n# an empty document\n---\nwave: 3\n"))
	if len(documents) != 2 || len(problems) > 0 {
		t.Fatalf("got %d documents and %v, want 2 without problems", len(documents), problems)
	}
	tags := documents[0].Get("spec").Get("tags")
	got := []string{tags.Key.String(), tags.At.String(), tags.Items[1].At.String(), documents[1].Get("wave").At.String(), documents[1].At.String()}
	want := []string{"web.yaml:4:3", "web.yaml:4:9", "web.yaml:4:15", "web.yaml:8:7", "web.yaml:8:1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("got other positions (-want +got):\n%s", diff)
	}
	if documents[0].Get("wave") != nil || tags.Get("wave") != nil || (tree.Position{}).String() != "" {
		t.Error("got a value or a position that is not in the file")
	}
}

func TestNodeJSONAndDescribe(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ yaml, json, describe string }{
		"mapping": {"{a: 1}", "{}", "a mapping"},
		"list":    {"[1]", "[]", "a list"},
		"integer": {"12", "12", "12"},
		"octal":   {"0o14", `"0o14"`, "0o14"},
		"float":   {"1.5", "1.5", "1.5"},
		"truth":   {"True", "true", "True"},
		"null":    {"~", `"~"`, "nothing"},
		"text":    {"web", `"web"`, `"web"`},
		"long":    {strings.Repeat("x", 61), `"` + strings.Repeat("x", 61) + `"`, `"` + strings.Repeat("x", 60) + `..."`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			documents, _ := tree.Read("web.yaml", []byte("value: "+test.yaml))
			n := documents[0].Get("value")
			if got := string(n.JSON()); got != test.json {
				t.Errorf("got JSON %s, want %s", got, test.json)
			}
			if got := n.Describe(); got != test.describe {
				t.Errorf("got %s in a message, want %s", got, test.describe)
			}
		})
	}
}

func TestNodeEqual(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		a, b string
		want bool
	}{
		"same":             {"{a: 1, b: [x, y]}", "{a: 1, b: [x, y]}", true},
		"order_of_entries": {"{a: 1, b: 2}", "{b: 2, a: 1}", true},
		"order_of_items":   {"[x, y]", "[y, x]", false},
		"other_tag":        {"1", `"1"`, false},
		"other_value":      {"{a: 1}", "{a: 2}", false},
		"other_name":       {"{a: 1}", "{b: 1}", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, _ := tree.Read("a.yaml", []byte(test.a))
			b, _ := tree.Read("b.yaml", []byte(test.b))
			if got := a[0].Equal(b[0]); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// FuzzRead holds that every value of a document has a position in the file and lies within the limits.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{"a: 1\n---\nb: [x, {c: ~}]\n", "a: &x {b: *x}\n<<: *x\n", "? {a: b}\n: c\n", "a:\n\tb: 1\n", "a: \"never\nb: 1\n", "a: \xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		documents, problems := tree.Read("a.yaml", data)
		for _, p := range problems {
			if p.At.Line < 1 || p.At.Column < 1 || p.Message == "" {
				t.Errorf("got the problem %+v, want a position and a message", p)
			}
		}
		for _, n := range documents {
			if n.IsNull() {
				t.Error("got an empty document")
			}
			if values := walk(t, n, 0); values > 50000 {
				t.Errorf("got %d values in a document, want at most 50000", values)
			}
		}
	})
}

// walk checks the positions at and below a node, and returns how many values there are.
func walk(t *testing.T, n *tree.Node, depth int) int {
	t.Helper()
	if n.At.Line < 1 || n.At.Column < 1 || n.Key.Line < 1 || depth > 24 {
		t.Errorf("got %+v at depth %d, want a position and a depth of at most 24", n, depth)
	}
	values := 1
	for _, e := range n.Entries {
		values += walk(t, e.Value, depth+1)
	}
	for _, item := range n.Items {
		values += walk(t, item, depth+1)
	}
	return values
}
