package pvesim

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// backupJob is a job of jobs.cfg that backs up guests at times.
type backupJob struct {
	id     string
	values values // as they were sent; the paths of exclude-path are separated by line feeds
}

// backupJobRules are the parameters of a job, apart from its id and its times.
var backupJobRules = map[string]rule{
	"vmid": checked(checkVMIDs), "all": boolean(), "exclude": checked(checkVMIDs), "pool": text(), "node": checked(checkNodeName), "storage": checked(checkStorageID),
	"mode": enum("snapshot", "suspend", "stop"), "compress": enum("0", "1", "gzip", "lzo", "zstd"), "pigz": integer(), "zstd": integer(),
	"quiet": boolean(), "stop": boolean(), "stopwait": integer().atLeast(0), "lockwait": integer().atLeast(0), "ionice": integer().atLeast(0).atMost(8),
	"bwlimit": integer().atLeast(0), "stdexcludes": boolean(), "exclude-path": text().asArray(), "remove": boolean(), "protected": boolean().with("storage"),
	"prune-backups": checked(checkPruneBackups), "fleecing": checked(formatOf("fleecing", fleecingOptions)), "performance": checked(formatOf("performance", performanceOptions)),
	"mailto": text(), "mailnotification": enum("always", "failure"), "notification-mode": enum("auto", "legacy-sendmail", "notification-system"),
	"notes-template": text().length(0, 1024).with("storage"), "pbs-change-detection-mode": enum("legacy", "data", "metadata"), "tmpdir": text(), "dumpdir": text(), "script": text(),
	"comment": text().length(0, 512), "repeat-missed": boolean(), "enabled": boolean(),
}

var (
	fleecingOptions    = propertyString{"enabled": boolean().asDefaultKey(), "storage": checked(checkStorageID)}
	performanceOptions = propertyString{"max-workers": integer().atLeast(1).atMost(256), "pbs-entries-max": integer().atLeast(1)}
	pruneOptions       = propertyString{
		"keep-all": boolean(), "keep-last": integer(), "keep-hourly": integer(), "keep-daily": integer(), "keep-weekly": integer(), "keep-monthly": integer(),
		"keep-yearly": integer(),
	}
	backupTimes = map[string]rule{"schedule": checked(checkCalendarEvent).length(0, 128), "starttime": matching(`\d{1,2}:\d{1,2}`), "dow": text().with("starttime")}
	nodeName    = newPattern(`^` + dnsLabel + `$`)
)

func checkNodeName(s string) error {
	if !nodeName.MatchString(s) {
		return errors.New("value does not look like a valid node name")
	}
	return nil
}

// formatOf checks a property string.
func formatOf(name string, options propertyString) func(string) error {
	return func(s string) error { _, err := options.parse(name, s); return err }
}

func checkPruneBackups(s string) error { _, err := parsePruneBackups(s); return err }

// parsePruneBackups returns the options of a retention. Without a number above 0 it keeps everything.
//
// Source: PVE::JSONSchema validate_prune_backups.
func parsePruneBackups(s string) (values, error) {
	v, err := pruneOptions.parse("prune-backups", s)
	if err != nil {
		return nil, err
	}
	all := v["keep-all"]
	delete(v, "keep-all")
	keeps := slices.ContainsFunc(slices.Collect(maps.Values(v)), func(n string) bool { return atoi(n) > 0 })
	switch {
	case !keeps:
		return values{"keep-all": "1"}, nil
	case all == "1":
		return nil, errors.New("keep-all cannot be set together with other options.") //nolint:staticcheck // Proxmox's text
	}
	return v, nil
}

