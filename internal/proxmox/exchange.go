package proxmox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"gitops-agent/reconcile/guest"
)

// exchange is one request and its reply on their way through the library, which hands the context on and nothing else. The
// transport keeps the reply's bytes here, so that they are decoded once, by whoever knows what they are.
type exchange struct {
	method string
	route  string  // closed set of labels: a path with its variables named
	path   string  // below /api2/json, escaped
	node   string  // whose workers it keeps busy; "" is whichever node answers
	about  address // the guest that the reply speaks of; zero where there is none
	raw    bool    // the caller decodes reply; the library reads an empty body
	reply  string  // of status 200
	done   bool    // reply is whole

	secrets []string // among the parameters, to be kept out of errors
}

type exchangeKey struct{}

func withExchange(ctx context.Context, x *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// exchangeOf returns the exchange that a request belongs to; one of its own where a typed call of the library made it.
func exchangeOf(req *http.Request) *exchange {
	if x, ok := req.Context().Value(exchangeKey{}).(*exchange); ok {
		return x
	}
	return &exchange{method: req.Method, route: routeOther, path: req.URL.Path}
}

// writes reports whether the exchange may change the cluster.
func (x *exchange) writes() bool { return x.method != http.MethodGet }

// Routes, as labels of metrics.
const (
	routeVersion     = "/version"
	routePermissions = "/access/permissions"
	routeResources   = "/cluster/resources"
	routeClusterInfo = "/cluster/status"
	routeNodes       = "/nodes"
	routeNextID      = "/cluster/nextid"
	routeHAResources = "/cluster/ha/resources"
	routeHAResource  = "/cluster/ha/resources/{sid}"
	routePools       = "/pools"
	routeGuests      = "/nodes/{node}/{kind}"
	routeGuest       = "/nodes/{node}/{kind}/{vmid}"
	routePending     = routeGuest + "/pending"
	routeConfig      = routeGuest + "/config"
	routeResize      = routeGuest + "/resize"
	routeMoveDisk    = routeGuest + "/move_disk"
	routeMoveVolume  = routeGuest + "/move_volume"
	routeCloudInit   = routeGuest + "/cloudinit"
	routeMigrate     = routeGuest + "/migrate"
	routeTemplate    = routeGuest + "/template"
	routeClone       = routeGuest + "/clone"
	routeCurrent     = routeGuest + "/status/current"
	routeStart       = routeGuest + "/status/start"
	routeReboot      = routeGuest + "/status/reboot"
	routeShutdown    = routeGuest + "/status/shutdown"
	routeStop        = routeGuest + "/status/stop"
	routeTasks       = "/nodes/{node}/tasks"
	routeTaskStatus  = "/nodes/{node}/tasks/{upid}/status"
	routeTaskLog     = "/nodes/{node}/tasks/{upid}/log"
	routeOther       = "other"
)

// address says where a guest's configuration is.
type address struct {
	kind guest.Kind
	node string
	vmid int
}

// check refuses an address that would not come out as the path it is meant to be.
func (a address) check() error {
	switch {
	case a.kind != guest.VirtualMachine && a.kind != guest.Container:
		return fmt.Errorf("kind %q is neither virtual machine nor container", string(a.kind))
	case a.vmid < 100 || a.vmid > 999999999:
		return fmt.Errorf("vmid %d is outside 100 to 999999999", a.vmid)
	}
	return checkNode(a.node)
}

// path returns the guest's path below /api2/json.
func (a address) path() string {
	return "/nodes/" + a.node + "/" + a.kind.API() + "/" + strconv.Itoa(a.vmid)
}

// isMissing reports whether Proxmox said that the node has no such guest.
func (a address) isMissing(said string) bool {
	folder := "qemu-server"
	if a.kind == guest.Container {
		folder = "lxc"
	}
	return strings.Contains(said, fmt.Sprintf("Configuration file 'nodes/%s/%s/%d.conf' does not exist", a.node, folder, a.vmid)) ||
		strings.Contains(said, fmt.Sprintf("unable to find configuration file for VM %d on node '%s'", a.vmid, a.node))
}

// String returns "qemu/100 on pve1".
func (a address) String() string { return fmt.Sprintf("%s/%d on %s", a.kind.API(), a.vmid, a.node) }

// checkNode accepts host names without dots, as Proxmox does: they become part of a path.
func checkNode(node string) error {
	for i := range len(node) {
		switch b := node[i]; {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9':
		case b == '-' && i > 0 && i < len(node)-1:
		default:
			return fmt.Errorf("node %q is not a node name", node)
		}
	}
	if node == "" {
		return errors.New(`"" is not a node name`)
	}
	return nil
}
