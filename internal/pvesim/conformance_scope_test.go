package pvesim

import (
	"regexp"
	"strings"
	"testing"
)

// endpoints are the groups of calls that are compared, by their path below the API root.
var endpoints = map[string]*regexp.Regexp{
	"guests":      regexp.MustCompile(`^/nodes/[^/]+/(?:qemu|lxc)(?:/|\?|$)|^/nodes/[^/]+/vzdump$`),
	"tasks":       regexp.MustCompile(`^/nodes/[^/]+/tasks(?:/|\?|$)|^/cluster/tasks$`),
	"storage":     regexp.MustCompile(`^/storage(?:/|\?|$)|^/nodes/[^/]+/storage(?:/|\?|$)`),
	"downloads":   regexp.MustCompile(`^/nodes/[^/]+/storage/[^/]+/download-url$`),
	"volumes":     regexp.MustCompile(`^/nodes/[^/]+/storage(?:\?|$|/[^/]+/content(?:/|\?|$))`),
	"pools":       regexp.MustCompile(`^/pools(?:/|\?|$)`),
	"access":      regexp.MustCompile(`^/access/permissions(?:\?|$)`),
	"cluster":     regexp.MustCompile(`^/cluster(?:$|/(?:resources|status|options|nextid|ha)(?:/|\?|$))|^/version$|^/nodes(?:/[^/]+(?:/version)?)?$`),
	"replication": regexp.MustCompile(`^/(?:cluster|nodes/[^/]+)/replication(?:/|$)`),
	"backups":     regexp.MustCompile(`^/cluster/backup(?:-info)?(?:/|\?|$)`),
	"firewall":    regexp.MustCompile(`^/(?:cluster|nodes/[^/]+)/firewall(?:/|\?|$)`),
	"unknown":     regexp.MustCompile(`^/nosuch$`), // a path that no API has
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
	if strings.Contains(path, ":prunebackups:") {
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
	"15/15":  "the recorder lacked chattr",
	"20/122": "which of twenty parallel creates had to wait for a lock",
	"20/154": "which of twenty parallel creates had to wait for a lock",
	"23/30":  "no broadcast of states had run for some time",
	"26/6":   "the container had no program to set addresses",
	"26/60":  "the recorder's host could not grow a mounted file system",
	"29/10":  "storages cannot be configured",
	"32/10":  "the order of tasks within a second",
	"39/36":  "the recorder lacked a directory for firmware",
	"39/37":  "the recorder lacked a directory for firmware",
}