func backupJobRoutes() []*route {
	audit := func(c *call) error { return c.require("/", "Sys.Audit") }
	modify := func(c *call) error { return c.require("/", "Sys.Modify") }
	create := maps.Clone(backupJobRules)
	maps.Copy(create, backupTimes)
	change := maps.Clone(create)
	create["id"] = checked(checkConfigID)
	change["delete"] = text()
	return []*route{
		readRoute("/cluster/backup", listBackupJobs).withPermission(audit),
		writeRoute(http.MethodPost, "/cluster/backup", createBackupJob).withParams(create).withPermission(modify),
		readRoute("/cluster/backup/{id}", getBackupJob).withPermission(audit),
		writeRoute(http.MethodPut, "/cluster/backup/{id}", changeBackupJob).withParams(change).withPermission(modify),
		writeRoute(http.MethodDelete, "/cluster/backup/{id}", deleteBackupJob).withPermission(modify),
		readRoute("/cluster/backup/{id}/included_volumes", includedVolumes).withPermission(audit),
		indexRoute("/cluster/backup-info", "subdir", "not-backed-up").withPermission(func(c *call) error {
			if !c.isRoot() {
				return forbidden("user != root@pam")
			}
			return nil
		}),
		readRoute("/cluster/backup-info/not-backed-up", notBackedUp).withPermission(audit),
	}
}

func (s *Sim) backupJob(id string) *backupJob {
	if i := slices.IndexFunc(s.backupJobs, func(j *backupJob) bool { return j.id == id }); i >= 0 {
		return s.backupJobs[i]
	}
	return nil
}

// backupJobNumbers are the keys that read back as numbers.
var backupJobNumbers = []string{
	"all", "bwlimit", "enabled", "ionice", "lockwait", "pigz", "protected", "quiet", "remove", "repeat-missed", "stdexcludes", "stop", "stopwait", "zstd",
}

// object returns a job as it reads back: property strings as objects, of which flags are numbers and numbers are texts.
func (j *backupJob) object() *object {
	o := &object{}
	o.str("id", j.id)
	o.str("type", "vzdump")
	for _, k := range sortedKeys(j.values) {
		switch v := j.values[k]; {
		case slices.Contains(backupJobNumbers, k):
			o.num(k, int64(atoi(v)))
		case k == "exclude-path":
			o.raw(k, stringArray(strings.Split(v, "\n")))
		case k == "prune-backups":
			options, _ := parsePruneBackups(v)
			o.raw(k, optionsObject(pruneOptions, options))
		case k == "fleecing":
			options, _ := fleecingOptions.parse(k, v)
			o.raw(k, optionsObject(fleecingOptions, options))
		case k == "performance":
			options, _ := performanceOptions.parse(k, v)
			o.raw(k, optionsObject(performanceOptions, options))
		default:
			o.str(k, v)
		}
	}
	return o
}

func optionsObject(rules propertyString, options values) []byte {
	var o object
	for _, k := range sortedKeys(options) {
		if rules[k].typ == typeBoolean {
			o.num(k, int64(atoi(options[k])))
		} else {
			o.str(k, options[k])
		}
	}
	return o.bytes()
}

// listBackupJobs shows also when each job runs next, if it does.
//
// Source: PVE::API2::Backup index.
func listBackupJobs(c *call) (reply, error) {
	var a array
	for _, j := range c.sim.backupJobs {
		o := j.object()
		if next, comes := nextRun(j.values["schedule"], time.Now()); comes {
			o.num("next-run", next)
		}
		a.add(o)
	}
	return dataReply(a.bytes())
}

func noBackupJob(id string) error { return paramError("id", "No such job '"+id+"'") }

func getBackupJob(c *call) (reply, error) {
	j := c.sim.backupJob(c.vars["id"])
	if j == nil {
		return reply{}, noBackupJob(c.vars["id"])
	}
	return dataReply(j.object().bytes())
}

// inJobsLock returns the text of an error about a parameter that is found while the file of the jobs is locked.
func inJobsLock(err error) error {
	var e *apiError
	if !asAPIError(err, &e) || len(e.params) == 0 {
		return inTask(err)
	}
	lines := []string{"400 Parameter verification failed."}
	for _, k := range slices.Sorted(maps.Keys(e.params)) {
		lines = append(lines, k+": "+strings.TrimSuffix(e.params[k], "\n"))
	}
	return apiErrorf("%s", strings.Join(lines, "\n"))
}

