package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/internal/fixture"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kinds"
	"gitops-agent/reconcile/order"
	"gitops-agent/reconcile/reason"
)

const dataDisk = "local-lvm:vm-201-disk-1,size=8G"

// requiring returns web-1 with a manifest that requires backups.
func requiring(intents ...guest.Intent) guest.Desired {
	d := fixture.WantWeb(intents...)
	d.Backup = true
	return d
}

func drive(key string, pairs ...string) guest.Intent {
	in := guest.Intent{Key: key, Verb: guest.Want, Sub: map[string]string{}}
	for i := 0; i < len(pairs); i += 2 {
		in.Sub[pairs[i]] = pairs[i+1]
	}
	return in
}

// covered returns a reading of the cluster in which a job backs up all guests.
func covered(live guest.Observed) cluster.Snapshot {
	return cluster.Snapshot{
		Guests: map[int]guest.Observed{201: live},
		Objects: map[guest.Kind]cluster.Objects{kinds.BackupJobs: {
			ByID: map[string]cluster.Object{"nightly": {ID: "nightly", Keys: map[string]string{"enabled": "1", "all": "1"}}}, ReadAt: time.Unix(1, 0),
		}},
	}
}

// planned returns the plan of web-1, which is owned.
func planned(d guest.Desired, owned journal.Owned, got cluster.Snapshot) Guest {
	return New(Desired{Cluster: "home", Guests: []guest.Desired{d}, Owned: map[int]journal.Owned{201: owned}}, got).Guests[0]
}

