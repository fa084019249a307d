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
		return writeRoute(http.MethodPost, ctPath+"/status/"+op, f).withParams(rules).withGuestPrivilege("VM.PowerMgmt")
	}
	routes := []*route{
		readRoute("/nodes/{node}/lxc", listGuests(LXC)).needsRoot(),
		writeRoute(http.MethodPost, "/nodes/{node}/lxc", createCT).withSchema(create, verifyLXC),
		indexRoute(ctPath, "subdir", "config", "pending", "status", "vncproxy", "termproxy", "vncwebsocket", "spiceproxy", "migrate", "clone", "rrd",
			"rrddata", "firewall", "snapshot", "resize", "interfaces").withGuestPrivilege("VM.Audit"),
		indexRoute(ctPath+"/status", "subdir", "current", "start", "stop", "shutdown", "suspend", "resume", "reboot").withGuestPrivilege("VM.Audit"),
		readRoute(ctPath+"/config", readConfig(LXC)).withParams(readConfigParams).withGuestPrivilege("VM.Audit"),
		writeRoute(http.MethodPut, ctPath+"/config", updateCT).withSchema(update, verifyLXC).withPermission(anyConfig),
		readRoute(ctPath+"/pending", readPending(LXC)).withGuestPrivilege("VM.Audit"),
		readRoute(ctPath+"/interfaces", ctInterfaces).withGuestPrivilege("VM.Audit").needsRoot(),
		writeRoute(http.MethodDelete, ctPath, destroyCT).withParams(map[string]rule{
			"purge": boolean(), "force": boolean(), "destroy-unreferenced-disks": boolean(),
		}).withGuestPrivilege("VM.Allocate"),
		readRoute(ctPath+"/status/current", currentStatus(LXC)).withGuestPrivilege("VM.Audit").needsRoot(),
		power("start", startCall(LXC), map[string]rule{"debug": boolean()}),
		power("stop", stopCall(LXC), map[string]rule{"overrule-shutdown": boolean()}),
		power("shutdown", shutdownCall(LXC), map[string]rule{"forceStop": boolean()}),
		power("reboot", rebootCall(LXC), nil),
		writeRoute(http.MethodPost, ctPath+"/status/suspend", freezeCT("vzsuspend", "-s -D /var/lib/vz/dump")).withGuestPrivilege("VM.PowerMgmt"),
		writeRoute(http.MethodPost, ctPath+"/status/resume", freezeCT("vzresume", "-r -D /var/lib/vz/dump")).withGuestPrivilege("VM.PowerMgmt"),
		writeRoute(http.MethodPost, ctPath+"/move_volume", moveVolume).withParams(moveVolumeParams).withGuestPrivilege("VM.Config.Disk"),
		writeRoute(http.MethodPost, ctPath+"/clone", cloneCT).withParams(map[string]rule{
			"newid": vmidRule.needed(), "hostname": checked(checkDNSName), "description": text(), "pool": text(), "snapname": checked(checkConfigID),
			"storage": checked(checkStorageID), "full": boolean(), "target": text(), "bwlimit": integer(),
		}).withGuestPrivilege("VM.Clone"),
		writeRoute(http.MethodPut, ctPath+"/resize", resizeCT).withParams(map[string]rule{
			"disk": checked(checkSlot(LXC)).needed(), "size": resizeSize.needed(), "digest": text(),
		}).withGuestPrivilege("VM.Config.Disk"),
		writeRoute(http.MethodPost, ctPath+"/template", templateCT).withGuestPrivilege("VM.Allocate"),
	}
	return append(routes, snapshotRoutes(LXC, ctPath)...)
}
