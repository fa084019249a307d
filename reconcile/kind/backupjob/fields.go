package backupjob

import "gitops-agent/reconcile/kind"

var (
	storageName = kind.Text{Want: "the name of a storage", Examples: []string{"local", "pbs"}, Pattern: `[A-Za-z][A-Za-z0-9._-]*[A-Za-z0-9]`}
	vmidOf      = kind.Text{Want: "a vmid", Examples: []string{"101"}, Pattern: `[1-9][0-9]{2,8}`, Number: true}
	poolName    = kind.Text{Want: "the id of a pool", Examples: []string{"web", "prod/web"}, Pattern: `[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+){0,2}`}
	count       = kind.Integer{Least: 0}
)

// fields are the fields of the spec. The keys dumpdir, tmpdir and script are for root@pam only, starttime and dow are an old form of schedule, and stop does not
// back up anything: it stops running backups.
func fields() []kind.Field {
	return []kind.Field{
		{Name: "schedule", Key: keySchedule, Required: "the times at which the backups begin", Doc: "When the job runs, as a calendar event of Proxmox: \"02:30\", \"sat 04:00\", \"mon..fri 22:00\".", Form: kind.CalendarEvent("02:30", "mon..fri 22:00")},
		{Name: "enabled", Key: keyEnabled, Doc: "Whether the job runs.", Form: kind.Flag{}},
		{Name: "guests", Required: "the guests that are backed up", Doc: "Which guests are backed up: exactly one of all, vmids, pool and labels.", Form: kind.Group{Fields: selectionFields()}},
		{Name: "node", Key: keyNode, Doc: "Only guests on this node are backed up.", Form: kind.Text{Want: "the name of a node", Examples: []string{"pve1"}, Pattern: `[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?`, Max: 63}},
		{Name: "storage", Key: keyStorage, Doc: "Storage that receives the backups. Without it, Proxmox uses local.", Form: storageName},
		{Name: "backupMode", Key: keyMode, Doc: "snapshot backs up running guests, suspend pauses them, stop shuts them down for the backup.", Form: kind.Choice{Words: []string{"snapshot", "suspend", "stop"}}},
		{Name: "compress", Doc: "Compression of the backups.", Form: kind.Choice{Words: []string{"none", "gzip", "lzo", "zstd"}}},
		{Name: "zstdThreads", Key: "zstd", Doc: "Threads of zstd; 0 is half of the cores.", Form: count},
		{Name: "gzipThreads", Key: "pigz", Doc: "Threads of gzip, by pigz if it is installed; 0 is gzip itself, 1 half of the cores.", Form: count},
		{Name: "retention", Doc: "Which backups of a guest on the storage are kept. Without it, the settings of the storage count.", Form: kind.Group{Fields: retentionFields()}},
		{Name: "prune", Key: keyPrune, Doc: "Whether older backups are removed after a backup. Proxmox's default: true.", Form: kind.Flag{}},
		{Name: "protected", Key: keyProtected, Doc: "The backups are marked as protected, so that neither prune nor a person removes them by accident. Needs storage.", Form: kind.Flag{}},
		{Name: "notes", Key: keyNotes, Doc: "Notes of each backup, on one line. {{cluster}}, {{guestname}}, {{node}} and {{vmid}} are replaced. Needs storage.", Form: kind.Text{Want: "a text on one line", Examples: []string{"{{guestname}}"}, Max: 1024}},
		{Name: "notificationMode", Key: "notification-mode", Doc: "auto, the notification system, or mail by sendmail to mailTo.", Form: kind.Choice{Words: []string{"auto", "notification-system", "legacy-sendmail"}}},
		{Name: "mailTo", Key: "mailto", Doc: "Addresses or users that receive mail.", Form: kind.List{Item: kind.Text{Want: "a mail address or a user", Examples: []string{"ops@example.org"}, Pattern: `[^\s,;]+`}}},
		{Name: "mailNotification", Key: "mailnotification", Doc: "When mail is sent.", Form: kind.Choice{Words: []string{"always", "failure"}}},
		{Name: "repeatMissed", Key: keyMissed, Doc: "A run that was missed because the node was off is made up for as soon as possible.", Form: kind.Flag{}},
		{Name: "bandwidthLimit", Key: keyBandwidth, Doc: "Limit of reading, in KiB/s; 0 is no limit.", Form: count},
		{Name: "ioPriority", Key: keyPriority, Doc: "I/O priority of BFQ, from 0 (highest) to 7; 8 is idle.", Form: kind.Integer{Least: 0, Most: 8}},
		{Name: "lockWait", Key: keyLockWait, Doc: "How long the job waits for another backup on the node, in minutes.", Form: count},
		{Name: "stopWait", Key: keyStopWait, Doc: "How long the job waits until a guest has stopped, in minutes.", Form: count},
		{Name: "performance", Doc: "Workers of the backup.", Form: kind.Group{Fields: []kind.Field{
			{Name: "maxWorkers", Key: "max-workers", Doc: "I/O workers of a virtual machine's backup.", Form: kind.Integer{Least: 1, Most: 256}},
			{Name: "pbsEntriesMax", Key: "pbs-entries-max", Doc: "Entries of a container's backup to Proxmox Backup Server that are kept in memory.", Form: kind.Integer{Least: 1}},
		}}},
		{Name: "fleecing", Doc: "A fleecing image takes the writes of a running virtual machine, so that a slow storage does not slow it down.", Form: kind.Group{Fields: []kind.Field{
			{Name: "enabled", Key: "enabled", Doc: "Whether fleecing images are used.", Form: kind.Flag{}},
			{Name: "storage", Key: "storage", Doc: "Storage of the images.", Form: storageName},
		}}},
		{Name: "pbsChangeDetection", Key: keyDetection, Doc: "How a container's backup to Proxmox Backup Server finds changed files.", Form: kind.Choice{Words: []string{"legacy", "data", "metadata"}}},
		{Name: "excludePaths", Key: keyPaths, Joiner: pathSeparator, Doc: "Files and directories of containers that are left out, as patterns of the shell.", Form: kind.List{Item: kind.Text{Want: "a path", Examples: []string{"/tmp/?*"}, Max: 1024}}},
		{Name: "standardExcludes", Key: keyStandard, Doc: "Temporary files and logs of containers are left out.", Form: kind.Flag{}},
		{Name: "quiet", Key: "quiet", Doc: "Only errors are logged.", Form: kind.Flag{}},
	}
}

