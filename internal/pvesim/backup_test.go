package pvesim

import (
	"strings"
	"testing"
)

// TestBackupsAsRecorded makes the backups of the recording 56 whose outcome needs no earlier recording. The comment names the entry.
func TestBackupsAsRecorded(t *testing.T) {
	for name, tt := range map[string]struct {
		params string
		as     string // token; root@pam!full if empty
		want   string // reason and errors of the reply, or the end of the task with the log of a failed backup
	}{
		"no_such_guest":  {"vmid=9798 storage=local", "", "ERROR: Backup of VM 9798 failed - unable to find VM '9798'"},                                                           // 51, 52
		"no_storage":     {"vmid=200 storage=nope", "", "could not activate storage 'nope': storage 'nope' does not exist could not get storage information for 'nope'"},          // 53
		"wrong_content":  {"vmid=200 storage=local-lvm", "", "could not get storage information for 'local-lvm': can't use storage 'local-lvm' for backups - wrong content type"}, // 54
		"no_selection":   {"storage=local", "", `"vmid":"property is missing"`},                                                                                                   // 55
		"two_selections": {"vmid=200 all=1", "", `"all":"option conflicts with option 'vmid'"`},                                                                                   // 56
		"no_pool":        {"pool=nopool", "", "pool 'nopool' does not exist"},                                                                                                     // 57
		"mode":           {"vmid=200 mode=x", "", `"mode":"value 'x' does not have a value in the enumeration 'snapshot, suspend, stop'"`},                                        // 58
		"stdout":         {"vmid=200 stdout=1", "", `"stdout":"option is only allowed on the command line interface."`},                                                           // 61
		"stop":           {"stop=1", "", "OK"},                                                                                                                                    // 62
		"variable":       {"vmid=200 notes-template={{bogus}}", "", `"notes-template":"found unknown: variable 'bogus' at char 4\n"`},                                             // 63
		"no_privilege":   {"vmid=200 storage=local", "r@pve!ro", "Permission check failed (/storage/local, Datastore.AllocateSpace)"},                                             // 65
		"bandwidth":      {"vmid=200 storage=local bwlimit=5", "r@pve!ro", "Permission check failed (/, Sys.Modify)"},                                                             // 66
		"tmpdir":         {"vmid=200 storage=local tmpdir=/tmp", "", `"tmpdir":"Only root may set this option."`},                                                                 // 67
		"locked":         {"vmid=201 storage=local lockwait=0", "", "ERROR: Backup of VM 201 failed - CT is locked (backup)"},                                                     // 84, 85
		"one_of_two":     {"vmid=200,9798 storage=local", "", "Finished Backup of VM 200"},                                                                                        // 87, 88
	} {
		t.Run(name, func(t *testing.T) {
			opts := Options{Tokens: append(DefaultTokens(), Token{ID: "r@pve!ro", Secret: "s", ACL: []ACL{{Path: "/", Role: "PVEAuditor"}}})}
			bubble(t, opts, func(t *testing.T, c *client) {
				for vmid, conf := range map[int]string{200: "hostname: bkct\nrootfs: local:1\n", 201: "lock: backup\nrootfs: local:1\n"} {
					if _, err := c.sim.AddCT(Guest{VMID: vmid, Config: conf}); err != nil {
						t.Fatal(err)
					}
				}
				as := c
				if tt.as != "" {
					as = c.as(tt.as)
				}
				got := as.call("POST", "/nodes/pve1/vzdump", strings.Fields(tt.params)...)
				outcome := got.reason + string(got.body)
				if upid := strings.Trim(string(got.data(t)), `"`); strings.HasPrefix(upid, "UPID:") {
					outcome = c.waitAndSay(upid)
				}
				if !strings.Contains(outcome, tt.want) {
					t.Errorf("got %s, want %s", outcome, tt.want)
				}
			})
		})
	}
}

// TestNotesOfABackup uses each variable of a template, and reads the notes in the list and of the volume (56/18 to 56/24).
func TestNotesOfABackup(t *testing.T) {
	bubble(t, Options{Nodes: []string{"pve1"}}, func(t *testing.T, c *client) {
		if _, err := c.sim.AddCT(Guest{VMID: 200, Config: "hostname: bkct\nrootfs: local:1\n"}); err != nil {
			t.Fatal(err)
		}
		if got := c.task("POST", "/nodes/pve1/vzdump", "vmid=200", "storage=local", "protected=1", `notes-template=n {{guestname}} {{node}} {{cluster}} {{vmid}}\nline2`); got != "OK" {
			t.Fatalf("got %s, want OK", got)
		}
		list := string(c.ok("GET", "/nodes/pve1/storage/local/content", "content=backup").body)
		if !strings.Contains(list, `"notes":"n bkct pve1 standalone node 200"`) {
			t.Errorf("list: got %s, want the first line of the notes", list)
		}
		volume := "/nodes/pve1/storage/local/content/local:backup%2Fvzdump-lxc-200-2000_01_01-00_00_00.tar.zst"
		fields := c.ok("GET", volume).fields(t)
		if fields["notes"] != `n bkct pve1 standalone node 200\nline2` || fields["format"] != "raw" || fields["protected"] != "1" {
			t.Errorf("volume: got %v, want the notes, format raw and protected", fields)
		}
		if got := c.call("DELETE", volume, "delay=5"); got.status != 500 || !strings.Contains(string(got.body), "cannot remove protected volume") {
			t.Errorf("got %d %s, want the error of the task", got.status, got.body)
		}
	})
}
