package pvesim

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
		"variable":       {"vmid=200 storage=local notes-template={{bogus}}", "", `"notes-template":"found unknown: variable 'bogus' at char 4\n"`},                               // 63
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

// TestVolumesOfABackup reads which volumes the backups of a guest contain, from the job and from the log of a backup.
//
// Source: get_backup_volumes of PVE::QemuConfig and PVE::LXC::Config; prepare of PVE::VZDump::QemuServer and PVE::VZDump::LXC.
func TestVolumesOfABackup(t *testing.T) {
	tests := map[string]struct {
		make func(s *Sim) error
		tree []string // "slot included reason"
		log  []string
	}{
		"machine": {
			func(s *Sim) error {
				_, err := s.AddVM(Guest{VMID: 200, Config: "scsi0: local:1\nscsi1: local:1,backup=0\nvirtio0: local:1,backup=1\nide2: none,media=cdrom\nide0: local:cloudinit\nefidisk0: local:1\ntpmstate0: local:1\n"})
				return err
			},
			[]string{"efidisk0 0 efidisk but no OMVF BIOS", "scsi0 1 backup=yes", "scsi1 0 backup=no", "tpmstate0 1 backup=yes", "virtio0 1 backup=no"},
			[]string{"exclude disk 'efidisk0' 'local:200/vm-200-disk-0.raw' (efidisk but no OMVF BIOS)", "exclude disk 'scsi1' 'local:200/vm-200-disk-2.raw' (backup=no)", "include disk 'virtio0'"},
		},
		"machine_with_ovmf": {
			func(s *Sim) error {
				_, err := s.AddVM(Guest{VMID: 200, Config: "bios: ovmf\nefidisk0: local:1\n"})
				return err
			},
			[]string{"efidisk0 1 backup=yes"},
			[]string{"include disk 'efidisk0'"},
		},
		"container": {
			func(s *Sim) error {
				_, err := s.AddCT(Guest{VMID: 200, Config: "rootfs: local:1\nmp0: local:1,mp=/a\nmp1: local:1,mp=/b,backup=1\nmp2: local:1,mp=/c,backup=0\n"})
				return errors.Join(err, s.Edit(200, "mp3", "/srv,mp=/d,backup=1"), s.Edit(200, "mp4", "/dev/sdb1,mp=/e"))
			},
			[]string{"mp0 0 disabled", "mp1 1 enabled", "mp2 0 disabled", "mp3 0 not a volume", "mp4 0 not a volume", "rootfs 1 rootfs"},
			[]string{
				"including mount point rootfs ('/') in backup", "excluding volume mount point mp0 ('/a') from backup (disabled)", "including mount point mp1 ('/b') in backup",
				"excluding bind mount point mp3 ('/d') from backup (not a volume)", "excluding device mount point mp4 ('/e') from backup (not a volume)",
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, Options{Nodes: []string{"pve1"}}, func(t *testing.T, c *client) {
				if err := tt.make(c.sim); err != nil {
					t.Fatal(err)
				}
				c.sim.SetBackupJob("nightly", map[string]string{"enabled": "1", "all": "1"})
				var tree struct {
					Data struct {
						Children []struct {
							Children []struct {
								ID, Reason string
								Included   int
							}
						}
					}
				}
				if err := json.Unmarshal([]byte(c.ok("GET", "/cluster/backup/nightly/included_volumes").body), &tree); err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, v := range tree.Data.Children[0].Children {
					got = append(got, fmt.Sprintf("%s %d %s", strings.TrimPrefix(v.ID, "200:"), v.Included, v.Reason))
				}
				slices.Sort(got)
				if !slices.Equal(got, tt.tree) {
					t.Errorf("volumes of the job: got %q, want %q", got, tt.tree)
				}
				upid := strings.Trim(string(c.ok("POST", "/nodes/pve1/vzdump", "vmid=200", "storage=local").data(t)), `"`)
				c.wait(upid)
				log := c.ok("GET", "/nodes/pve1/tasks/"+upid+"/log", "limit=0").body
				for _, line := range tt.log {
					if !strings.Contains(log, line) {
						t.Errorf("log: got %s, want %q", log, line)
					}
				}
			})
		})
	}
}