func selectionFields() []kind.Field {
	return []kind.Field{
		{Name: "all", Key: keyAll, Doc: "true: every guest of the cluster.", Form: kind.Flag{}},
		{Name: "except", Key: keyExclude, Doc: "With all: vmids of guests that are left out.", Form: kind.List{Item: vmidOf}},
		{Name: "vmids", Key: keyVMID, Doc: "These guests.", Form: kind.List{Item: vmidOf}},
		{Name: "pool", Key: keyPool, Doc: "The guests of a pool, and not those of pools in it.", Form: poolName},
		{Name: "labels", Doc: "The guests of manifests that have all of these metadata.labels. The agent writes their vmids.", Form: kind.Labels{}},
	}
}

func retentionFields() []kind.Field {
	fields := []kind.Field{{Name: "keepAll", Key: "keep-all", Doc: "true: no backup is removed.", Form: kind.Flag{}}}
	for _, period := range []struct{ name, key, of string }{
		{"keepLast", "keep-last", "newest backups"},
		{"keepHourly", "keep-hourly", "hours"},
		{"keepDaily", "keep-daily", "days"},
		{"keepWeekly", "keep-weekly", "weeks"},
		{"keepMonthly", "keep-monthly", "months"},
		{"keepYearly", "keep-yearly", "years"},
	} {
		doc := "The newest backup of each of so many " + period.of + " is kept."
		if period.name == "keepLast" {
			doc = "So many " + period.of + " are kept."
		}
		fields = append(fields, kind.Field{Name: period.name, Key: period.key, Doc: doc, Form: count})
	}
	return fields
}
