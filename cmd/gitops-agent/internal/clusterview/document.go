package clusterview

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/internal/shell"

	"gitops-agent/reconcile/preflight"
)

// A Document is the result of the check of a cluster.
type Document struct {
	Basis    string            `json:"basis,omitempty"` // "" without manifests
	Revision string            `json:"revision,omitempty"`
	Guests   int               `json:"guests"`
	Token    string            `json:"token"` // user@realm!name
	Checks   []checkView       `json:"checks"`
	Lacks    []lackView        `json:"lacks"`    // privileges that the token does not have
	RootOnly []preflight.Cause `json:"rootOnly"` // keys that no token may write
	Grants   []grantView       `json:"grants"`   // commands that would grant the missing privileges

	description string // of the manifests
}

// Good reports whether the cluster fits the config and the manifests. Skipped checks count as not good.
func (d *Document) Good() bool {
	bad := func(c checkView) bool { return !c.Good }
	return !slices.ContainsFunc(d.Checks, bad) && len(d.Lacks) == 0 && len(d.RootOnly) == 0
}

// checkView is the result of one check.
type checkView struct {
	Check     string            `json:"check"`             // remote, anchor, tip, endpoint, quorum, permissions, nodes, storages, guests, node, storage, template, bridge, volume, cpu, tags, secret
	Subject   string            `json:"subject,omitempty"` // its address or name
	Good      bool              `json:"good"`
	Warning   bool              `json:"warning,omitempty"`   // good, but a person should look
	Unchecked bool              `json:"unchecked,omitempty"` // not good, but possibly not bad: it could not be read
	Message   string            `json:"message,omitempty"`
	Hint      string            `json:"hint,omitempty"`
	For       []preflight.Cause `json:"for,omitempty"`
}

// lackView is a privilege that the token does not have.
type lackView struct {
	Path      string            `json:"path"`
	Privilege string            `json:"privilege"`
	Or        string            `json:"or,omitempty"`     // another sufficient privilege
	OrPath    string            `json:"orPath,omitempty"` // another sufficient path
	Entry     string            `json:"entry"`            // path of the grant that provides it
	For       []preflight.Cause `json:"for"`
}

// grantView is an entry of the access control list, with the commands that create it.
type grantView struct {
	Path       string   `json:"path"`
	Role       string   `json:"role"`
	Privileges []string `json:"privileges"`
	Propagate  bool     `json:"propagate"`
	Commands   []string `json:"commands"`
}

// newGrantViews names a role for each set of privileges and kind of object. The first grant that uses a role also creates it.
func newGrantViews(grants []preflight.Grant, token string) []grantView {
	views := make([]grantView, 0, len(grants))
	roles := map[string]string{}
	used := map[string]int{}
	for _, g := range grants {
		v := grantView{Path: g.Path, Privileges: g.Privileges, Propagate: g.Propagate}
		kind, privileges := kindOf(g.Path), strings.Join(g.Privileges, " ")
		role, made := roles[kind+" "+privileges]
		if !made {
			role = "gitops-agent-" + kind
			if used[kind]++; used[kind] > 1 {
				role += "-" + strconv.Itoa(used[kind])
			}
			roles[kind+" "+privileges] = role
			add, more := "pveum role add "+role+" --privs "+shell.Word(privileges), "pveum role modify "+role+" --append 1 --privs "+shell.Word(privileges)
			v.Commands = append(v.Commands, add+" || "+more)
		}
		entry := "pveum acl modify " + shell.Word(g.Path) + " --tokens " + shell.Word(token) + " --roles " + role
		if !g.Propagate {
			entry += " --propagate 0"
		}
		v.Role, v.Commands = role, append(v.Commands, entry)
		views = append(views, v)
	}
	return views
}

// kindOf returns the kind of object that a path names: "vms", "storage", "cluster".
func kindOf(path string) string {
	kind, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return cmp.Or(kind, "cluster")
}
