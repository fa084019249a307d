package pvesim

import (
	"regexp"
	"strings"
	"testing"
)

// endpoints are the groups of calls that are compared, by their path below the API root.
var endpoints = map[string]*regexp.Regexp{
	"guests":  regexp.MustCompile(`^/nodes/[^/]+/(?:qemu|lxc)(?:/|\?|$)|^/nodes/[^/]+/vzdump$`),
	"tasks":   regexp.MustCompile(`^/nodes/[^/]+/tasks(?:/|\?|$)|^/cluster/tasks$`),
	"storage": regexp.MustCompile(`^/storage(?:/|\?|$)|^/nodes/[^/]+/storage(?:/|\?|$)`),
	"volumes": regexp.MustCompile(`^/nodes/[^/]+/storage(?:\?|$|/[^/]+/content(?:/|\?|$))`),
	"pools":   regexp.MustCompile(`^/pools(?:/|\?|$)`),
	"access":  regexp.MustCompile(`^/access/permissions(?:\?|$)`),
	"cluster": regexp.MustCompile(`^/cluster(?:$|/(?:resources|status|options|nextid|ha)(?:/|\?|$))|^/version$|^/nodes(?:/[^/]+(?:/version)?)?$`),
	"unknown": regexp.MustCompile(`^/nosuch$`), // a path that no API has
}

// scope lists the recorded files and the groups of endpoints that are compared in each. Every entry in these groups counts. Three calls about
// the host are outside the scope: its load, its network interfaces, its log.
var scope = map[string]string{
	"01-auth-and-http":         "cluster guests access unknown",
	"02-cluster-and-nodes":     "cluster guests storage pools",
	"03-qemu-create":           "guests tasks cluster",
	"04-put-vs-post-config":    "guests tasks",
	"05-description":           "guests",
	"06-tags":                  "guests",
	"07-net":                   "guests",
	"08-disks":                 "guests tasks storage",
	"09-cloudinit":             "guests",
	"10-options":               "guests tasks",
	"11-running-vm-config":     "guests tasks",
	"12-reboot-followup":       "guests tasks",
	"13-locks-and-protection":  "guests tasks cluster",
	"14-resize-and-move":       "guests tasks",
	"15-clone-and-template":    "guests tasks",
	"16-snapshots":             "guests tasks",
	"17-power":                 "guests tasks",
	"18-destroy":               "guests tasks storage",
	"19-tasks":                 "guests tasks",
	"20-parallel":              "guests tasks cluster",
	"21-list-races":            "guests",
	"22-half-created":          "guests tasks",
	"23-lxc-create":            "guests tasks cluster",
	"24-lxc-config":            "guests",
	"25-lxc-config-2":          "guests tasks",
	"26-lxc-power-and-running": "guests tasks",
	"27-pools":                 "pools guests tasks cluster",
	"28-ha":                    "cluster guests tasks",
	"29-storage":               "storage",
	"31-json-bodies":           "guests tasks",
	"32-running-extra":         "guests tasks cluster",
	"33-daemon-down":           "cluster guests tasks",
	"34-lock-after-abort":      "guests tasks",
	"35-warnings-exitstatus":   "guests tasks storage",
	"36-list-500-race":         "guests",
	"37-backup-restore":        "guests tasks storage",
	"38-golden-image":          "guests tasks",
	"39-start-failures":        "guests tasks",
	"40-extra-checks":          "guests tasks",
	"41-sshkeys-slash":         "guests tasks",
}

func (of series) inScope(file, url string) bool {
	path := strings.TrimPrefix(url, apiRoot)
	if strings.Contains(path, ":download:") || strings.Contains(path, ":prunebackups:") {
		return false // a task of a call outside the scope
	}
	for group := range strings.FieldsSeq(of.scope[file]) {
		if endpoints[group].MatchString(path) {
			return true
		}
	}
	return false
}

