package page

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"gitops-agent/internal/forge"
	"gitops-agent/internal/status/words"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/report"
)

// links makes the addresses that a page links to.
type links struct {
	root   string
	forge  string // address of the repository at the forge, "" if it is unknown
	path   string // from there to a commit
	given  Links
	guests map[string]string
	target string // value of the trailer Gitops-Target that commits need, "" if they need none
	host   string // scheme, host and port of the web interface of Proxmox, "" if it is unknown
}

// commitLink is a commit with the address of its page at the forge.
type commitLink struct{ Short, Full, Href string }

// guestLink is a guest with the address of its page.
type guestLink struct{ Label, Href string }

// taskLink is a task of Proxmox with the address of its log.
type taskLink struct{ UPID, Href string }

func newLinks(in Input, root string) links {
	r, given := in.Report, in.Links
	l := links{root: root, given: given, target: in.Target, guests: make(map[string]string, len(r.Guests))}
	for _, g := range r.Guests {
		l.guests[g.Label()] = root + guestPath(g.GuestName)
	}
	l.forge = forge.WebURL(r.Source.Remote)
	l.path = "/commit/"
	switch {
	case strings.Contains(l.forge, "gitlab"):
		l.path = "/-/commit/"
	case strings.HasPrefix(l.forge, "https://bitbucket.org/"):
		l.path = "/commits/"
	}
	for _, e := range r.Proxmox.Endpoints {
		if l.host == "" || e.Current {
			l.host = "https://" + e.Address
		}
	}
	l.host = strings.TrimSuffix(cmp.Or(given.Proxmox, l.host), "/")
	return l
}

// guestPath returns the path of a guest's page below the overview.
func guestPath(g report.GuestName) string {
	if g.VMID != 0 {
		return fmt.Sprintf("guests/%d", g.VMID)
	}
	return "guests/" + url.PathEscape(string(g.Kind)) + "/" + url.PathEscape(g.Name)
}

// guest returns the link of a label. A guest that is not in the report has no page.
func (l links) guest(label string) guestLink { return guestLink{label, l.guests[label]} }

func (l links) guestsOf(labels []string) []guestLink {
	var list []guestLink
	for _, label := range labels {
		list = append(list, l.guest(label))
	}
	return list
}

// commit returns the link of a commit, or of the commit of a revision.
func (l links) commit(revision string) commitLink {
	id := revision[strings.LastIndex(revision, ":")+1:]
	c := commitLink{Short: words.ShortID(id), Full: revision}
	switch isID := id != "" && strings.Trim(id, "0123456789abcdef") == ""; {
	case isID && l.given.Commit != "":
		c.Href = strings.ReplaceAll(l.given.Commit, "{commit}", id)
	case isID && l.forge != "":
		c.Href = l.forge + l.path + id
	}
	return c
}

// task returns the link of a task. Proxmox's web interface has no address for one, but its API sends the log to a browser that is logged in.
func (l links) task(upid string) taskLink {
	t := taskLink{UPID: upid}
	if parts := strings.Split(upid, ":"); l.host != "" && len(parts) > 2 && parts[0] == "UPID" {
		t.Href = fmt.Sprintf("%s/api2/json/nodes/%s/tasks/%s/log?download=1", l.host, url.PathEscape(parts[1]), url.PathEscape(upid))
	}
	return t
}

func (l links) proxmox(g report.Guest) string {
	if l.host == "" || g.VMID == 0 || g.Status == "" {
		return ""
	}
	kind := "qemu"
	if g.Kind == guest.Container {
		kind = "lxc"
	}
	return fmt.Sprintf("%s/#v1:0:=%s%%2F%d:4::::::", l.host, kind, g.VMID)
}
