package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/planview"
	"gitops-agent/cmd/gitops-agent/internal/term"
)

// maxCauses is how many of those who need something a text names; -o json names all.
const maxCauses = 3

// writeConfigText prints a check of the config and, where it was asked, of the cluster.
func writeConfigText(out io.Writer, d configDocument, facts [][2]string) {
	p := term.NewPalette(out)
	_, _ = fmt.Fprintf(out, "%s: good\n", d.Config)
	t := term.Table{Indent: "  "}
	for _, f := range facts {
		t.AddText(f[0], f[1])
	}
	t.Write(out, p)
	if d.ClusterCheck != nil {
		clusterText{out, p}.write(d.Cluster, d.ClusterCheck)
	}
}

// clusterText prints what a cluster said.
type clusterText struct {
	out io.Writer
	p   term.Palette
}

func (t clusterText) write(cluster string, d *clusterDocument) {
	about := "without manifests"
	if d.Basis != "" {
		about = planview.Subject{Basis: d.Basis, Revision: d.Revision}.Description() + ", " + term.Count(d.Guests, "guest")
	}
	t.line("", "")
	t.line("", t.p.Paint(term.Bold, "Cluster "+term.Printable(cluster))+", "+term.Printable(about))
	for _, c := range d.Checks {
		t.writeCheck(c)
	}
	t.writeLacks(d)
	t.writeRootOnly(d.RootOnly)
	t.writeGrants(d)
	if d.good() {
		t.line("  ", t.p.Paint(term.Green, "ok  ")+"  token "+term.Printable(d.Token)+" may do everything that is asked for")
	}
}

func (t clusterText) line(indent, text string) { _, _ = fmt.Fprintln(t.out, indent+text) }

func (t clusterText) writeCheck(c checkView) {
	word := t.p.Paint(term.Green, "ok  ")
	switch {
	case c.Unchecked:
		word = t.p.Paint(term.Yellow, "skip")
	case !c.Good:
		word = t.p.Paint(term.Red, "FAIL")
	}
	t.line("  ", word+"  "+term.Printable(c.Check+term.Prefixed(" ", c.Subject)+term.Prefixed(": ", c.Message)))
	if c.Hint != "" {
		t.line("          ", term.Printable(c.Hint))
	}
	if !c.Good {
		for _, cause := range shortCauses(c.For) {
			t.line("          ", "for "+term.Printable(cause))
		}
	}
}

func (t clusterText) writeLacks(d *clusterDocument) {
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

// folded makes one of the lacks that one entry ends: of a hundred guests, one line says "/vms/*".
func folded(lacks []lackView) []lackView {
	var list []lackView
	for _, l := range lacks {
		i := slices.IndexFunc(list, func(other lackView) bool {
			return other.Entry == l.Entry && other.Privilege == l.Privilege && other.Or == l.Or
		})
		if i < 0 {
			if l.Path == "/vms" { // a guest without a vmid, whatever it will be
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

func (t clusterText) writeRootOnly(keys []causeView) {
	if len(keys) == 0 {
		return
	}
	t.line("\n", t.p.Paint(term.Red, "No token may set these keys, only root@pam itself:"))
	for _, k := range keys {
		t.line("  ", term.Printable(k.String()))
	}
	t.line("  ", "take them out of the manifests and set them on the node, with qm set or pct set")
}

func (t clusterText) writeGrants(d *clusterDocument) {
	if len(d.Grants) == 0 {
		return
	}
	user, _, _ := strings.Cut(d.Token, "!")
	t.line("\n", "This would grant it, typed on a node. A role replaces what its path inherits, so each names again what the token has there:")
	for _, g := range d.Grants {
		for _, command := range g.Commands {
			t.line("  ", term.Printable(command))
		}
	}
	t.line("", term.Printable("This is for a token with privilege separation, which has what both it and its user have. For one without (pveum user token list "+user+
		" says), write --users "+user+" in place of --tokens "+shellWord(d.Token)+"."))
}

// shortCauses names the first of those who need something, and counts the rest.
func shortCauses(causes []causeView) []string {
	var list []string
	for i, c := range causes {
		if i == maxCauses {
			return append(list, fmt.Sprintf("and %d more", len(causes)-i))
		}
		list = append(list, c.String())
	}
	return list
}
