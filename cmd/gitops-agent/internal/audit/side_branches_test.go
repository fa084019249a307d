package audit

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"gitops-agent/gitsource"
)

// graph is a repository of unsigned commits with names.
type graph struct {
	*testing.T
	dir, tree string
	ids       map[string]gitsource.ID
}

func newGraph(t *testing.T) graph {
	t.Helper()
	g := graph{t, t.TempDir(), "", map[string]gitsource.ID{}}
	g.git("", "init", "-q", "--bare", "--initial-branch=main", ".")
	g.tree = g.git("", "hash-object", "-t", "tree", "-w", "--stdin")
	return g
}

func (g graph) git(stdin string, args ...string) string {
	g.Helper()
	cmd := exec.CommandContext(g.Context(), "git", args...)
	cmd.Dir, cmd.Stdin = g.dir, strings.NewReader(stdin)
	out, err := cmd.Output()
	if err != nil {
		g.Fatalf("git %v: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// add makes a commit at a time, in seconds, with named parents.
func (g graph) add(name string, at int, parents ...string) {
	g.Helper()
	text := &strings.Builder{}
	fmt.Fprintf(text, "tree %s\n", g.tree)
	for _, p := range parents {
		fmt.Fprintf(text, "parent %s\n", g.ids[p])
	}
	fmt.Fprintf(text, "author A <a@lab.test> %d +0000\ncommitter A <a@lab.test> %d +0000\n\n%s\n", at, at, name)
	g.ids[name] = gitsource.ID(g.git(text.String(), "hash-object", "-t", "commit", "-w", "--stdin"))
}

// The commits of side branches are those that the merges of a range bring in. Each is found once, with the oldest merge that brings it in.
func TestSideBranches(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	g.add("root", 1)
	g.add("old", 2, "root") // of a side branch below the floor
	g.add("a", 3, "root", "old")
	g.add("b", 4, "a")       // the floor
	g.add("x1", 5, "a")      // begins below the floor
	g.add("x2", 6, "x1")     //
	g.add("c", 7, "b", "x2") // the first merge
	g.add("x3", 8, "x2")
	g.add("y1", 1, "c") // claims a time long ago
	g.add("z", 9)       // another root
	g.add("d", 10, "c", "x3", "z")
	g.add("e", 11, "d", "y1", "b", "old")
	repo, err := gitsource.OpenRepository(g.dir)
	if err != nil {
		t.Fatal(err)
	}
	all := []merge{
		{g.ids["c"], []gitsource.ID{g.ids["x2"]}},
		{g.ids["d"], []gitsource.ID{g.ids["x3"], g.ids["z"]}},
		{g.ids["e"], []gitsource.ID{g.ids["y1"], g.ids["b"], g.ids["old"]}},
	}
	path := []gitsource.ID{g.ids["c"], g.ids["d"], g.ids["e"]}
	for floor, want := range map[string][]string{
		"b": {"x1 c", "x2 c", "x3 d", "z d", "y1 e"},
		"":  {"old a", "x1 c", "x2 c", "x3 d", "z d", "y1 e"},
	} {
		way, merges := path, all
		if floor == "" {
			way = append([]gitsource.ID{g.ids["root"], g.ids["a"], g.ids["b"]}, path...)
			merges = append([]merge{{g.ids["a"], []gitsource.ID{g.ids["old"]}}}, all...)
		}
		side, complete, err := auditor{repo: repo}.sideBranches(t.Context(), g.ids[floor], way, merges)
		var got []string
		for _, s := range side {
			got = append(got, g.name(s.id)+" "+g.name(s.merge))
		}
		if err != nil || !complete || !slices.Equal(got, want) {
			t.Errorf("floor %q: got %q, %t and %v, want %q", floor, got, complete, err, want)
		}
	}
	if side, complete, err := (auditor{repo: repo}).sideBranches(t.Context(), "", path, []merge{{g.ids["c"], []gitsource.ID{"0123456789012345678901234567890123456789"}}}); err != nil || len(side) != 1 || !complete {
		t.Errorf("missing commit: got %v, %t and %v, want it counted", side, complete, err)
	}
}

func (g graph) name(id gitsource.ID) string {
	for name, other := range g.ids {
		if other == id {
			return name
		}
	}
	return string(id)
}