// checkScope demands that every recorded file is in the scope and the other way round.
func checkScope(t *testing.T, of series) {
	t.Helper()
	for _, f := range of.files {
		if of.scope[f.Name] == "" {
			t.Errorf("scope: got no entry for %s, want its endpoints", f.Name)
		}
	}
	if len(of.files) != len(of.scope) {
		t.Errorf("recorded files: got %d, want the %d of the scope", len(of.files), len(of.scope))
	}
}

// exceptions state why an entry differs, by file and number. Exceptions count as failed, and an entry that is equal must not be in the list.
var exceptions = map[string]string{
	"10/152": "the recorder lacked virt-fw-vars",
	"12/1":   "the recorder lacked the EFI firmware",
	"14/49":  "progress of a copy",
	"14/53":  "progress of a copy",
	"15/3":   "progress of a copy",
	"15/15":  "the recorder lacked chattr",
	"15/27":  "progress of a copy",
	"16/49":  "progress of a copy",
	"16/59":  "the balloon driver reports free memory",
	"16/74":  "progress of a copy",
	"17/61":  "the balloon driver reports free memory",
	"17/66":  "the balloon driver reports free memory",
	"20/43":  "which of twenty parallel writes got which volume number",
	"20/45":  "which of twenty parallel writes got which volume number",
	"20/47":  "which of twenty parallel writes got which volume number",
	"20/49":  "which of twenty parallel writes got which volume number",
	"20/51":  "which of twenty parallel writes got which volume number",
	"20/53":  "which of twenty parallel writes got which volume number",
	"20/57":  "which of twenty parallel writes got which volume number",
	"20/59":  "which of twenty parallel writes got which volume number",
	"20/61":  "which of twenty parallel writes got which volume number",
	"20/63":  "which of twenty parallel writes got which volume number",
	"20/65":  "which of twenty parallel writes got which volume number",
	"20/67":  "which of twenty parallel writes got which volume number",
	"20/69":  "which of twenty parallel writes got which volume number",
	"20/73":  "which of twenty parallel writes got which volume number",
	"20/75":  "which of twenty parallel writes got which volume number",
	"20/77":  "which of twenty parallel writes got which volume number",
	"20/79":  "which of twenty parallel writes got which volume number",
	"20/80":  "which of twenty parallel writes got which volume number",
	"20/122": "which of twenty parallel creates had to wait for a lock",
	"20/154": "which of twenty parallel creates had to wait for a lock",
	"23/2":   "tar and ssh-keygen speak",
	"23/9":   "tar and ssh-keygen speak",
	"23/30":  "no broadcast of states had run for some time",
	"25/18":  "file system tools speak",
	"25/22":  "file system tools speak",
	"26/4":   "the file system is smaller than its volume",
	"26/6":   "the container had no program to set addresses",
	"26/60":  "file system tools speak",
	"26/71":  "the file system is smaller than its volume",
	"26/83":  "rsync speaks",
	"26/87":  "rsync speaks",
	"29/10":  "storages cannot be configured",
	"32/10":  "the order of tasks within a second",
	"32/25":  "a shutdown that waited for another",
	"35/14":  "the recorder lacked sendmail, which is found out before the backup begins",
	"37/5":   "progress of a backup or restore",
	"37/9":   "progress of a backup or restore",
	"38/2":   "progress of a copy",
	"39/36":  "the recorder lacked a directory for firmware",
	"39/37":  "the recorder lacked a directory for firmware",
	"39/52":  "progress of a backup or restore",
	"39/53":  "progress of a backup or restore",
	"39/54":  "progress of a backup or restore",
	"40/28":  "disk counters of a guest that has just started",
	"40/30":  "progress of a copy",
	"40/35":  "progress of a copy",
	"40/38":  "the copying program names its files when interrupted",
	"40/39":  "progress of a copy",
	"40/47":  "disk counters of a guest that has just started",
}
