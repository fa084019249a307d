package proxmox

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"gitops-agent/reconcile"
	"gitops-agent/reconcile/guest"
)

// encode turns a call into an exchange and the parameters of its body; nil is no body.
func encode(call reconcile.Call) (*exchange, map[string]string, error) {
	about := address{kind: call.Kind, node: call.Node, vmid: call.VMID}
	if err := errors.Join(about.check(), checkCall(call), checkParams(call.Params)); err != nil {
		return nil, nil, err
	}
	x := &exchange{node: call.Node, about: about}
	params := maps.Clone(call.Params)
	if params == nil {
		params = make(map[string]string)
	}
	switch call.Op {
	case reconcile.OpCreate:
		if err := encodeCreate(call, x, params); err != nil {
			return nil, nil, err
		}
	case reconcile.OpConfig:
		x.to(configMethod(call.Kind), routeConfig, about.path()+"/config")
		if len(call.Delete) > 0 {
			params["delete"] = strings.Join(call.Delete, ",")
		}
	case reconcile.OpResize:
		x.to(http.MethodPut, routeResize, about.path()+"/resize")
	case reconcile.OpMove:
		encodeMove(call.Kind, x, params)
	case reconcile.OpCloudInit:
		x.to(http.MethodPut, routeCloudInit, about.path()+"/cloudinit")
	case reconcile.OpPool:
		encodePool(call, x, params)
	case reconcile.OpHAAdd, reconcile.OpHASet, reconcile.OpHARemove:
		encodeHA(call, x, params)
	case reconcile.OpMigrate:
		x.to(http.MethodPost, routeMigrate, about.path()+"/migrate")
	case reconcile.OpTemplate:
		x.to(http.MethodPost, routeTemplate, about.path()+"/template")
	case reconcile.OpStart:
		x.to(http.MethodPost, routeStart, about.path()+"/status/start")
	case reconcile.OpReboot:
		x.to(http.MethodPost, routeReboot, about.path()+"/status/reboot")
	case reconcile.OpShutdown:
		x.to(http.MethodPost, routeShutdown, about.path()+"/status/shutdown")
	case reconcile.OpStop:
		x.to(http.MethodPost, routeStop, about.path()+"/status/stop")
	case reconcile.OpDestroy:
		x.to(http.MethodDelete, routeGuest, about.path()+query(params)) // a body would be refused
	default:
		return nil, nil, fmt.Errorf("operation %q has no call", string(call.Op))
	}
	if call.Digest != "" && isGuarded(call.Op) {
		params["digest"] = call.Digest
	}
	return x, params, nil
}

// to says where an exchange goes.
func (x *exchange) to(method, route, path string) { x.method, x.route, x.path = method, route, path }

// encodeCreate fills in the new guest's vmid, which create and clone name differently.
func encodeCreate(call reconcile.Call, x *exchange, params map[string]string) error {
	list := address{kind: call.Kind, node: call.Node, vmid: call.CloneOf}
	x.to(http.MethodPost, routeGuests, fmt.Sprintf("/nodes/%s/%s", call.Node, call.Kind.API()))
	x.about = address{} // a missing configuration is not this guest's: it does not exist yet
	name := "vmid"
	if call.CloneOf != 0 {
		if err := list.check(); err != nil {
			return fmt.Errorf("template: %w", err)
		}
		x.route, x.path, name = routeClone, list.path()+"/clone", "newid"
	}
	id := strconv.Itoa(call.VMID)
	if given, ok := params[name]; ok && given != id {
		return fmt.Errorf("%s is %q, want %s", name, given, id)
	}
	params[name] = id
	return nil
}

// encodeMove names the disk as the kind's call does: a container's is a volume.
//
// Source: PVE API, POST /nodes/{node}/qemu/{vmid}/move_disk, POST /nodes/{node}/lxc/{vmid}/move_volume.
func encodeMove(kind guest.Kind, x *exchange, params map[string]string) {
	if kind == guest.Container {
		x.to(http.MethodPost, routeMoveVolume, x.about.path()+"/move_volume")
		params["volume"] = params["disk"]
		delete(params, "disk")
		return
	}
	x.to(http.MethodPost, routeMoveDisk, x.about.path()+"/move_disk")
}

// encodePool takes the guest out of the pool that it is in, too. Any member of the cluster carries the call out. The first releases
// of Proxmox VE 8 lack allow-move and refuse the call.
//
// Source: PVE API, PUT /pools.
func encodePool(call reconcile.Call, x *exchange, params map[string]string) {
	x.node, x.about = "", address{}
	x.to(http.MethodPut, routePools, "/pools")
	params["vms"], params["allow-move"] = strconv.Itoa(call.VMID), "1"
}

// encodeHA names the guest as the HA manager does. Any member of the cluster carries the call out.
//
// Source: PVE API, POST /cluster/ha/resources, PUT and DELETE /cluster/ha/resources/{sid}.
func encodeHA(call reconcile.Call, x *exchange, params map[string]string) {
	x.node, x.about = "", address{}
	sid := haID(call.Kind, call.VMID)
	if call.Op == reconcile.OpHAAdd {
		x.to(http.MethodPost, routeHAResources, "/cluster/ha/resources")
		params["sid"] = sid
		return
	}
	method := http.MethodPut
	if call.Op == reconcile.OpHARemove {
		method = http.MethodDelete
	}
	x.to(method, routeHAResource, "/cluster/ha/resources/"+sid)
}

// haID returns the HA manager's name of a guest, "vm:100".
func haID(kind guest.Kind, vmid int) string {
	if kind == guest.Container {
		return "ct:" + strconv.Itoa(vmid)
	}
	return "vm:" + strconv.Itoa(vmid)
}

func configMethod(kind guest.Kind) string {
	if kind == guest.Container {
		return http.MethodPut
	}
	return http.MethodPost
}

// isGuarded reports whether a call takes the digest, which makes Proxmox refuse the write if the guest's configuration is no
// longer the one that was read.
func isGuarded(op reconcile.Op) bool {
	return op == reconcile.OpConfig || op == reconcile.OpResize || op == reconcile.OpMove
}

// mayLackTask reports whether null is an answer: the call was carried out while it was answered.
func mayLackTask(op reconcile.Op) bool {
	switch op {
	case reconcile.OpConfig, reconcile.OpResize, reconcile.OpCloudInit, reconcile.OpPool, reconcile.OpHAAdd, reconcile.OpHASet,
		reconcile.OpHARemove, reconcile.OpTemplate:
		return true
	case reconcile.OpCreate, reconcile.OpMove, reconcile.OpMigrate, reconcile.OpStart, reconcile.OpReboot, reconcile.OpShutdown,
		reconcile.OpStop, reconcile.OpDestroy:
	}
	return false
}

func query(params map[string]string) string {
	if len(params) == 0 {
		return ""
	}
	values := make(url.Values, len(params))
	for key, value := range params {
		values.Set(key, value)
	}
	return "?" + values.Encode()
}
