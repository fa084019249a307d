package pvesim

import (
	"net/http"
	"strings"
	"sync"
)

// route is one method on one path. Exactly one of read and write is set: read runs with the state locked; write takes the locks that it
// needs itself, because it may wait.
type route struct {
	method, path string
	permission   func(*call) error // the check that the schema of the real API declares; runs before the check of the parameters
	schema       *schema
	pathRules    map[string]rule             // of the path's variables, which are parameters of the real API
	verify       func(*schema, values) error // default: schema.verify
	read, write  func(*call) (reply, error)
	rootRead     bool   // a read that a root worker runs
	unproxied    bool   // answered by the node that receives the call, not by the node of the path
	label        string // method and path, as in Counters
}

// routeNode is one path segment in the tree of routes.
type routeNode struct {
	children map[string]*routeNode
	variable *routeNode
	name     string // of the variable
	methods  map[string]*route
}

var noParams = params(nil)

// allRoutes are those of every Sim. They do not change.
var allRoutes = sync.OnceValue(newRoutes)

func newRoutes() *routeNode {
	root := &routeNode{}
	for _, list := range [][]*route{clusterRoutes(), haRoutes(), haGroupRoutes(), haRuleRoutes(), backupRoutes(), backupJobRoutes(), poolRoutes(), nodeRoutes(), storageRoutes(), replicationRoutes(), taskRoutes(), qemuRoutes(), agentRoutes(), cloudInitRoutes(), lxcRoutes(), migrateRoutes(), firewallRoutes()} {
		for _, r := range list {
			root.add(r)
		}
	}
	return root
}

func (n *routeNode) add(r *route) {
	r.label = r.method + " " + r.path
	if r.schema == nil {
		r.schema = noParams
	}
	for seg := range strings.SplitSeq(strings.Trim(r.path, "/"), "/") {
		n = n.child(seg)
	}
	if n.methods == nil {
		n.methods = map[string]*route{}
	}
	n.methods[r.method] = r
}

func (n *routeNode) child(seg string) *routeNode {
	if seg == "" {
		return n
	}
	if name, ok := strings.CutPrefix(seg, "{"); ok {
		if n.variable == nil {
			n.variable = &routeNode{name: strings.TrimSuffix(name, "}")}
		}
		return n.variable
	}
	if n.children == nil {
		n.children = map[string]*routeNode{}
	}
	if n.children[seg] == nil {
		n.children[seg] = &routeNode{}
	}
	return n.children[seg]
}

// find returns the route of a call, or nil, and the values of the path's variables.
func (n *routeNode) find(method string, segments []string) (*route, values) {
	vars := values{}
	for i, seg := range segments {
		switch next := n.children[seg]; {
		case next != nil:
			n = next
		case n.variable != nil && (n.variable.name == "volume" || n.variable.name == "cidr"): // may contain a slash
			vars[n.variable.name] = strings.Join(segments[i:], "/")
			return n.variable.methods[method], vars
		case n.variable != nil:
			n = n.variable
			vars[n.name] = seg
		default:
			return nil, vars
		}
	}
	return n.methods[method], vars
}

func readRoute(path string, f func(*call) (reply, error)) *route {
	return &route{method: http.MethodGet, path: path, read: f}
}

func writeRoute(method, path string, f func(*call) (reply, error)) *route {
	return &route{method: method, path: path, write: f}
}

func (r *route) withParams(rules map[string]rule) *route {
	r.schema = params(rules)
	return r
}

// withPathParams checks variables of the path.
func (r *route) withPathParams(rules map[string]rule) *route {
	r.pathRules = rules
	return r
}

func (r *route) withSchema(s *schema, verify func(*schema, values) error) *route {
	r.schema, r.verify = s, verify
	return r
}

func (r *route) withPermission(f func(*call) error) *route {
	r.permission = f
	return r
}

// withGuestPrivilege requires privileges on the guest of the path.
func (r *route) withGuestPrivilege(privileges ...string) *route {
	return r.withPermission(func(c *call) error { return c.require("/vms/"+c.vars["vmid"], privileges...) })
}

// withoutProxy marks a call that is not forwarded to the node of its path.
func (r *route) withoutProxy() *route {
	r.unproxied = true
	return r
}

// indexRoute returns the route of a directory call.
func indexRoute(path, key string, names ...string) *route {
	body := subdirs(key, names...)
	return readRoute(path, func(*call) (reply, error) { return dataReply(body) })
}
