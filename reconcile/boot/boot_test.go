package boot_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile/boot"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

var (
	noon  = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	owned = journal.Owned{VMID: 201, Identity: "i"}
)

// machine is web-1 an hour after its process with this number began at a time.
func machine(pid int, started time.Time, keys ...string) guest.Observed {
	o := guest.Observed{
		Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "web-1", VMID: 201}, Node: "pve1", Status: guest.StatusRunning,
		ReadAt: started.Add(time.Hour), Process: &guest.Process{PID: pid, Uptime: time.Hour},
		Keys: map[string]guest.Value{"ide2": {Text: "local:201/vm-201-cloudinit.qcow2,media=cdrom", Set: true}, "scsi0": {Text: "local:201/vm-201-disk-0.qcow2,size=3G", Set: true}},
	}
	for i := 0; i < len(keys); i += 2 {
		o.Keys[keys[i]] = guest.Value{Text: keys[i+1], Set: true}
	}
	return o
}

// said returns what waits as "key known", "key unknown", in the order of the keys.
func said(record journal.Applied, live guest.Observed) string {
	var text strings.Builder
	for _, key := range []string{"ciuser", "ipconfig0", "name", "net0", "scsi0", "scsi1"} {
		if w, waits := boot.Waiting(record, owned, live)[key]; waits {
			fmt.Fprintf(&text, "%s %s, ", key, map[bool]string{true: "waits", false: "unknown"}[w.Known])
		}
	}
	return text.String()
}