// updateJobs runs a change of the jobs with the state locked, after check.
func (c *call) updateJobs(check, change func() error) (reply, error) {
	err := c.sim.locked(func() error {
		if err := check(); err != nil {
			return err
		}
		if err := c.checkClusterLock("", "file-jobs_cfg"); err != nil {
			return err
		}
		return inJobsLock(change())
	})
	if err != nil {
		return reply{}, err
	}
	return nullReply()
}

// checkJobTimes checks the two forms of a time, and turns the old one into a schedule.
func (c *call) checkJobTimes(needed bool) error {
	p := c.params
	_, start := p["starttime"]
	_, schedule := p["schedule"]
	switch {
	case start && schedule:
		return paramError("starttime", "'starttime' and 'schedule' cannot both be set")
	case start:
		p["schedule"] = strings.TrimSpace(p["dow"] + " " + p["starttime"])
		delete(p, "starttime")
		delete(p, "dow")
	case needed && !schedule:
		return paramError("schedule", "neither 'starttime' nor 'schedule' were set")
	}
	return nil
}

// checkJobCaller checks what only root may set, and the privileges that depend on parameters. The state is locked.
//
// Source: PVE::API2::Backup assert_param_permission_common.
func (c *call) checkJobCaller() error {
	if c.isRoot() {
		return nil
	}
	for _, k := range []string{"tmpdir", "dumpdir", "script"} {
		if _, given := c.params[k]; given {
			return paramError(k, "Only root may set this option.")
		}
	}
	fleecing, _ := fleecingOptions.parse("fleecing", c.params["fleecing"])
	if fleecing["storage"] != "" {
		return c.require("/storage/"+fleecing["storage"], "Datastore.AllocateSpace")
	}
	return nil
}

// checkJobStorage requires the privilege on the storage of a job. The state is locked.
func (c *call) checkJobStorage(v values) error {
	if c.isRoot() || v["dumpdir"] != "" {
		return nil
	}
	storage := v["storage"]
	if storage == "" {
		storage = "local"
	}
	return c.require("/storage/"+storage, "Datastore.Allocate")
}

// checkJobPool requires that a pool exists and that the caller may back it up. The state is locked.
func (c *call) checkJobPool() error {
	pool := c.params["pool"]
	if pool == "" {
		return nil
	}
	if c.sim.pools[pool] == nil {
		return forbidden("pool '" + pool + "' does not exist")
	}
	return c.require("/pool/"+pool, "VM.Backup")
}

// verifyJob rejects options that contradict each other, and with complete a job without a selection.
//
// Source: PVE::VZDump verify_vzdump_parameters.
func verifyJob(v values, complete bool) error {
	if v["vmid"] != "" {
		for _, k := range []string{"all", "exclude", "pool"} {
			if v[k] != "" && v[k] != "0" {
				return paramError(k, "option conflicts with option 'vmid'")
			}
		}
	}
	if err := checkNotesTemplate(v["notes-template"]); err != nil {
		return err
	}
	if v["exclude"] != "" && v["pool"] == "" {
		v["all"] = "1"
	}
	if complete && v["vmid"] == "" && v["all"] != "1" && v["stop"] != "1" && v["pool"] == "" {
		return paramError("vmid", "property is missing")
	}
	return nil
}

// jobValues returns the parameters as they are stored.
func (c *call) jobValues() (values, error) {
	v := maps.Clone(c.params)
	delete(v, "id")
	delete(v, "delete")
	if paths := c.arrays["exclude-path"]; paths != nil {
		v["exclude-path"] = strings.Join(paths, "\n")
	}
	for _, k := range sortedKeys(v) {
		if k != "exclude-path" && strings.Contains(v[k], "\n") {
			return nil, apiErrorf("property contains a line feed")
		}
	}
	if comment, given := v["comment"]; given {
		v["comment"] = strings.TrimSpace(comment)
	}
	return v, nil
}

