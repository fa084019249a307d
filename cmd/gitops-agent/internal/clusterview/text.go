package clusterview

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"gitops-agent/internal/shell"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/preflight"
)

// maxCauses is the number of causes that a text names; -o json names all.
const maxCauses = 3

// WriteText prints the result of the check of a cluster.
func (d *Document) WriteText(out io.Writer, cluster string) {
	textPrinter{out, term.NewPalette(out)}.write(cluster, d)
}

// textPrinter prints a Document.
type textPrinter struct {
	out io.Writer
	p   term.Palette
}

func (t textPrinter) write(cluster string, d *Document) {
	about := "without manifests"
	if d.Basis != "" {
		about = d.description + ", " + term.Count(d.Guests, "guest")
	}
	t.line("", "")
	t.line("", t.p.Paint(term.Bold, "Cluster "+term.Printable(cluster))+", "+term.Printable(about))
	for _, c := range d.Checks {
		t.writeCheck(c)
	}
	t.writeLacks(d)
	t.writeRootOnly(d.RootOnly)
	t.writeGrants(d)
	if d.Good() {
		t.line("  ", t.p.Paint(term.Green, "ok  ")+"  token "+term.Printable(d.Token)+" has every privilege that is needed")
	}
}

func (t textPrinter) line(indent, text string) { _, _ = fmt.Fprintln(t.out, indent+text) }

func (t textPrinter) writeCheck(c checkView) {
	word := t.p.Paint(term.Green, "ok  ")
	switch {
	case c.Warning:
		word = t.p.Paint(term.Yellow, "warn")
	case c.Unchecked:
		word = t.p.Paint(term.Yellow, "skip")
	case !c.Good:
		word = t.p.Paint(term.Red, "FAIL")
	}
	t.line("  ", word+"  "+term.Printable(c.Check+term.Prefixed(" ", c.Subject)+term.Prefixed(": ", c.Message)))
	if c.Hint != "" {
		t.line("          ", term.Printable(c.Hint))
	}
	if !c.Good || c.Warning {
		for _, cause := range shortCauses(c.For) {
			t.line("          ", "for "+term.Printable(cause))
		}
	}
}

func (t textPrinter) writeLacks(d *Document) {
	if len(d.Lacks) == 0 {
		return
	}
	t.line("\n", t.p.Paint(term.Red, "The token "+term.Printable(d.Token)+" lacks:"))
	rows := term.Table{Indent: "  "}
	rows.AddText("PATH", "PRIVILEGE", "NEEDED FOR")
	for _, l := range folded(d.Lacks) {
		path, privilege := l.Path+term.Prefixed(" or ", l.OrPath), l.Privilege+term.Prefixed(" or ", l.Or)
		for _, cause := range shortCauses(l.For) {
			rows.AddText(path, privilege, cause)
			path, privilege = "", ""
		}
	}
	rows.Write(t.out, t.p)
}

// folded merges the missing privileges that the same grant provides: for a hundred guests, one line with "/vms/*".
func folded(lacks []lackView) []lackView {
	var list []lackView
	for _, l := range lacks {
		i := slices.IndexFunc(list, func(other lackView) bool {
			return other.Entry == l.Entry && other.Privilege == l.Privilege && other.Or == l.Or
		})
		if i < 0 {
			if l.Path == "/vms" { // of a guest that has no vmid yet
				l.Path += "/*"
			}
			list = append(list, l)
			continue
		}
		first := &list[i]
		first.Path, first.For = l.Entry+"/*", slices.Concat(first.For, l.For)
		if first.OrPath != l.OrPath {
			first.OrPath = ""
		}
	}
	return list
}

func (t textPrinter) writeRootOnly(keys []preflight.Cause) {
	if len(keys) == 0 {
		return
	}
	t.line("\n", t.p.Paint(term.Red, "No token may set these keys, only root@pam itself:"))
	for _, k := range keys {
		t.line("  ", term.Printable(k.String()))
	}
	t.line("  ", "remove them from the manifests and set them on the node, with qm set or pct set")
}

func (t textPrinter) writeGrants(d *Document) {
	if len(d.Grants) == 0 {
		return
	}
	user, _, _ := strings.Cut(d.Token, "!")
	t.line("\n", "These commands grant the privileges; run them on a node. A role replaces the privileges that its path inherits, so each role repeats those that the token has there:")
	for _, g := range d.Grants {
		for _, command := range g.Commands {
			t.line("  ", term.Printable(command))
		}
	}
	t.line("", term.Printable("These commands are for a token with privilege separation, whose privileges are those that both the token and its user have. For a token without it (see pveum user token list "+user+
		"), write --users "+user+" instead of --tokens "+shell.Word(d.Token)+"."))
}

// shortCauses returns the first causes, and the number of the others.
func shortCauses(causes []preflight.Cause) []string {
	var list []string
	for i, c := range causes {
		if i == maxCauses {
			return append(list, fmt.Sprintf("and %d more", len(causes)-i))
		}
		list = append(list, c.String())
	}
	return list
}
