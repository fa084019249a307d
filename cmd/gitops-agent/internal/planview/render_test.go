package planview

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

var update = flag.Bool("update", false, "rewrite the golden files and the outputs in docs")

// checkGolden compares text with a file of testdata, which -update rewrites.
func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// renderings returns the fixture in every form.
func renderings(t *testing.T) map[string]string {
	t.Helper()
	d := fixtureDocument()
	var wide, narrow, coloured, markdown, document bytes.Buffer
	textPrinter{out: &wide, width: term.DefaultWidth}.write(d)
	textPrinter{out: &narrow, width: 72, wraps: true}.write(d)
	textPrinter{out: &coloured, Palette: term.Palette{On: true}, width: term.DefaultWidth}.write(d)
	if err := WriteMarkdown(&markdown, d); err != nil {
		t.Fatal(err)
	}
	if err := term.WriteJSON(&document, d); err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"all.txt": wide.String(), "narrow.txt": narrow.String(), "colour.txt": coloured.String(), "all.md": markdown.String(), "all.json": document.String(),
	}
}

func TestPlanRendering(t *testing.T) {
	t.Parallel()
	for name, text := range renderings(t) {
		checkGolden(t, name, text)
	}
}

// No form of a plan contains a secret, even if the planner does not hide it.
func TestPlanShowsNoSecret(t *testing.T) {
	t.Parallel()
	for name, text := range renderings(t) {
		for _, secret := range []string{"hunter2", "correct horse", "plain text that must not show"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s: got %q, want it concealed", name, secret)
			}
		}
		if !strings.Contains(strings.ReplaceAll(text, `\*`, "*"), report.Concealed) {
			t.Errorf("%s: got no %s, want the change without its value", name, report.Concealed)
		}
	}
}

// On a narrow terminal no line is wider than the terminal, unless a word is: commands to copy are not broken.
func TestNarrowPlanFits(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(renderings(t)["narrow.txt"]) {
		line = strings.TrimRight(line, "\n")
		if utf8.RuneCountInString(line) > 72 && len(strings.Fields(line)) > 4 {
			t.Errorf("got %d runes, want at most 72: %s", utf8.RuneCountInString(line), line)
		}
	}
}

func TestChangeValuesShowDifferingParts(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ key, from, to, wantFrom, wantTo string }{
		"one_part":  {"net0", "virtio=MAC,bridge=vmbr0", "virtio=MAC,bridge=vmbr1", "…,bridge=vmbr0", "…,bridge=vmbr1"},
		"added":     {"net0", "virtio=MAC,bridge=vmbr0", "virtio=MAC,bridge=vmbr0,tag=5", "…", "…,tag=5"},
		"plain":     {"memory", "2048", "4096", "2048", "4096"},
		"tags":      {"tags", "a;b", "a;c", "…;b", "…;c"},
		"reordered": {"boot", "a,b", "b,a", "a,b", "b,a"},
		"unset":     {"net1", "virtio=MAC,bridge=vmbr0", "", "virtio=MAC,bridge=vmbr0", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			from, to := changeView{report.Change{Key: test.key, From: test.from, To: test.to}}.values()
			if from != test.wantFrom || to != test.wantTo {
				t.Errorf("got %q → %q, want %q → %q", from, to, test.wantFrom, test.wantTo)
			}
		})
	}
}

// A comment has an upper bound for every plan. It reports omitted sections, and no section is cut in the middle.
func TestMarkdownIsBounded(t *testing.T) {
	t.Parallel()
	d := Document{Cluster: "home", Basis: BasisWorkingCopy, Revision: "."}
	for i := range 400 {
		p := busyMachine()
		p.plan.Ref.VMID = 1000 + i
		p.plan.Changes = append(p.plan.Changes, guest.Change{Key: "cicustom", From: "x", To: strings.Repeat("long ", 2000), Class: guest.Live})
		d.add(newGuestView(p.plan, func(plan.Step) gate.Verdict { return gate.Verdict{} }))
	}
	var out bytes.Buffer
	if err := WriteMarkdown(&out, d); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if got := len(text); got > 65_536 {
		t.Errorf("got %d bytes, want at most 65536", got)
	}
	if open, closed := strings.Count(text, "<details>"), strings.Count(text, "</details>"); open != closed || open == 0 {
		t.Errorf("got %d sections opened and %d closed, want as many", open, closed)
	}
	for _, want := range []string{"| | and 250 more | | |", "The details of ", "Plan: 0 to create, 400 to change"} {
		if !strings.Contains(text, want) {
			t.Errorf("got no %q in the comment", want)
		}
	}
}

func TestCreation(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		call cluster.Call
		want string
	}{
		"full_clone":   {cluster.Call{CloneOf: 9000, Params: map[string]string{"full": "1"}}, "full clone of 9000"},
		"linked_clone": {cluster.Call{CloneOf: 9000, Params: map[string]string{"full": "0", "snapname": "clean"}}, "linked clone of 9000 at snapshot clean"},
		"image":        {cluster.Call{Params: map[string]string{"scsi0": "local-lvm:0,import-from=local:import/a.qcow2,discard=on"}}, "from image local:import/a.qcow2"},
		"iso":          {cluster.Call{Params: map[string]string{"scsi0": "local-lvm:8", "ide2": "local:iso/a.iso,media=cdrom"}}, "with empty disks and local:iso/a.iso"},
		"template":     {cluster.Call{Params: map[string]string{"ostemplate": "local:vztmpl/a.tar.zst"}}, "from template local:vztmpl/a.tar.zst"},
		"backup":       {cluster.Call{Params: map[string]string{"archive": "pbs:backup/vm/201/2026"}}, "restored from pbs:backup/vm/201/2026"},
		"restored_ct":  {cluster.Call{Params: map[string]string{"ostemplate": "pbs:backup/ct/211/2026", "restore": "1"}}, "restored from pbs:backup/ct/211/2026"},
		"blank":        {cluster.Call{Params: map[string]string{"scsi0": "local-lvm:8"}}, "from nothing"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := creation(plan.Step{Op: cluster.OpCreate, Calls: []cluster.Call{test.call}})
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
