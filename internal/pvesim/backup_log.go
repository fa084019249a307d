package pvesim

import (
	"path"
	"strings"
	"time"
)

// BeforeBegin is the phase of a backup before it does or logs anything.
const BeforeBegin = -1

// backupFormat returns the extension of the archive that a backup writes.
func (c *call) backupFormat(kind Kind) string {
	ext := "vma"
	if kind == LXC {
		ext = "tar"
	}
	return ext + map[string]string{"": ".zst", "zstd": ".zst", "gzip": ".gz", "lzo": ".lzo", "1": ".lzo", "0": ""}[c.params["compress"]]
}

// backupName returns the part of an archive's id after the storage. It contains the time when the backup began.
func backupName(g *guest, begun time.Time, ext string) string {
	return "backup/vzdump-" + string(g.kind) + "-" + itoa(g.vmid) + "-" + begun.Format("2006_01_02-15_04_05") + "." + ext
}

var plainWord = newPattern(`^[\w./:,=+@-]+$`)

// shellWord quotes a word that a shell would change.
func shellWord(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'"
}

func (c *call) backupMode() string {
	if m := c.params["mode"]; m != "" {
		return m
	}
	return "snapshot"
}

// backupArguments returns the command line that the log of a backup shows.
func (c *call) backupArguments(vmids []int) string {
	var args []string
	if c.params["vmid"] != "" {
		for _, vmid := range vmids {
			args = append(args, itoa(vmid))
		}
	}
	args = append(args, "--node", c.node())
	for _, k := range sortedKeys(c.params) {
		if k != "vmid" {
			args = append(args, "--"+k, shellWord(c.params[k]))
		}
	}
	return strings.Join(args, " ")
}

// logBackupBegin logs which guest follows. The state is locked.
func (t *task) logBackupBegin(g *guest) {
	t.printf("INFO: Starting Backup of VM %d (%s)", g.vmid, g.kind)
	t.printf("INFO: Backup started at %s", time.Now().Format(time.DateTime))
	status := "stopped"
	if g.running {
		status = "running"
	}
	t.printf("INFO: status = %s", status)
}

// logBackupMode logs what a backup includes. The state is locked.
func (t *task) logBackupMode(c *call, g *guest, storage string) {
	now, mode := time.Now(), c.backupMode()
	if !g.running {
		mode = "stop"
	}
	t.printf("INFO: backup mode: %s", mode)
	t.printf("INFO: ionice priority: 7")
	if g.kind == LXC {
		t.printf("INFO: CT Name: %s", g.name())
		t.logMounts(g)
		t.printf("INFO: creating vzdump archive '%s'", t.sim.pathOf(storage+":"+backupName(g, now, c.backupFormat(LXC))))
		return
	}
	t.printf("INFO: VM Name: %s", g.name())
	for _, v := range volumesOfBackup(g) {
		if !v.included {
			t.printf("INFO: exclude disk '%s' '%s' (%s)", v.slot, v.disk.file(), v.reason)
			continue
		}
		t.printf("INFO: include disk '%s' '%s' %s", v.slot, v.disk.file(), strings.TrimSpace(v.disk.values["size"]))
	}
	t.printf("INFO: creating vzdump archive '%s'", t.sim.pathOf(storage+":"+backupName(g, now, c.backupFormat(QEMU))))
	if !g.running {
		t.printf("INFO: starting kvm to execute backup task")
	}
}

// logMounts logs which mount points of a container a backup includes, the root volume first. The state is locked.
//
// Source: PVE::VZDump::LXC prepare.
func (t *task) logMounts(g *guest) {
	t.printf("INFO: including mount point rootfs ('/') in backup")
	for _, v := range volumesOfBackup(g) {
		kind := "volume"
		switch file := v.disk.file(); {
		case v.slot == "rootfs":
			continue
		case strings.HasPrefix(file, "/dev/"):
			kind = "device"
		case strings.HasPrefix(file, "/"):
			kind = "bind"
		}
		if v.included {
			t.printf("INFO: including mount point %s ('%s') in backup", v.slot, v.disk.values["mp"])
		} else {
			t.printf("INFO: excluding %s mount point %s ('%s') from backup (%s)", kind, v.slot, v.disk.values["mp"], v.reason)
		}
	}
}

// logBackupEnd logs the transfer of a VM's disks and the end of the backup. The state is locked.
func (t *task) logBackupEnd(c *call, g *guest, v *Volume, total int64, begun time.Time) {
	took := time.Since(begun)
	if g.kind == QEMU {
		seconds := max(int64(took/time.Second), 1)
		size, gibs := renderBytes(float64(total)), float64(total)/float64(gib)
		rate := renderBytes(float64(total)/float64(seconds)) + "/s"
		t.printf("INFO: starting backup via QMP command")
		t.printf("INFO: started backup task '%s'", t.sim.newUUID())
		t.printf("INFO: 100%% (%s of %s) in %ds, read: %s, write: 0 B/s", size, size, seconds, rate)
		t.printf("INFO: backup is sparse: %.2f GiB (100%%) total zero data", gibs)
		t.printf("INFO: transferred %.2f GiB in %d seconds (%s)", gibs, seconds, rate)
		if !g.running {
			t.printf("INFO: stopping kvm after backup task")
		}
	}
	t.printf("INFO: archive file size: %dKB", v.Size/kib)
	if c.params["notes-template"] != "" {
		t.printf("INFO: adding notes to backup")
		t.printf("trying to acquire lock...")
		t.printf(" OK")
	}
	t.printf("INFO: Finished Backup of VM %d (%s)", g.vmid, time.Time{}.Add(took).Format(time.TimeOnly))
	t.printf("INFO: Backup finished at %s", time.Now().Format(time.DateTime))
}

// logRestoreBegin logs what the archive of a VM contains. The state is locked.
func (t *task) logRestoreBegin(c *call, a *archive, v values) {
	if a.kind != QEMU {
		return
	}
	file, temp := t.sim.pathOf(c.params["archive"]), "/var/tmp/vzdumptmp"+itoa(t.upid.pid)
	unpack := map[string]string{".zst": "zstd -q -d -c ", ".gz": "zcat ", ".lzo": "lzop -d -c "}[path.Ext(file)]
	t.printf("restore vma archive: %s%s | vma extract -v -r %s.fifo - %s", unpack, file, temp, temp)
	t.printf("CFG: size: %d name: qemu-server.conf", len(a.text))
	n := 0
	for _, slot := range diskSlots(QEMU, v) {
		if size, saved := a.sizes[slot]; saved {
			n++
			t.printf("DEV: dev_id=%d size: %d devname: drive-%s", n, size, slot)
		}
	}
	t.printf("CTIME: %s", t.sim.volume(c.params["archive"]).Made.Format(time.ANSIC))
}

// logRestored logs the progress of an extraction: the first cluster of 64 KiB beyond each percent. The state is locked.
func (t *task) logRestored(a *archive) {
	const cluster = 64 * kib
	total := int64(0)
	for _, size := range a.sizes {
		total += size
	}
	if total == 0 {
		return
	}
	for percent := int64(1); percent <= 100; percent++ {
		read := (total*percent/100 + cluster - 1) / cluster * cluster
		t.printf("progress %d%% (read %d bytes, duration 0 sec)", percent, min(read, total))
	}
	t.printf("total bytes read %d, sparse bytes %d (100%%)", total, total)
	t.printf("rescan volumes...")
}
