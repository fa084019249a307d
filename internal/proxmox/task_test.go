package proxmox

import (
	"encoding/json"
	"errors"
	"testing"

	"gitops-agent/internal/recordings"

	"gitops-agent/internal/proxmox/meaning"
	"gitops-agent/reconcile/cluster"
)

// exitUPID returns the UPID of a task of vmid 151 on pve1.
func exitUPID(kind string) string {
	return "UPID:pve1:000000D3:0003A844:6B00C1F6:" + kind + ":151:root@pam:"
}

// The texts are exit statuses of Proxmox. A list of tasks and Wait return the same error for a text.
func TestFailedTasksHaveAMeaning(t *testing.T) {
	conflict, locked, unknown := cluster.ErrConflict, cluster.ErrLocked, cluster.ErrOutcomeUnknown
	tests := map[string]struct {
		kind, exit string
		want       error // nil: the text means no error of a Cluster
	}{
		"digest":           {"resize", "checksum mismatch (file change by other user?)", conflict},
		"digest_of_move":   {"qmmove", "detected modified configuration - file changed by other user? Try again.", conflict},
		"running_already":  {"qmstart", "VM 151 already running", conflict},
		"backup":           {"qmconfig", "VM is locked (backup)", locked},
		"flock":            {"qmstart", "can't lock file '/var/lock/qemu-server/lock-151.conf' - got timeout", locked},
		"quorum":           {"vzstart", "cluster not ready - no quorum?", cluster.ErrNotReady},
		"privilege":        {"qmclone", "Permission check failed (/storage/ceph, Datastore.AllocateSpace)", cluster.ErrDenied},
		"gone_vm":          {"qmstart", "Configuration file 'nodes/pve1/qemu-server/151.conf' does not exist", cluster.ErrNotExist},
		"gone_ct":          {"vzstart", "Configuration file 'nodes/pve1/lxc/151.conf' does not exist", cluster.ErrNotExist},
		"gone_for_stop":    {"qmshutdown", "unable to find configuration file for VM 151 on node 'pve1'", cluster.ErrNotExist},
		"other_gone":       {"qmstart", "Configuration file 'nodes/pve1/qemu-server/152.conf' does not exist", nil},
		"no_template":      {"qmclone", "Configuration file 'nodes/pve1/qemu-server/151.conf' does not exist", nil},
		"interrupted":      {"qmclone", "received interrupt", unknown},
		"worker_died":      {"qmcreate", "unexpected status", unknown},
		"log_unreadable":   {"qmcreate", "unable to get last line from task log - seek failed", unknown},
		"shutdown_in_vain": {"qmshutdown", "VM quit/powerdown failed - got timeout", nil},
		"no_space":         {"qmcreate", "unable to create VM 151 - no space left on device", nil},
		"no_shrinking":     {"resize", "shrinking disks is not supported", nil},
		"linked_clones":    {"qmdestroy", "base volume 'local-lvm:base-9000-disk-0' is still in use by linked cloned", cluster.ErrInvalid},
		"no_storage":       {"qmmove", "storage 'fast' does not exist", cluster.ErrInvalid},
		"warnings":         {"qmstart", "WARNINGS: 2", nil},
		"odd_warnings":     {"qmstart", "WARNINGS: none", nil},
		"well":             {"qmstart", "OK", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			exit, err := json.Marshal(test.exit)
			if err != nil {
				t.Fatal(err)
			}
			node := "/nodes/pve1/tasks"
			client := inProcess(t, byPath(t, map[string]stubReply{
				"GET " + node + "/" + exitUPID(test.kind) + "/status":                 ok(`{"status":"stopped","exitstatus":` + string(exit) + `}`),
				"GET " + node + "/" + exitUPID(test.kind) + "/log?start=0&limit=1":    ok(`[]`),
				"GET " + node + "?limit=2000&source=all":                              ok(`[{"upid":"` + exitUPID(test.kind) + `","endtime":1,"status":` + string(exit) + `}]`),
				"GET " + node + "/" + exitUPID(test.kind) + "/log?start=0&limit=5":    ok(`[]`),
				"GET " + node + "/" + exitUPID(test.kind) + "/log?start=0&limit=2000": ok(`[]`),
			}))
			task, err := client.Wait(t.Context(), exitUPID(test.kind))
			if err != nil || !errors.Is(task.Err, test.want) {
				t.Errorf("got task error %v, error %v, want task error %v", task.Err, err, test.want)
			}
			tasks, err := client.Tasks(t.Context(), cluster.TaskQuery{Node: "pve1"})
			if err != nil || len(tasks) != 1 || !errors.Is(tasks[0].Err, test.want) {
				t.Errorf("got tasks %v, error %v, want one with error %v", tasks, err, test.want)
			}
		})
	}
}

// Every recorded exit status means at most one error, and no success has an error.
func TestRecordedExitsHaveAMeaning(t *testing.T) {
	counts := map[string]int{}
	for _, e := range recordings.Exchanges(t) {
		var body struct {
			Data struct{ UPID, ExitStatus string }
		}
		if json.Unmarshal([]byte(e.Reply), &body) != nil || body.Data.ExitStatus == "" {
			continue
		}
		parsed, err := meaning.ParseUPID(body.Data.UPID)
		if err != nil {
			t.Errorf("got error %v, want a UPID", err)
			continue
		}
		task := parsed.Ended(body.Data.UPID, body.Data.ExitStatus, nil)
		if task.OK() != (body.Data.ExitStatus == "OK" || body.Data.ExitStatus == "WARNINGS: 2") || task.OK() && task.Err != nil {
			t.Errorf("%s: got OK %v, error %v", body.Data.ExitStatus, task.OK(), task.Err)
		}
		for _, meaning := range meanings(task.Err) {
			counts[meaning]++
		}
	}
	for _, want := range []error{cluster.ErrConflict, cluster.ErrLocked, cluster.ErrNotExist, cluster.ErrOutcomeUnknown} {
		if counts[want.Error()] == 0 {
			t.Errorf("got no recorded exit status that means %q among %v, want some", want, counts)
		}
	}
}

func TestTaskOutcome(t *testing.T) {
	tests := map[string]cluster.TaskOutcome{
		"OK":                        cluster.TaskSucceeded,
		"WARNINGS: 2":               cluster.TaskWarned,
		"WARNINGS: none":            cluster.TaskFailed,
		"WARNINGS: ":                cluster.TaskFailed,
		"start failed: exit code 1": cluster.TaskFailed,
		"received interrupt":        cluster.TaskFailed,
		"unexpected status":         cluster.TaskLost,
		"unable to get last line from task log '/var/log/pve/tasks/6/UPID'": cluster.TaskLost,
	}
	for exit, want := range tests {
		task := meaning.UPID{Kind: "qmstart"}.Ended(testUPID, exit, nil)
		ok := want == cluster.TaskSucceeded || want == cluster.TaskWarned
		if task.Outcome != want || task.OK() != ok || task.Lost() != (want == cluster.TaskLost) {
			t.Errorf("%q: got %q, OK %t, lost %t, want %q", exit, task.Outcome, task.OK(), task.Lost(), want)
		}
	}
}