func createBackupJob(c *call) (reply, error) {
	check := func() error {
		for _, f := range []func() error{c.checkJobPool, c.checkJobCaller, func() error { return c.checkJobTimes(true) }, func() error { return c.checkJobStorage(c.params) }} {
			if err := f(); err != nil {
				return err
			}
		}
		return nil
	}
	return c.updateJobs(check, func() error {
		id := c.params["id"]
		if id == "" {
			id = c.sim.newUUID()
		}
		if c.sim.backupJob(id) != nil {
			return apiErrorf("Job '%s' already exists", id)
		}
		v, err := c.jobValues()
		if err != nil {
			return err
		}
		if err := verifyJob(v, true); err != nil {
			return err
		}
		if v["enabled"] == "" {
			v["enabled"] = "1"
		}
		c.sim.backupJobs = append(c.sim.backupJobs, &backupJob{id, withoutEmpty(v)})
		return nil
	})
}

func withoutEmpty(v values) values {
	maps.DeleteFunc(v, func(_, text string) bool { return text == "" })
	return v
}

func changeBackupJob(c *call) (reply, error) {
	check := func() error {
		if err := c.checkJobPool(); err != nil {
			return err
		}
		if err := c.checkJobCaller(); err != nil {
			return err
		}
		return c.checkJobTimes(false)
	}
	return c.updateJobs(check, func() error {
		set, err := c.jobValues()
		remove := listOf(c.params["delete"])
		switch {
		case err != nil:
			return err
		case len(set) == 0 && len(remove) == 0:
			return apiErrorf("no options specified")
		}
		if err := verifyJob(set, false); err != nil {
			return err
		}
		j := c.sim.backupJob(c.vars["id"])
		if j == nil {
			return apiErrorf("no such vzdump job")
		}
		next := maps.Clone(j.values)
		if set["storage"] != "" {
			next["storage"] = set["storage"]
		}
		if err := c.checkJobStorage(next); err != nil {
			return err
		}
		for _, k := range remove {
			if _, known := backupJobRules[k]; !known || k == "enabled" {
				return paramError("delete", "unknown option '"+k+"'")
			}
			delete(next, k)
		}
		maps.Copy(next, set)
		replaceSelection(next, set)
		if err := verifyJob(next, true); err != nil {
			return err
		}
		j.values = withoutEmpty(next)
		return nil
	})
}

// replaceSelection removes the selection of a job that a new one replaces. The state is locked.
//
// Source: PVE::API2::Backup update_job.
func replaceSelection(v, set values) {
	var replaced []string
	switch {
	case set["vmid"] != "":
		replaced = []string{"all", "exclude", "pool"}
	case set["all"] == "1":
		replaced = []string{"vmid", "pool"}
	case v["pool"] != "":
		replaced = []string{"vmid", "all", "exclude"}
	}
	for _, k := range replaced {
		delete(v, k)
	}
}

func deleteBackupJob(c *call) (reply, error) {
	return c.updateJobs(func() error { return nil }, func() error {
		j := c.sim.backupJob(c.vars["id"])
		if j == nil {
			return noBackupJob(c.vars["id"])
		}
		c.sim.backupJobs = slices.DeleteFunc(c.sim.backupJobs, func(other *backupJob) bool { return other == j })
		return nil
	})
}

// dropFromBackupJobs takes a guest out of the lists of all jobs, as a destroy with purge does. A job whose last guest it was is removed. The state is locked.
func (s *Sim) dropFromBackupJobs(vmid int) {
	s.backupJobs = slices.DeleteFunc(s.backupJobs, func(j *backupJob) bool {
		if j.values["vmid"] == "" {
			return false
		}
		rest := slices.DeleteFunc(listOf(j.values["vmid"]), func(id string) bool { return id == itoa(vmid) })
		j.values["vmid"] = strings.Join(rest, ",")
		return len(rest) == 0
	})
}

// guestsOf returns the vmids that a job backs up on any node, sorted. They need not exist. The state is locked.
//
// Source: PVE::VZDump get_included_guests.
func (s *Sim) guestsOf(j *backupJob) []int {
	var vmids []int
	switch {
	case j.values["pool"] != "":
		if p := s.pools[j.values["pool"]]; p != nil {
			vmids = slices.Clone(p.vms)
		}
	case j.values["vmid"] != "":
		for _, id := range listOf(j.values["vmid"]) {
			vmids = append(vmids, atoi(id))
		}
	case j.values["all"] == "1":
		excluded := listOf(j.values["exclude"])
		for vmid := range s.guests {
			if !slices.Contains(excluded, itoa(vmid)) {
				vmids = append(vmids, vmid)
			}
		}
	}
	slices.Sort(vmids)
	return slices.Compact(vmids)
}

