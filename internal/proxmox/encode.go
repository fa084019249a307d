package proxmox

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// encode returns the exchange of a call and the parameters of its body.
func encode(call cluster.Call) (*exchange, map[string]string, error) {
	about := address{kind: call.Kind, node: call.Node, vmid: call.VMID}
	if call.Op == cluster.OpDownload {
		return encodeDownload(call) // it is about no guest
	}
	if call.Op.IsObject() {
		return encodeObject(call)
	}
	if err := errors.Join(about.check(), checkCall(call), checkParams(call.Params)); err != nil {
		return nil, nil, err
	}
	x := &exchange{node: call.Node, about: about}
	params := maps.Clone(call.Params)
	if params == nil {
		params = make(map[string]string)
	}
	switch call.Op {
	case cluster.OpCreate:
		if err := encodeCreate(call, x, params); err != nil {
			return nil, nil, err
		}
	case cluster.OpConfig:
		x.to(configMethod(call.Kind), routeConfig, about.path()+"/config")
		if len(call.Delete) > 0 {
			params["delete"] = strings.Join(call.Delete, ",")
		}
	case cluster.OpResize:
		x.to(http.MethodPut, routeResize, about.path()+"/resize")
	case cluster.OpMove:
		encodeMove(call.Kind, x, params)
	case cluster.OpCloudInit:
		x.to(http.MethodPut, routeCloudInit, about.path()+"/cloudinit")
	case cluster.OpPool:
		encodePool(call, x, params)
	case cluster.OpHAAdd, cluster.OpHASet, cluster.OpHARemove:
		encodeHA(call, x, params)
	case cluster.OpMigrate:
		x.to(http.MethodPost, routeMigrate, about.path()+"/migrate")
	case cluster.OpFirewall:
		encodeFirewall(call, x, params)
	case cluster.OpTemplate:
		x.to(http.MethodPost, routeTemplate, about.path()+"/template")
	case cluster.OpStart:
		x.to(http.MethodPost, routeStart, about.path()+"/status/start")
	case cluster.OpReboot:
		x.to(http.MethodPost, routeReboot, about.path()+"/status/reboot")
	case cluster.OpShutdown:
		x.to(http.MethodPost, routeShutdown, about.path()+"/status/shutdown")
	case cluster.OpStop:
		x.to(http.MethodPost, routeStop, about.path()+"/status/stop")
	case cluster.OpReset:
		x.to(http.MethodPost, routeReset, about.path()+"/status/reset")
	case cluster.OpSuspend:
		x.to(http.MethodPost, routeSuspend, about.path()+"/status/suspend")
	case cluster.OpResume:
		x.to(http.MethodPost, routeResume, about.path()+"/status/resume")
	case cluster.OpSnapshot:
		x.to(http.MethodPost, routeSnapshots, about.path()+"/snapshot")
	case cluster.OpDeleteSnapshot:
		x.to(http.MethodDelete, routeSnapshot, about.path()+"/snapshot/"+takeSnapshotName(params))
	case cluster.OpRollback:
		x.to(http.MethodPost, routeRollback, about.path()+"/snapshot/"+takeSnapshotName(params)+"/rollback")
	case cluster.OpBackup:
		x.to(http.MethodPost, routeBackup, "/nodes/"+call.Node+"/vzdump")
		params["vmid"] = strconv.Itoa(call.VMID)
	case cluster.OpDownload, cluster.OpObjectAdd, cluster.OpObjectSet, cluster.OpObjectRemove: // above
	case cluster.OpDestroy:
		x.to(http.MethodDelete, routeGuest, about.path()+query(params)) // Proxmox rejects a body
	default:
		return nil, nil, fmt.Errorf("operation %q has no call", string(call.Op))
	}
	if call.Digest != "" && call.Op.WritesConfig() {
		params["digest"] = call.Digest
	}
	return x, params, nil
}

// takeSnapshotName moves the name of the snapshot from the parameters to the path.
func takeSnapshotName(params map[string]string) string {
	name := params[cluster.ParamSnapshot]
	delete(params, cluster.ParamSnapshot)
	return name
}

// to sets the method and the path of an exchange.
func (x *exchange) to(method, route, path string) { x.method, x.route, x.path = method, route, path }

// encodeCreate sets the vmid of the new guest. The parameter has a different name for create and for clone.
func encodeCreate(call cluster.Call, x *exchange, params map[string]string) error {
	list := address{kind: call.Kind, node: call.Node, vmid: call.CloneOf}
	x.to(http.MethodPost, routeGuests, fmt.Sprintf("/nodes/%s/%s", call.Node, call.Kind.API()))
	x.about = address{} // the guest does not exist yet: a missing configuration is that of another guest
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

// encodeMove uses the parameter name of the guest's kind: disk for a virtual machine, volume for a container.
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

// encodePool adds the guest to a pool, and removes the guest from its present pool. Any node can carry out the call. The first releases
// of Proxmox VE 8 lack allow-move and reject the call.
//
// Source: PVE API, PUT /pools.
func encodePool(call cluster.Call, x *exchange, params map[string]string) {
	x.node, x.about = "", address{}
	x.to(http.MethodPut, routePools, "/pools")
	params["vms"], params["allow-move"] = strconv.Itoa(call.VMID), "1"
}

// encodeHA names the guest as the HA manager does. Any node can carry out the call.
//
// Source: PVE API, POST /cluster/ha/resources, PUT and DELETE /cluster/ha/resources/{sid}.
func encodeHA(call cluster.Call, x *exchange, params map[string]string) {
	x.node, x.about = "", address{}
	sid := haID(call.Kind, call.VMID)
	if call.Op == cluster.OpHAAdd {
		x.to(http.MethodPost, routeHAResources, "/cluster/ha/resources")
		params["sid"] = sid
		return
	}
	method := http.MethodPut
	if call.Op == cluster.OpHARemove {
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

// configMethod returns the method of a config call.
func configMethod(kind guest.Kind) string {
	if kind == guest.Container {
		return http.MethodPut
	}
	return http.MethodPost
}

// query returns the parameters as the query of a URL, "" if there are none.
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
