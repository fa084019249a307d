package page

import (
	"html/template"

	"gitops-agent/reconcile/report"
)

// frame is what surrounds the content of every page.
type frame struct {
	Input

	Root       string // relative path to the overview: "", "../" or "../../"
	Here       string // the page: overview, guest or graph
	Title      string
	TitleTone  tone
	ReportedAt timeView
	Resume     string // relative address of the same page, updating
	Pause      string // relative address of the same page, not updating
	links      links
}

func newFrame(in Input, root, here string) frame {
	f := frame{Input: in, Root: root, Here: here, ReportedAt: timeView{in.Report.Time, in.Now}, TitleTone: idle, links: newLinks(in, root)}
	values := in.Selection.Values()
	f.Resume = "?" + values.Encode()
	values.Set("refresh", "off")
	f.Pause = "?" + values.Encode()
	return f
}

// Style returns the style sheet.
func (frame) Style() template.CSS {
	return template.CSS(pageStyle) //nolint:gosec // a file of this folder, not input
}

// Refresh returns the seconds between reloads by a browser without scripts, 0 for none.
func (f frame) Refresh() int {
	if f.Paused {
		return 0
	}
	return refreshEvery
}

// HeadTone returns the colour of the dot before the cluster's name.
func (f frame) HeadTone() tone { return f.TitleTone }

// ApproveCommand returns the command that approves a step of the cluster.
func (frame) ApproveCommand(digest string) string { return approveCommand(digest) }

// Commit returns the commit of a revision, with its address at the forge.
func (f frame) Commit(revision string) commitLink { return f.links.commit(revision) }

// Proxmox returns the address of a guest in the web interface of Proxmox, "" if it is unknown.
func (f frame) Proxmox(g report.Guest) string { return f.links.proxmox(g) }