func includedVolumes(c *call) (reply, error) {
	j := c.sim.backupJob(c.vars["id"])
	if j == nil {
		return reply{}, noBackupJob(c.vars["id"])
	}
	var a array
	for _, vmid := range c.sim.guestsOf(j) {
		g := c.sim.guests[vmid]
		var o object
		o.num("id", int64(vmid))
		if g == nil {
			o.str("type", "unknown")
			o.num("leaf", 1)
			a.add(&o)
			continue
		}
		volumes := volumesOfBackup(g)
		o.str("name", g.name())
		o.str("type", string(g.kind))
		o.num("leaf", boolToInt(len(volumes) == 0))
		var children array
		for _, v := range volumes {
			children.add(v.object(g))
		}
		o.raw("children", children.bytes())
		a.add(&o)
	}
	var tree object
	tree.raw("children", a.bytes())
	return dataReply(tree.bytes())
}

// backupVolume is a volume of a guest, or a folder or a device of the host in a container, and whether a backup contains it.
type backupVolume struct {
	slot     string
	disk     drive
	included bool
	reason   string
}

// volumesOfBackup returns what backups of a guest contain, and what they leave out; no CD-ROM drive is among it.
//
// Source: get_backup_volumes of PVE::QemuConfig and PVE::LXC::Config.
func volumesOfBackup(g *guest) []backupVolume {
	var volumes []backupVolume
	for _, slot := range slotsOf(g.conf.Values, func(key string) bool { return isDisk(g.kind, key) }) {
		d, err := parseDisk(g.kind, slot, g.conf.Values[slot])
		if err != nil || d.isCDROM() {
			continue
		}
		v := backupVolume{slot: slot, disk: d}
		set, isSet := d.values["backup"]
		switch {
		case g.kind == QEMU && slot == "efidisk0" && g.conf.Values["bios"] != "ovmf":
			v.reason = "efidisk but no OMVF BIOS" // as Proxmox spells it
		case g.kind == QEMU && isSet:
			v.included, v.reason = set != "0", "backup=no" // also if it is included
		case g.kind == QEMU:
			v.included, v.reason = true, "backup=yes"
		case slot == "rootfs":
			v.included, v.reason = true, "rootfs"
		case strings.HasPrefix(d.file(), "/"):
			v.reason = "not a volume"
		case set == "1":
			v.included, v.reason = true, "enabled"
		default:
			v.reason = "disabled"
		}
		volumes = append(volumes, v)
	}
	return volumes
}

// object returns the volume as a leaf of the tree of a job.
func (v backupVolume) object(g *guest) *object {
	o := &object{}
	o.str("id", itoa(g.vmid)+":"+v.slot)
	o.str("name", v.disk.file())
	o.str("reason", v.reason)
	o.num("included", boolToInt(v.included))
	o.num("leaf", 1)
	return o
}

// notBackedUp lists the guests that no job names, disabled jobs included, and that the caller may see.
func notBackedUp(c *call) (reply, error) {
	covered := map[int]bool{}
	for _, j := range c.sim.backupJobs {
		for _, vmid := range c.sim.guestsOf(j) {
			covered[vmid] = true
		}
	}
	var a array
	for _, vmid := range slices.Sorted(maps.Keys(c.sim.guests)) {
		if covered[vmid] || !c.allowed("/vms/"+itoa(vmid), "VM.Audit") {
			continue
		}
		var o object
		o.num("vmid", int64(vmid))
		o.str("type", string(c.sim.guests[vmid].kind))
		if name := c.sim.guests[vmid].name(); name != "" {
			o.str("name", name)
		}
		a.add(&o)
	}
	return dataReply(a.bytes())
}
