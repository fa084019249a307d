package pvesim

// secondScope lists the files of the second series that are compared, with the groups of endpoints. Of file 64 the mappings are missing, because the
// simulator does not have these calls, of file 55 the calendar, of file 61 its uploads, and of file 56 all but backup jobs: it prunes backups, which its later entries
// show; TestBackupsAsRecorded compares its backups.
var secondScope = map[string]string{
	"50-guest-firewall-qemu":                "guests tasks",
	"51-guest-firewall-rules":               "guests tasks",
	"52-guest-firewall-alias-ipset":         "guests tasks",
	"53-guest-firewall-lifecycle":           "guests tasks",
	"54-cluster-firewall":                   "guests firewall",
	"61-images-download-upload":             "downloads",
	"55-backup-jobs":                        "backups guests tasks pools",
	"56-backup-jobs-2-and-vzdump":           "backups",
	"57-backup-lock-startall":               "guests",
	"58-snapshots-more":                     "guests tasks",
	"59-snapshots-and-volumes":              "guests tasks storage",
	"60-run-state-orders":                   "guests tasks",
	"62-images-content-and-import":          "guests tasks volumes downloads",
	"63-ha-rules":                           "cluster guests tasks",
	"64-replication-and-mapping":            "replication",
	"65-pools-acl-notes-tags":               "pools guests tasks access",
	"66-smbios-vmgenid-memory-throttle":     "guests tasks",
	"68-download-and-protected-backup":      "guests tasks volumes downloads",
	"67-vmgenid-as-root-and-clone-identity": "guests tasks",
}

// secondStubbed are entries that show a stub of the recorder and not Proxmox, by file and number. They are outside the scope.
var secondStubbed = map[string]string{
	"55/18": "the recorder had no parser of calendar events, and took any text for one",
	"55/19": "the job that 55/18 made",
}

// secondExceptions state why an entry differs, by file and number. Exceptions count as failed, and an entry that is equal must not be in the list.
var secondExceptions = map[string]string{
	"54/32":  "the time of the recording",
	"55/106": "the recorder made the container less than a round of the inventory before",
	"58/42":  "the recorder's QEMU answered no query about its state",
	"58/48":  "the recorder's QEMU answered no query about its state",
	"60/19":  "the recorder's QEMU answered no query about its state",
	"60/27":  "the monitor is absent",
	"60/30":  "the recorder's QEMU answered no query about its state",
	"62/7":   "volumes of the recorder's other guests",
	"63/44":  "of two rules with the same order, either may be first",
	"63/89":  "a call of the manager is absent",
	"68/75":  "progress of a backup or restore",
	"60/75":  "the recorder's QEMU could not save",
}
