package pvesim

import "net/http"

const vmPath = "/nodes/{node}/qemu/{vmid}"

func qemuRoutes() []*route {
	update := qemuConfig.with(map[string]rule{
		"delete": text(), "revert": text(), "force": boolean(), "skiplock": boolean(), "digest": text().length(0, 64), "import-working-storage": text(),
	})
	updateAsync := update.with(map[string]rule{"background_delay": integer().atLeast(1).atMost(30)})
	create := qemuConfig.with(map[string]rule{
		"vmid": vmidRule.needed(), "archive": text(), "bwlimit": integer(), "force": boolean(), "pool": checked(checkPool), "start": boolean(),
		"storage": checked(checkStorageID), "unique": boolean(), "live-restore": boolean(), "ha-managed": boolean(), "import-working-storage": text(),
	})
	anyConfig := func(c *call) error { return c.requireAny("/vms/"+c.vars["vmid"], configPrivileges...) }
	routes := []*route{
		readRoute("/nodes/{node}/qemu", listGuests(QEMU)).withParams(map[string]rule{"full": boolean()}).needsRoot(),
		writeRoute(http.MethodPost, "/nodes/{node}/qemu", createVM).withSchema(create, verifyQEMU),
		indexRoute(vmPath, "subdir", "config", "cloudinit", "pending", "status", "unlink", "vncproxy", "termproxy", "migrate", "resize", "move", "rrd",
			"rrddata", "monitor", "agent", "snapshot", "spiceproxy", "sendkey", "firewall", "mtunnel", "remote_migrate").withGuestPrivilege("VM.Audit"),
		indexRoute(vmPath+"/status", "subdir", "current", "start", "stop", "reset", "shutdown", "suspend", "reboot").withGuestPrivilege("VM.Audit"),
		readRoute(vmPath+"/config", readConfig(QEMU)).withParams(readConfigParams).withGuestPrivilege("VM.Audit"),
		writeRoute(http.MethodPut, vmPath+"/config", updateVM).withSchema(update, verifyQEMU).withPermission(anyConfig),
		writeRoute(http.MethodPost, vmPath+"/config", updateVMAsync).withSchema(updateAsync, verifyQEMU).withPermission(anyConfig),
		readRoute(vmPath+"/pending", readPending(QEMU)).withGuestPrivilege("VM.Audit"),
		writeRoute(http.MethodDelete, vmPath, destroyVM).withParams(destroyParams).withGuestPrivilege("VM.Allocate"),
		writeRoute(http.MethodPost, vmPath+"/clone", cloneVM).withParams(map[string]rule{
			"newid": vmidRule.needed(), "name": checked(checkDNSName), "description": text(), "pool": text(), "snapname": checked(checkConfigID),
			"storage": checked(checkStorageID), "format": enum("raw", "qcow2", "vmdk"), "full": boolean(), "target": text(), "bwlimit": integer(),
		}).withGuestPrivilege("VM.Clone"),
		writeRoute(http.MethodPut, vmPath+"/resize", resizeVM).withParams(map[string]rule{
			"disk": checked(checkSlot(QEMU)).needed(), "size": resizeSize.needed(), "digest": text(), "skiplock": boolean(),
		}).withGuestPrivilege("VM.Config.Disk"),
		writeRoute(http.MethodPost, vmPath+"/move_disk", moveDisk).withParams(map[string]rule{
			"disk": checked(checkSlot(QEMU)).needed(), "storage": checked(checkStorageID), "delete": boolean(), "digest": text(), "bwlimit": integer(),
			"format": enum("raw", "qcow2", "vmdk"), "skiplock": boolean(), "target-vmid": vmidRule, "target-disk": text(), "target-digest": text(),
		}),
		writeRoute(http.MethodPost, vmPath+"/template", templateVM).withParams(map[string]rule{"disk": text()}).withGuestPrivilege("VM.Allocate"),
		writeRoute(http.MethodPut, vmPath+"/unlink", unlinkVM).withParams(map[string]rule{"idlist": text().needed(), "force": boolean()}).withGuestPrivilege("VM.Config.Disk"),
	}
	return append(routes, append(qemuPowerRoutes(), snapshotRoutes(QEMU, vmPath)...)...)
}

var (
	readConfigParams = map[string]rule{"current": boolean(), "snapshot": checked(checkConfigID).length(0, 40)}
	destroyParams    = map[string]rule{"purge": boolean(), "skiplock": boolean(), "destroy-unreferenced-disks": boolean()}
	resizeSize       = matching(`\+?\d+(\.\d+)?[KMGT]?`)
)

func checkSlot(kind Kind) func(string) error {
	return func(s string) error {
		if !isDisk(kind, s) && !isUnused(s) {
			return apiErrorf("invalid drive '%s'", s)
		}
		return nil
	}
}