// TestWaiting follows a machine through readings. Each names its process, why that runs, and what then waits.
func TestWaiting(t *testing.T) {
	t.Parallel()
	type reading struct {
		live guest.Observed
		why  boot.Evidence
		want string
	}
	first := machine(1, noon, "ciuser", "ops", "ipconfig0", "ip=dhcp", "name", "web")
	other := func(pid int) guest.Observed {
		return machine(pid, noon.Add(time.Duration(pid)*time.Hour), "ciuser", "ops", "ipconfig0", "ip=10.0.0.5/24", "name", "web")
	}
	for name, readings := range map[string][]reading{
		"a change waits, and its return does not": {
			{other(1), boot.Evidence{Cause: boot.Same}, "ipconfig0 waits, "},
			{first, boot.Evidence{Cause: boot.Same}, ""},
		},
		"a boot":                                {{other(1), boot.Evidence{Cause: boot.Same}, "ipconfig0 waits, "}, {other(2), boot.Evidence{Cause: boot.Boot}, ""}},
		"a migration":                           {{other(1), boot.Evidence{Cause: boot.Same}, "ipconfig0 waits, "}, {other(2), boot.Evidence{Cause: boot.Moved}, "ipconfig0 waits, "}},
		"a change first seen after a boot":      {{other(2), boot.Evidence{Cause: boot.Boot}, "ipconfig0 unknown, "}, {other(3), boot.Evidence{Cause: boot.Boot}, ""}},
		"a change first seen after a migration": {{other(2), boot.Evidence{Cause: boot.Moved}, "ipconfig0 waits, "}},
		"nothing shows why":                     {{other(1), boot.Evidence{Cause: boot.Same}, "ipconfig0 waits, "}, {other(2), boot.Evidence{}, "ipconfig0 unknown, "}},
		"what was in effect stays so": {
			{other(1), boot.Evidence{Cause: boot.Same}, "ipconfig0 waits, "}, {other(2), boot.Evidence{Cause: boot.Boot}, ""}, {other(3), boot.Evidence{}, ""},
		},
		"a rollback to a snapshot from before the boot": {
			{other(1), boot.Evidence{Cause: boot.Same}, "ipconfig0 waits, "},
			{other(2), boot.Evidence{Cause: boot.Boot}, ""},
			{other(3), boot.Evidence{Cause: boot.RolledBack, Snapshot: noon.Add(time.Hour)}, "ipconfig0 unknown, "},
		},
		"a rollback to a snapshot from after the boot": {
			{other(1), boot.Evidence{Cause: boot.Same}, "ipconfig0 waits, "},
			{other(2), boot.Evidence{Cause: boot.Boot}, ""},
			{other(3), boot.Evidence{Cause: boot.RolledBack, Snapshot: noon.Add(2*time.Hour + 3*time.Minute)}, ""},
		},
		"a rollback to a snapshot from around the boot": {
			{other(1), boot.Evidence{Cause: boot.Same}, "ipconfig0 waits, "},
			{other(2), boot.Evidence{Cause: boot.Boot}, ""},
			{other(3), boot.Evidence{Cause: boot.RolledBack, Snapshot: noon.Add(2*time.Hour + time.Minute)}, "ipconfig0 unknown, "},
		},
		"a rollback to a snapshot that is not known": {{first, boot.Evidence{Cause: boot.RolledBack}, "ciuser unknown, ipconfig0 unknown, name unknown, scsi0 unknown, "}},
		"a rollback to a snapshot from before a value was removed": {
			{machine(1, noon, "ipconfig0", "ip=dhcp", "name", "web"), boot.Evidence{Cause: boot.Same}, "ciuser waits, "},
			{machine(2, noon.Add(2*time.Hour), "ipconfig0", "ip=dhcp", "name", "web"), boot.Evidence{Cause: boot.Boot}, ""},
			{machine(3, noon.Add(3*time.Hour), "ipconfig0", "ip=dhcp", "name", "web"), boot.Evidence{Cause: boot.RolledBack, Snapshot: noon.Add(time.Hour)}, "ciuser unknown, "},
			{machine(4, noon.Add(4*time.Hour), "ipconfig0", "ip=dhcp", "name", "web"), boot.Evidence{Cause: boot.Boot}, ""},
		},
		"a new disk has its options, and another option of it waits": {
			{machine(1, noon, "ciuser", "ops", "ipconfig0", "ip=dhcp", "name", "web", "scsi1", "local:201/d.raw,serial=A"), boot.Evidence{Cause: boot.Same}, ""},
			{machine(1, noon, "ciuser", "ops", "ipconfig0", "ip=dhcp", "name", "web", "scsi1", "local:201/d.raw,serial=B"), boot.Evidence{Cause: boot.Same}, "scsi1 waits, "},
			{machine(1, noon, "ciuser", "ops", "ipconfig0", "ip=dhcp", "name", "web", "scsi1", "ceph:vm-201-disk-1,serial=B"), boot.Evidence{Cause: boot.Same}, "scsi1 waits, "},
		},
		"the card of an address": {
			{machine(1, noon, "ciuser", "ops", "ipconfig0", "ip=dhcp", "name", "web", "net0", "virtio=BC:24:11:00:00:01,bridge=vmbr0"), boot.Evidence{Cause: boot.Same}, "net0 waits, "},
		},
		"the drive itself": {
			{machine(1, noon, "ciuser", "root", "ipconfig0", "ip=dhcp", "name", "web", "ide2", "none,media=cdrom"), boot.Evidence{Cause: boot.Same}, ""},
			{machine(1, noon, "ciuser", "root", "ipconfig0", "ip=dhcp", "name", "web"), boot.Evidence{Cause: boot.Same}, "ciuser waits, "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			record := boot.Baseline(journal.Applied{}, owned, first)
			for i, r := range readings {
				record, _ = boot.Follow(record, r.live, r.why)
				if got := said(record, r.live); got != r.want {
					t.Errorf("reading %d: got %q, want %q", i+1, got, r.want)
				}
				if again, changed := boot.Follow(record, r.live, boot.Evidence{Cause: boot.Same}); changed {
					t.Errorf("reading %d: got another record from the same reading: %+v, want %+v", i+1, again, record)
				}
			}
		})
	}
}

