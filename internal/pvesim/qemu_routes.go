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
		get("/nodes/{node}/qemu", listGuests(QEMU)).takes(map[string]rule{"full": boolean()}).needsRoot(),
		act(http.MethodPost, "/nodes/{node}/qemu", createVM).takesSchema(create, verifyQEMU),
		index(vmPath, "subdir", "config", "cloudinit", "pending", "status", "unlink", "vncproxy", "termproxy", "migrate", "resize", "move", "rrd",
			"rrddata", "monitor", "agent", "snapshot", "spiceproxy", "sendkey", "firewall", "mtunnel", "remote_migrate").onGuest("VM.Audit"),
		index(vmPath+"/status", "subdir", "current", "start", "stop", "reset", "shutdown", "suspend", "reboot").onGuest("VM.Audit"),
		get(vmPath+"/config", readConfig(QEMU)).takes(readConfigParams).onGuest("VM.Audit"),
		act(http.MethodPut, vmPath+"/config", updateVM).takesSchema(update, verifyQEMU).permits(anyConfig),
		act(http.MethodPost, vmPath+"/config", updateVMAsync).takesSchema(updateAsync, verifyQEMU).permits(anyConfig),
		get(vmPath+"/pending", readPending(QEMU)).onGuest("VM.Audit"),
		act(http.MethodDelete, vmPath, destroyVM).takes(destroyParams).onGuest("VM.Allocate"),
		act(http.MethodPost, vmPath+"/clone", cloneVM).takes(map[string]rule{
			"newid": vmidRule.needed(), "name": checked(checkDNSName), "description": text(), "pool": text(), "snapname": checked(checkConfigID),
			"storage": checked(checkStorageID), "format": enum("raw", "qcow2", "vmdk"), "full": boolean(), "target": text(), "bwlimit": integer(),
		}).onGuest("VM.Clone"),
		act(http.MethodPut, vmPath+"/resize", resizeVM).takes(map[string]rule{
			"disk": checked(checkSlot(QEMU)).needed(), "size": resizeSize.needed(), "digest": text(), "skiplock": boolean(),
		}).onGuest("VM.Config.Disk"),
		act(http.MethodPost, vmPath+"/move_disk", moveDisk).takes(map[string]rule{
			"disk": checked(checkSlot(QEMU)).needed(), "storage": checked(checkStorageID), "delete": boolean(), "digest": text(), "bwlimit": integer(),
			"format": enum("raw", "qcow2", "vmdk"), "skiplock": boolean(), "target-vmid": vmidRule, "target-disk": text(), "target-digest": text(),
		}),
		act(http.MethodPost, vmPath+"/template", templateVM).takes(map[string]rule{"disk": text()}).onGuest("VM.Allocate"),
		act(http.MethodPut, vmPath+"/unlink", unlinkVM).takes(map[string]rule{"idlist": text().needed(), "force": boolean()}).onGuest("VM.Config.Disk"),
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
			return die("invalid drive '%s'", s)
		}
		return nil
	}
}