// TestVolumeLeavesBackups plans a change that takes a volume out of the backups. It is a step of its own, so that a hold of it holds nothing else.
func TestVolumeLeavesBackups(t *testing.T) {
	t.Parallel()
	const lost = "VirtualMachine/web-1 (201): backup: scsi1 (local-lvm:vm-201-disk-1) in its backups -> in no backup"
	new201 := fixture.Owned201()
	new201.Claiming = true
	untagged := fixture.LiveWeb(guest.StatusStopped, "scsi1", dataDisk)
	delete(untagged.Keys, "tags")
	out, in := drive("scsi1", "backup", "0"), drive("scsi1", "backup", "1")
	tests := map[string]struct {
		want  guest.Desired
		owned journal.Owned
		live  guest.Observed
		steps []string // "keys: losses"
	}{
		"manifest": {
			requiring(fixture.MemoryIntent("4096"), out), fixture.Owned201(), fixture.LiveWeb(guest.StatusRunning, "scsi1", dataDisk), []string{"memory: ", "scsi1: " + lost},
		},
		"two_ways": {
			requiring(guest.Intent{Key: "bios", Verb: guest.Absent}, out), fixture.Owned201(),
			fixture.LiveWeb(guest.StatusStopped, "scsi1", dataDisk, "bios", "ovmf", "efidisk0", "local-lvm:vm-201-disk-2,size=4M"),
			[]string{"bios,scsi1: VirtualMachine/web-1 (201): backup: efidisk0 (local-lvm:vm-201-disk-2) in its backups -> in no backup; " + lost},
		},
		"detach_is_held_for_itself": {
			requiring(guest.Intent{Key: "scsi1", Verb: guest.Absent}), fixture.Owned201(), fixture.LiveWeb(guest.StatusRunning, "scsi1", dataDisk), []string{"scsi1: "},
		},
		"repair":          {requiring(in), fixture.Owned201(), fixture.LiveWeb(guest.StatusRunning, "scsi1", dataDisk+",backup=0"), []string{"scsi1: "}},
		"repair_to_out":   {requiring(out), fixture.Owned201(), fixture.LiveWeb(guest.StatusRunning, "scsi1", dataDisk+",backup=1"), []string{"scsi1: " + lost}},
		"not_required":    {fixture.WantWeb(out), fixture.Owned201(), fixture.LiveWeb(guest.StatusRunning, "scsi1", dataDisk), []string{"scsi1: "}},
		"new_volume":      {requiring(drive("scsi2", "storage", "ceph", "size", "1G", "backup", "0")), fixture.Owned201(), fixture.LiveWeb(guest.StatusRunning), []string{"scsi2: "}},
		"new_guest":       {requiring(out), new201, untagged, []string{"scsi1,tags: "}},
		"in_sync":         {requiring(in), fixture.Owned201(), fixture.LiveWeb(guest.StatusRunning, "scsi1", dataDisk), nil},
		"tag_was_removed": {requiring(out), fixture.Owned201(), untagged, []string{"tags: ", "scsi1: " + lost}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, step := range planned(tt.want, tt.owned, covered(tt.live)).Steps {
				var keys, losses []string
				for _, c := range step.Changes {
					keys = append(keys, c.Key)
				}
				for _, w := range step.Loses {
					losses = append(losses, w.String())
				}
				got = append(got, strings.Join(keys, ",")+": "+strings.Join(losses, "; "))
			}
			if diff := cmp.Diff(tt.steps, got); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

// TestVolumeThatNoBackupContains finds volumes that no backup contains.
func TestVolumeThatNoBackupContains(t *testing.T) {
	t.Parallel()
	const intro = "its manifest requires backups, and "
	out := fixture.LiveWeb(guest.StatusRunning, "scsi1", dataDisk+",backup=0")
	uncovered := covered(out)
	uncovered.Objects[kinds.BackupJobs].ByID["nightly"].Keys["enabled"] = "0"
	unread := covered(out)
	unread.Objects = nil
	invalid := requiring()
	invalid.Invalid = &guest.Invalid{Message: "got x, want y"}
	box := fixture.LiveWeb(guest.StatusRunning, "mp0", "local-lvm:vm-201-disk-1,mp=/data", "mp1", "local-lvm:vm-201-disk-2,mp=/b,backup=1", "mp2", "/srv,mp=/c", "rootfs", "local-lvm:vm-201-disk-0")
	container := requiring()
	box.Kind, container.Kind = guest.Container, guest.Container
	inContainer := fixture.Owned201()
	inContainer.Kind, inContainer.UUID = "Container", ""
	tests := map[string]struct {
		want  guest.Desired
		owned journal.Owned
		got   cluster.Snapshot
		texts []string
	}{
		"out":          {requiring(), fixture.Owned201(), covered(out), []string{intro + "no backup contains scsi1 (local-lvm:vm-201-disk-1)"}},
		"no_job":       {requiring(), fixture.Owned201(), uncovered, []string{intro + "no enabled backup job covers it; and no backup contains scsi1 (local-lvm:vm-201-disk-1)"}},
		"jobs_unknown": {requiring(), fixture.Owned201(), unread, []string{intro + "no backup contains scsi1 (local-lvm:vm-201-disk-1)"}},
		"said_so":      {requiring(drive("scsi1", "backup", "0")), fixture.Owned201(), covered(out), nil},
		"not_required": {fixture.WantWeb(), fixture.Owned201(), covered(out), nil},
		"invalid":      {invalid, fixture.Owned201(), covered(out), nil}, // what it says is not known
		"in":           {requiring(), fixture.Owned201(), covered(fixture.LiveWeb(guest.StatusRunning, "scsi1", dataDisk)), nil},
		"other_guest":  {requiring(), inContainer, covered(box), nil}, // its volumes are not those of the manifest's guest
		"container":    {container, inContainer, covered(box), []string{intro + "no backup contains mp0 (local-lvm:vm-201-disk-1), mp2 (/srv)"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, c := range planned(tt.want, tt.owned, tt.got).Conditions {
				if c.Reason == reason.NoBackup {
					got = append(got, c.Message)
				}
			}
			if diff := cmp.Diff(tt.texts, got); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
		})
	}
}

// A rollback takes a volume out of the backups that the snapshot leaves out. Its approval names each of them.
func TestRollbackNamesVolumesThatLeaveBackups(t *testing.T) {
	t.Parallel()
	live := fixture.LiveWeb(guest.StatusStopped, "scsi1", dataDisk)
	then := map[string]string{"scsi1": dataDisk + ",backup=0", "snaptime": "1", "smbios1": live.Keys["smbios1"].Text}
	live.Snapshots = &guest.Snapshots{Digest: live.Digest, Sections: []guest.SnapshotSection{{Name: "s1", Keys: then}}}
	d := requiring()
	request := order.Request{Op: cluster.OpRollback, Params: map[string]string{order.KeyName: "s1"}, Guest: d.Ref}
	o := order.Open{Request: request, Order: journal.Order{Ordered: journal.Ordered{Key: "k", Identity: fixture.Owned201().Identity}}}
	losses := func(d guest.Desired) int {
		want := Desired{Cluster: "home", Guests: []guest.Desired{d}, Owned: map[int]journal.Owned{201: fixture.Owned201()}, Orders: map[int][]order.Open{201: {o}}}
		steps := New(want, covered(live)).Guests[0].Orders
		if len(steps) != 1 || steps[0].Refused != "" {
			t.Fatalf("got steps %+v, want one rollback", steps)
		}
		return len(steps[0].Loses)
	}
	if got := losses(d); got != 1 {
		t.Errorf("got %d losses of a guest that requires backups, want one", got)
	}
	if got := losses(fixture.WantWeb()); got != 0 {
		t.Errorf("got %d losses of a guest that requires none, want none", got)
	}
}

// TestMountOfAProtectedContainerLeavesBackups lifts the protection for the change, and sets it again. The step is the same one if a person took the protection away.
func TestMountOfAProtectedContainerLeavesBackups(t *testing.T) {
	t.Parallel()
	owned := fixture.Owned201()
	owned.Kind, owned.UUID = "Container", ""
	d := requiring(drive("mp0", "backup", "0"), drive("mp1", "ro", "1"))
	d.Kind = guest.Container
	step := func(pairs ...string) Step {
		live := fixture.LiveWeb(guest.StatusStopped, append(pairs, "mp0", "local-lvm:vm-201-disk-1,mp=/a,backup=1", "mp1", "local-lvm:vm-201-disk-2,mp=/b,backup=1")...)
		live.Kind = guest.Container
		for _, s := range planned(d, owned, covered(live)).Steps {
			if len(s.Loses) > 0 {
				return s
			}
		}
		t.Fatal("got no step that takes a volume out of backups, want one")
		return Step{}
	}
	protected, plain := step("protection", "1"), step()
	if !protected.Lifts() || len(protected.Changes) != 1 || len(protected.Calls) != 3 {
		t.Errorf("got %d changes in %d calls, which lift the protection: %t; want the one change between two calls for the protection", len(protected.Changes), len(protected.Calls), protected.Lifts())
	}
	plain.Protected = true
	if got, want := plain.Digest("home", "x"), protected.Digest("home", "x"); got != want {
		t.Errorf("got another digest without the protection: %s, want %s", got, want)
	}
}
