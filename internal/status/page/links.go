package page

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

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
	host   string // scheme, host and port of the web interface of Proxmox, "" if it is unknown
}

// commitLink is a commit with the address of its page at the forge.
type commitLink struct{ Short, Full, Href string }

// guestLink is a guest with the address of its page.
type guestLink struct{ Label, Href string }

func newLinks(r report.Report, given Links, root string) links {
	l := links{root: root, given: given, guests: make(map[string]string, len(r.Guests))}
	for _, g := range r.Guests {
		l.guests[g.Label()] = root + guestPath(g.GuestName)
	}
	l.forge = forgeURL(r.Source.Remote)
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

// sshHosts are hosts that serve ssh on the port of https for forges with another name.
var sshHosts = map[string]string{"ssh.github.com": "github.com", "altssh.gitlab.com": "gitlab.com", "altssh.bitbucket.org": "bitbucket.org"}

// forgeURL returns the web address of a repository that a remote names: forges show it at the same host and path as they serve it. It is "" for a
// remote that no forge serves.
func forgeURL(remote string) string {
	if !strings.Contains(remote, "://") { // user@host:path, or host:path
		host, path, found := strings.Cut(remote, ":")
		if !found || strings.Contains(host, "/") {
			return ""
		}
		host = host[strings.LastIndex(host, "@")+1:]
		remote = "ssh://" + host + "/" + strings.TrimPrefix(path, "/")
	}
	u, err := url.Parse(remote)
	if err != nil || u.Host == "" {
		return ""
	}
	web := url.URL{Scheme: "https", Host: u.Host, Path: strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), ".git")}
	switch u.Scheme {
	case "https", "http":
		web.Scheme = u.Scheme
	case "ssh", "git+ssh":
		web.Host = u.Hostname()
		if name, found := sshHosts[web.Host]; found {
			web.Host = name
		}
	default:
		return ""
	}
	return web.String()
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