func TestStoppedMachineWaitsForNothing(t *testing.T) {
	t.Parallel()
	record := boot.Baseline(journal.Applied{}, owned, machine(1, noon, "ciuser", "ops"))
	stopped := machine(1, noon, "ciuser", "root")
	stopped.Status, stopped.Process = guest.StatusStopped, nil
	record, _ = boot.Follow(record, stopped, boot.Evidence{Cause: boot.Same})
	if got := said(record, stopped); got != "" {
		t.Errorf("stopped: got %q, want nothing", got)
	}
	record, _ = boot.Follow(record, machine(2, noon, "ciuser", "root"), boot.Evidence{Cause: boot.Boot})
	if got := said(record, machine(2, noon, "ciuser", "root")); got != "" {
		t.Errorf("started: got %q, want what it had when it was started in effect", got)
	}
}

// TestExplain finds what has happened since a process that began an hour before noon until one that began at noon, from tasks, each with its type, node, and the seconds
// from noon of its begin and end.
func TestExplain(t *testing.T) {
	t.Parallel()
	task := func(kind string, from, to int) cluster.Task {
		return cluster.Task{
			UPID: fmt.Sprint(kind, from), Node: "pve1", Type: kind, Outcome: cluster.TaskSucceeded,
			Start: noon.Add(time.Duration(from) * time.Second), End: noon.Add(time.Duration(to) * time.Second),
		}
	}
	failed := func(t cluster.Task) cluster.Task { t.Outcome = cluster.TaskFailed; return t }
	target := func(t cluster.Task) cluster.Task { t.Node = "pve2"; return t }
	before := journal.Process{Node: "pve1", PID: 1, Start: noon.Add(-time.Hour)}
	for name, test := range map[string]struct {
		tasks []cluster.Task
		want  []boot.Cause
	}{
		"no task":                             {nil, []boot.Cause{boot.Unexplained}},
		"a start":                             {[]cluster.Task{task("qmstart", -1, 1)}, []boot.Cause{boot.Boot}},
		"a start and one that failed":         {[]cluster.Task{task("qmstart", -1, 1), failed(task("qmstart", 30, 31))}, []boot.Cause{boot.Boot}},
		"a start long ago":                    {[]cluster.Task{task("qmstart", -3600, -3599)}, []boot.Cause{boot.Unexplained}},
		"the start of the process before":     {[]cluster.Task{task("qmstart", -3601, -100)}, []boot.Cause{boot.Unexplained}},
		"a reboot":                            {[]cluster.Task{task("qmreboot", -8, -2)}, []boot.Cause{boot.Boot}},
		"a reboot with its start":             {[]cluster.Task{task("qmreboot", -8, -2), task("qmstart", -1, 0)}, []boot.Cause{boot.Boot, boot.Boot}},
		"a migration":                         {[]cluster.Task{task("qmigrate", -2, 20), target(task("qmstart", -1, 0))}, []boot.Cause{boot.Moved}},
		"a migration without its inner start": {[]cluster.Task{task("qmigrate", -2, 20)}, []boot.Cause{boot.Moved}},
		"a migration while it was down, then a start that no task shows": {[]cluster.Task{task("qmigrate", -60, -30)}, []boot.Cause{boot.Unexplained}},
		"a start after a migration":                                      {[]cluster.Task{task("qmigrate", -100, -80), task("qmstart", -1, 1)}, []boot.Cause{boot.Moved, boot.Boot}},
		"a start right after a migration": {
			[]cluster.Task{task("qmigrate", -30, -3), target(task("qmstart", -29, -28)), target(task("qmstart", -1, 1))}, []boot.Cause{boot.Moved, boot.Boot},
		},
		"a start, then a migration":             {[]cluster.Task{task("qmstart", -60, -58), task("qmigrate", -2, 20), target(task("qmstart", -1, 0))}, []boot.Cause{boot.Boot, boot.Moved}},
		"a start, then a migration that failed": {[]cluster.Task{task("qmstart", -1, 1), failed(task("qmigrate", 60, 80))}, []boot.Cause{boot.Boot, boot.Moved}},
		"a start of a suspended machine":        {[]cluster.Task{task("qmsuspend", -60, -50), task("qmstart", -1, 1)}, []boot.Cause{boot.Moved}},
		"a resumption of a suspended machine":   {[]cluster.Task{task("qmsuspend", -60, -50), task("qmresume", -1, 1)}, []boot.Cause{boot.Moved}},
		"a start of a suspended machine that could not be moved": {
			[]cluster.Task{task("qmsuspend", -60, -50), failed(task("qmigrate", -40, -39)), task("qmstart", -1, 1)}, []boot.Cause{boot.Moved, boot.Moved},
		},
		"a suspended machine that no task started": {[]cluster.Task{task("qmstart", -600, -599), task("qmsuspend", -60, -50)}, []boot.Cause{boot.Unexplained}},
		"the second start after a suspension": {
			[]cluster.Task{task("qmsuspend", -600, -590), task("qmstart", -500, -499), task("qmstart", -1, 1)}, []boot.Cause{boot.Moved, boot.Boot},
		},
		"a start, then a pause":            {[]cluster.Task{task("qmstart", -1, 1), task("qmresume", 30, 30)}, []boot.Cause{boot.Boot}},
		"a rollback with memory":           {[]cluster.Task{task("qmstart", -900, -899), task("qmrollback", -5, 1)}, []boot.Cause{boot.Boot, boot.RolledBack}},
		"a rollback without, then a start": {[]cluster.Task{task("qmrollback", -60, -50), task("qmstart", -1, 1)}, []boot.Cause{boot.RolledBack, boot.Boot}},
		"a rollback with memory, then a migration": {
			[]cluster.Task{task("qmrollback", -60, -50), task("qmigrate", -2, 20), target(task("qmstart", -1, 0))}, []boot.Cause{boot.RolledBack, boot.Moved},
		},
		"a rollback before the process of the record": {[]cluster.Task{task("qmrollback", -3700, -3690), task("qmstart", -3600, -3599), task("qmstart", -1, 1)}, []boot.Cause{boot.Boot}},
		"with a clock that is ahead": {
			[]cluster.Task{task("qmrollback", -3610, -3605), task("qmstart", -3541, -3539), task("qmstart", 59, 61)}, []boot.Cause{boot.Boot},
		},
		"after the reading": {[]cluster.Task{task("qmstart", -1, 1), task("qmrollback", 3000, 3010)}, []boot.Cause{boot.Boot}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []boot.Cause
			for _, h := range boot.Explain(test.tasks, before, machine(2, noon), false) {
				got = append(got, h.Cause)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

// TestExplainWithoutANode finds what explains a process although the tasks of a node that is offline are not known.
func TestExplainWithoutANode(t *testing.T) {
	t.Parallel()
	task := func(kind, node string, from int) cluster.Task {
		at := noon.Add(time.Duration(from) * time.Second)
		return cluster.Task{UPID: fmt.Sprint(kind, from), Node: node, Type: kind, Outcome: cluster.TaskSucceeded, Start: at, End: at.Add(time.Second)}
	}
	before := journal.Process{Node: "pve1", PID: 1, Start: noon.Add(-time.Hour)}
	for name, test := range map[string]struct {
		tasks []cluster.Task
		want  boot.Cause
	}{
		"a start":                           {[]cluster.Task{task("qmstart", "pve1", -1)}, boot.Unexplained}, // or of a migration from the node
		"a start after a stop":              {[]cluster.Task{task("qmstop", "pve1", -60), task("qmstart", "pve1", -1)}, boot.Boot},
		"a start after a stop elsewhere":    {[]cluster.Task{task("qmstop", "pve2", -60), task("qmstart", "pve1", -1)}, boot.Unexplained},
		"a start after a stop and two ways": {[]cluster.Task{task("qmstop", "pve1", -90), task("qmigrate", "pve1", -60), task("qmstart", "pve1", -1)}, boot.Unexplained},
		"a reboot":                          {[]cluster.Task{task("qmreboot", "pve1", -3), task("qmstart", "pve1", -1)}, boot.Boot},
		"a resumption":                      {[]cluster.Task{task("qmsuspend", "pve1", -60), task("qmstart", "pve1", -1)}, boot.Unexplained},
	} {
		history := boot.Explain(test.tasks, before, machine(2, noon), true)
		if got := history[len(history)-1].Cause; got != test.want {
			t.Errorf("%s: got %d, want %d", name, got, test.want)
		}
	}
}

// TestSnapshotOfARollback finds the snapshot to which a machine was rolled back by the chain of its snapshots.
func TestSnapshotOfARollback(t *testing.T) {
	t.Parallel()
	at := func(hour int) time.Time { return noon.Add(time.Duration(hour) * time.Hour) }
	section := func(name, parent string, hour int) guest.SnapshotSection {
		return guest.SnapshotSection{Name: name, Keys: map[string]string{"parent": parent, "snaptime": fmt.Sprint(at(hour).Unix())}}
	}
	snapshots := guest.Snapshots{Sections: []guest.SnapshotSection{section("a", "", 0), section("b", "a", 2), section("c", "b", 6), section("x", "y", 9), section("y", "x", 9)}}
	rolledBack := func(hour int) boot.Evidence { return boot.Evidence{Cause: boot.RolledBack, At: at(hour)} }
	for name, test := range map[string]struct {
		history []boot.Evidence
		parent  string
		want    []time.Time
	}{
		"the parent":                {[]boot.Evidence{rolledBack(4)}, "b", []time.Time{at(2)}},
		"a snapshot since":          {[]boot.Evidence{rolledBack(4)}, "c", []time.Time{at(2)}},
		"two, and a boot between":   {[]boot.Evidence{rolledBack(1), {Cause: boot.Boot, At: at(1)}, rolledBack(4)}, "b", []time.Time{at(0), {}, at(2)}},
		"the snapshot was deleted":  {[]boot.Evidence{rolledBack(4)}, "", []time.Time{{}}},
		"a chain without an end":    {[]boot.Evidence{rolledBack(4)}, "x", []time.Time{{}}},
		"a snapshot that is not it": {[]boot.Evidence{rolledBack(-1)}, "a", []time.Time{{}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []time.Time
			for _, h := range boot.WithSnapshots(test.history, snapshots, test.parent) {
				got = append(got, h.Snapshot)
			}
			if !slices.EqualFunc(got, test.want, time.Time.Equal) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// TestBootOfTheAgent notes a start by a step: a process that is much younger than the step was started by others.
func TestBootOfTheAgent(t *testing.T) {
	t.Parallel()
	first, other := machine(1, noon, "ipconfig0", "ip=dhcp"), "ip=10.0.0.5/24"
	record, _ := boot.Follow(boot.Baseline(journal.Applied{}, owned, first), machine(1, noon, "ipconfig0", other))
	record.Booted, record.BootedAt = true, noon.Add(2*time.Hour)
	for name, test := range map[string]struct {
		live guest.Observed
		want boot.Cause
		says string
	}{
		"the process of the step": {machine(2, noon.Add(2*time.Hour), "ipconfig0", other), boot.Boot, ""},
		"a later process":         {machine(2, noon.Add(3*time.Hour), "ipconfig0", other), boot.Unexplained, "ipconfig0 unknown, "},
		"the process before":      {machine(1, noon, "ipconfig0", other), boot.Same, "ipconfig0 waits, "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := boot.Quick(record, test.live); got != test.want || said(record, test.live) != test.says {
				t.Errorf("got %d, and %q, want %d and %q", got, said(record, test.live), test.want, test.says)
			}
		})
	}
}
