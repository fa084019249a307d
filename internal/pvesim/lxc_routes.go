package pvesim

import (
	"maps"
	"net/http"
)

const ctPath = "/nodes/{node}/lxc/{vmid}"

func lxcRoutes() []*route {
	update := lxcConfig.with(map[string]rule{"delete": text(), "revert": text(), "digest": text().length(0, 64)})
	create := lxcConfig.with(map[string]rule{
		"vmid": vmidRule.needed(), "ostemplate": text().needed(), "password": text().length(5, 0), "ssh-public-keys": text(),
		"pool": checked(checkPool), "start": boolean(), "storage": checked(checkStorageID), "force": boolean(), "restore": boolean(), "unique": boolean(),
		"bwlimit": integer(), "ignore-unpack-errors": boolean(), "ha-managed": boolean(),
	})
	anyConfig := func(c *call) error { return c.requireAny("/vms/"+c.vars["vmid"], configPrivileges...) }
	power := func(op string, f func(*call) (reply, error), extra map[string]rule) *route {
		rules := map[string]rule{"skiplock": boolean(), "timeout": integer().atLeast(0)}
		maps.Copy(rules, extra)
		return act(http.MethodPost, ctPath+"/status/"+op, f).takes(rules).onGuest("VM.PowerMgmt")
	}
	routes := []*route{
		get("/nodes/{node}/lxc", listGuests(LXC)).needsRoot(),
		act(http.MethodPost, "/nodes/{node}/lxc", createCT).takesSchema(create, verifyLXC),
		index(ctPath, "subdir", "config", "pending", "status", "vncproxy", "termproxy", "vncwebsocket", "spiceproxy", "migrate", "clone", "rrd",
			"rrddata", "firewall", "snapshot", "resize", "interfaces").onGuest("VM.Audit"),
		index(ctPath+"/status", "subdir", "current", "start", "stop", "shutdown", "suspend", "resume", "reboot").onGuest("VM.Audit"),
		get(ctPath+"/config", readConfig(LXC)).takes(readConfigParams).onGuest("VM.Audit"),
		act(http.MethodPut, ctPath+"/config", updateCT).takesSchema(update, verifyLXC).permits(anyConfig),
		get(ctPath+"/pending", readPending(LXC)).onGuest("VM.Audit"),
		get(ctPath+"/interfaces", ctInterfaces).onGuest("VM.Audit").needsRoot(),
		act(http.MethodDelete, ctPath, destroyCT).takes(map[string]rule{
			"purge": boolean(), "force": boolean(), "destroy-unreferenced-disks": boolean(),
		}).onGuest("VM.Allocate"),
		get(ctPath+"/status/current", currentStatus(LXC)).onGuest("VM.Audit").needsRoot(),
		power("start", startCall(LXC), map[string]rule{"debug": boolean()}),
		power("stop", stopCall(LXC), map[string]rule{"overrule-shutdown": boolean()}),
		power("shutdown", shutdownCall(LXC), map[string]rule{"forceStop": boolean()}),
		power("reboot", rebootCall(LXC), nil),
		act(http.MethodPost, ctPath+"/status/suspend", freezeCT("vzsuspend", "-s -D /var/lib/vz/dump")).onGuest("VM.PowerMgmt"),
		act(http.MethodPost, ctPath+"/status/resume", freezeCT("vzresume", "-r -D /var/lib/vz/dump")).onGuest("VM.PowerMgmt"),
		act(http.MethodPost, ctPath+"/move_volume", moveVolume).takes(moveVolumeParams).onGuest("VM.Config.Disk"),
		act(http.MethodPost, ctPath+"/clone", cloneCT).takes(map[string]rule{
			"newid": vmidRule.needed(), "hostname": checked(checkDNSName), "description": text(), "pool": text(), "snapname": checked(checkConfigID),
			"storage": checked(checkStorageID), "full": boolean(), "target": text(), "bwlimit": integer(),
		}).onGuest("VM.Clone"),
		act(http.MethodPut, ctPath+"/resize", resizeCT).takes(map[string]rule{
			"disk": checked(checkSlot(LXC)).needed(), "size": resizeSize.needed(), "digest": text(),
		}).onGuest("VM.Config.Disk"),
		act(http.MethodPost, ctPath+"/template", templateCT).onGuest("VM.Allocate"),
	}
	return append(routes, snapshotRoutes(LXC, ctPath)...)
}
