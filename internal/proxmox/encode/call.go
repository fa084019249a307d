package encode

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"gitops-agent/internal/proxmox/route"
	"gitops-agent/internal/proxmox/wire"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// Call returns the exchange of a call and the parameters of its body.
func Call(call cluster.Call) (*wire.Exchange, map[string]string, error) {
	about := route.Address{Kind: call.Kind, Node: call.Node, VMID: call.VMID}
	if call.Op == cluster.OpDownload {
		return encodeDownload(call) // it is about no guest
	}
	if call.Op == cluster.OpDeleteFile {
		return encodeDeleteFile(call) // neither
	}
	if call.Op.IsObject() {
		return encodeObject(call)
	}
	if err := errors.Join(about.Check(), checkCall(call), CheckParams(call.Params)); err != nil {
		return nil, nil, err
	}
	x := &wire.Exchange{Node: call.Node, About: about}
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
		x.To(configMethod(call.Kind), route.Config, about.Path()+"/config")
		if len(call.Delete) > 0 {
			params["delete"] = strings.Join(call.Delete, ",")
		}
	case cluster.OpResize:
		x.To(http.MethodPut, route.Resize, about.Path()+"/resize")
	case cluster.OpMove:
		encodeMove(call.Kind, x, params)
	case cluster.OpCloudInit:
		x.To(http.MethodPut, route.CloudInit, about.Path()+"/cloudinit")
	case cluster.OpPool:
		encodePool(call, x, params)
	case cluster.OpHAAdd, cluster.OpHASet, cluster.OpHARemove:
		encodeHA(call, x, params)
	case cluster.OpMigrate:
		x.To(http.MethodPost, route.Migrate, about.Path()+"/migrate")
	case cluster.OpFirewall:
		encodeFirewall(call, x, params)
	case cluster.OpTemplate:
		x.To(http.MethodPost, route.Template, about.Path()+"/template")
	case cluster.OpStart:
		x.To(http.MethodPost, route.Start, about.Path()+"/status/start")
	case cluster.OpReboot:
		x.To(http.MethodPost, route.Reboot, about.Path()+"/status/reboot")
	case cluster.OpShutdown:
		x.To(http.MethodPost, route.Shutdown, about.Path()+"/status/shutdown")
	case cluster.OpStop:
		x.To(http.MethodPost, route.Stop, about.Path()+"/status/stop")
	case cluster.OpReset:
		x.To(http.MethodPost, route.Reset, about.Path()+"/status/reset")
	case cluster.OpSuspend:
		x.To(http.MethodPost, route.Suspend, about.Path()+"/status/suspend")
	case cluster.OpResume:
		x.To(http.MethodPost, route.Resume, about.Path()+"/status/resume")
	case cluster.OpSnapshot:
		x.To(http.MethodPost, route.Snapshots, about.Path()+"/snapshot")
	case cluster.OpDeleteSnapshot:
		x.To(http.MethodDelete, route.Snapshot, about.Path()+"/snapshot/"+takeSnapshotName(params))
	case cluster.OpRollback:
		x.To(http.MethodPost, route.Rollback, about.Path()+"/snapshot/"+takeSnapshotName(params)+"/rollback")
	case cluster.OpBackup:
		x.To(http.MethodPost, route.Backup, "/nodes/"+call.Node+"/vzdump")
		params["vmid"] = strconv.Itoa(call.VMID)
	case cluster.OpDownload, cluster.OpDeleteFile, cluster.OpObjectAdd, cluster.OpObjectSet, cluster.OpObjectRemove: // above
	case cluster.OpDestroy:
		x.To(http.MethodDelete, route.Guest, about.Path()+query(params)) // Proxmox rejects a body
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

// encodeCreate sets the vmid of the new guest. The parameter has a different name for create and for clone.
func encodeCreate(call cluster.Call, x *wire.Exchange, params map[string]string) error {
	list := route.Address{Kind: call.Kind, Node: call.Node, VMID: call.CloneOf}
	x.To(http.MethodPost, route.Guests, fmt.Sprintf("/nodes/%s/%s", call.Node, call.Kind.API()))
	x.About = route.Address{} // the guest does not exist yet: a missing configuration is that of another guest
	name := "vmid"
	if call.CloneOf != 0 {
		if err := list.Check(); err != nil {
			return fmt.Errorf("template: %w", err)
		}
		x.Route, x.Path, name = route.Clone, list.Path()+"/clone", "newid"
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
func encodeMove(kind guest.Kind, x *wire.Exchange, params map[string]string) {
	if kind == guest.Container {
		x.To(http.MethodPost, route.MoveVolume, x.About.Path()+"/move_volume")
		params["volume"] = params["disk"]
		delete(params, "disk")
		return
	}
	x.To(http.MethodPost, route.MoveDisk, x.About.Path()+"/move_disk")
}

// encodePool adds the guest to a pool, and removes the guest from its present pool. Any node can carry out the call. The first releases
// of Proxmox VE 8 lack allow-move and reject the call.
//
// Source: PVE API, PUT /pools.
func encodePool(call cluster.Call, x *wire.Exchange, params map[string]string) {
	x.Node, x.About = "", route.Address{}
	x.To(http.MethodPut, route.Pools, "/pools")
	params["vms"], params["allow-move"] = strconv.Itoa(call.VMID), "1"
}

// encodeHA names the guest as the HA manager does. Any node can carry out the call.
//
// Source: PVE API, POST /cluster/ha/resources, PUT and DELETE /cluster/ha/resources/{sid}.
func encodeHA(call cluster.Call, x *wire.Exchange, params map[string]string) {
	x.Node, x.About = "", route.Address{}
	sid := guest.Ref{Kind: call.Kind, VMID: call.VMID}.HAName()
	if call.Op == cluster.OpHAAdd {
		x.To(http.MethodPost, route.HAResources, "/cluster/ha/resources")
		params["sid"] = sid
		return
	}
	method := http.MethodPut
	if call.Op == cluster.OpHARemove {
		method = http.MethodDelete
	}
	x.To(method, route.HAResource, "/cluster/ha/resources/"+sid)
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
