package volumes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/internal/fixture"
)

// fakeCluster has the guests 201 (the guest of the calls, managed), 202 (managed) and 1000 on pve1, and 1001 on pve2.
type fakeCluster struct {
	fixture.FakeReader
	missing     string // a path without VM.Audit
	taken       bool   // the token loses VM.Audit after its privileges were read once
	offline     string // a node
	storages    []cluster.Storage
	jobs        []cluster.Replication
	stored      []cluster.StoredVolume
	storedErr   error
	listedAgain *cluster.Inventory // from the second inventory on
	inventories atomic.Int64
}

func (f *fakeCluster) Inventory(ctx context.Context) (cluster.Inventory, error) {
	f.Note("inventory")
	if f.inventories.Add(1) > 1 && f.listedAgain != nil {
		return *f.listedAgain, nil
	}
	return f.FakeReader.Inventory(ctx)
}

func (f *fakeCluster) MissingAudit(context.Context) (string, error) {
	f.Note("permissions")
	missing := f.missing
	if f.taken {
		f.missing = "/vms"
	}
	return missing, nil
}

func (f *fakeCluster) Nodes(context.Context) ([]cluster.Node, error) {
	f.Note("nodes")
	return []cluster.Node{{Name: "pve1", Online: f.offline != "pve1"}, {Name: "pve2", Online: f.offline != "pve2"}}, nil
}

func (f *fakeCluster) StorageConfigs(context.Context) ([]cluster.Storage, error) {
	f.Note("storages")
	return f.storages, nil
}

func (f *fakeCluster) Replications(context.Context) ([]cluster.Replication, error) {
	f.Note("replications")
	return f.jobs, nil
}

func (f *fakeCluster) StoredVolumes(_ context.Context, node, storage string, vmid int) ([]cluster.StoredVolume, error) {
	f.Note("stored %s on %s of %d", storage, node, vmid)
	var list []cluster.StoredVolume
	for _, v := range f.stored {
		if guest.VolumeStorage(v.ID) == storage && (vmid == 0 || v.Owner == vmid) {
			list = append(list, v)
		}
	}
	return list, f.storedErr
}

// count returns how many requests begin with a word.
func (f *fakeCluster) count(word string) int {
	return len(slices.DeleteFunc(slices.Clone(f.Asked), func(asked string) bool { return !strings.HasPrefix(asked, word) }))
}

func row(vmid int, node string) cluster.Row {
	return cluster.Row{Kind: guest.VirtualMachine, VMID: vmid, Node: node, Name: fmt.Sprint("vm-", vmid)}
}

// set sets a key of a guest, as an edit does.
func (f *fakeCluster) set(vmid int, key, text string) {
	g := f.Guests[vmid]
	g.Keys[key] = guest.Value{Text: text, Set: true}
	g.Digest += "x"
	f.Guests[vmid] = g
}

func newFake() *fakeCluster {
	f := &fakeCluster{
		storages: []cluster.Storage{
			{ID: "ceph", Shared: true, Backings: []string{"rbd a"}},
			{ID: "local-lvm", Backings: []string{"vg pve"}},
			{ID: "only1", Shared: true, Nodes: []string{"pve1"}},
			{ID: "thick", Backings: []string{"vg pve"}},
		},
	}
	f.Sections = map[int][]guest.SnapshotSection{}
	f.Guests = map[int]guest.Observed{}
	for vmid, node := range map[int]string{201: "pve1", 202: "pve1", 1000: "pve1", 1001: "pve2"} {
		f.Listed.Rows = append(f.Listed.Rows, row(vmid, node))
		f.Guests[vmid] = guest.Observed{
			Ref: guest.Ref{Kind: guest.VirtualMachine, Name: fmt.Sprint("vm-", vmid), VMID: vmid}, Node: node, Digest: fmt.Sprint("d", vmid), Keys: map[string]guest.Value{},
		}
	}
	slices.SortFunc(f.Listed.Rows, func(a, b cluster.Row) int { return a.VMID - b.VMID })
	for _, storage := range []string{"ceph", "local-lvm", "only1", "thick"} {
		for _, vmid := range []int{201, 1000, 1001} {
			f.stored = append(f.stored, cluster.StoredVolume{ID: fmt.Sprintf("%s:vm-%d-disk-0", storage, vmid), Owner: vmid})
		}
	}
	return f
}

func request(touches ...cluster.Touch) Request {
	return Request{
		Guest: guest.Ref{Kind: guest.VirtualMachine, Name: "web-1", VMID: 201}, Op: cluster.OpConfig, Node: "pve1", Touches: touches,
		Owned: func(vmid int) bool { return vmid == 201 || vmid == 202 },
	}
}

func TestCheck(t *testing.T) {
	const (
		local, shared = "local-lvm:vm-201-disk-0", "ceph:vm-201-disk-0"
		foreign       = "local-lvm:vm-1000-disk-0"
	)
	deletes := func(volume string) []cluster.Touch { return []cluster.Touch{{Volume: volume, Effect: cluster.Deletes}} }
	attaches := func(volume string) []cluster.Touch {
		return []cluster.Touch{{Volume: volume, Effect: cluster.Attaches}}
	}
	imports := func(volume string) []cluster.Touch { return []cluster.Touch{{Volume: volume, Effect: cluster.Imports}} }
	migrates := func(volume string) []cluster.Touch {
		return []cluster.Touch{{Volume: volume, Effect: cluster.Migrates}, {Effect: cluster.Migrates}}
	}
	tests := map[string]struct {
		prepare func(f *fakeCluster)
		touches []cluster.Touch
		inUse   string // a word of the InUseError
		unknown Cause  // of the UnknownError
	}{
		"free":                            {nil, deletes(local), "", ""},
		"own_volume_attached":             {nil, attaches(local), "", ""},
		"own_snapshot":                    {func(f *fakeCluster) { f.Sections[201] = sectionWith("scsi0", local) }, deletes(local), "", ""},
		"other_guest":                     {func(f *fakeCluster) { f.set(1000, "scsi3", local) }, deletes(local), "(1000) as scsi3", ""},
		"snapshot":                        {func(f *fakeCluster) { f.Sections[1000] = sectionWith("scsi0", local) }, deletes(local), "scsi0 of snapshot s1", ""},
		"unused_deleted":                  {func(f *fakeCluster) { f.set(202, "unused0", local) }, deletes(local), "unused0", ""},
		"unused_of_owned_attached":        {func(f *fakeCluster) { f.set(202, "unused0", foreign) }, attaches(foreign), "", ""},
		"unused_of_unmanaged_attached":    {func(f *fakeCluster) { f.set(1000, "unused0", foreign) }, attaches(foreign), "unused0", ""},
		"slot_of_owned_attached":          {func(f *fakeCluster) { f.set(202, "scsi0", foreign) }, attaches(foreign), "(202) as scsi0", ""},
		"import_of_a_used_disk":           {func(f *fakeCluster) { f.set(1000, "scsi0", foreign) }, imports(foreign), "(1000) as scsi0", ""},
		"import_of_an_unused_disk":        {func(f *fakeCluster) { f.set(1000, "unused0", foreign) }, imports(foreign), "", ""},
		"local_of_another_node":           {func(f *fakeCluster) { f.set(1001, "scsi3", local) }, deletes(local), "", ""},
		"shared_of_another_node":          {func(f *fakeCluster) { f.set(1001, "scsi3", shared) }, deletes(shared), "(1001) as scsi3", ""},
		"storage_of_this_node_alone":      {func(f *fakeCluster) { f.offline = "pve2" }, deletes("only1:vm-201-disk-0"), "", ""},
		"hidden_storage":                  {func(f *fakeCluster) { f.set(1001, "scsi3", "x:vm-201-disk-0") }, deletes("x:vm-201-disk-0"), "(1001) as scsi3", ""},
		"same_volume_group":               {func(f *fakeCluster) { f.set(1000, "scsi3", "thick:vm-201-disk-0") }, deletes(local), "(1000) as scsi3", ""},
		"replica":                         {replicated("pve1"), deletes(local), "replication", ""},
		"replica_on_another_node":         {replicated("pve3"), deletes(local), "", ""},
		"path":                            {func(f *fakeCluster) { f.set(1000, "args", "-drive file=/dev/pve/vm-201-disk-0") }, deletes(local), "a path in args", ""},
		"base_of_a_linked_clone":          {func(f *fakeCluster) { f.set(1000, "scsi0", "ceph:base-201-disk-0/vm-1000-disk-0") }, deletes("ceph:base-201-disk-0"), "linked clone", ""},
		"linked_clone_without_a_guest":    {storedClone("ceph:base-201-disk-0/vm-777-disk-0", 777), deletes("ceph:base-201-disk-0"), "has its linked clone", ""},
		"own_linked_clone":                {storedClone("ceph:base-201-disk-0/vm-201-disk-1", 201), deletes("ceph:base-201-disk-0"), "", ""},
		"unreferenced_of_the_vmid":        {func(f *fakeCluster) { f.set(1000, "scsi9", "ceph:vm-201-disk-7") }, deletes(""), "vm-201-disk-7", ""},
		"migration_of_a_local_volume":     {func(f *fakeCluster) { f.set(1000, "scsi3", local) }, migrates(local), "(1000) as scsi3", ""},
		"migration_of_a_shared_volume":    {func(f *fakeCluster) { f.set(1000, "scsi3", shared) }, migrates(shared), "", ""},
		"migration_leaves_shared_ones":    {func(f *fakeCluster) { f.set(1000, "scsi9", "ceph:vm-201-disk-7") }, migrates(local), "", ""},
		"no_audit":                        {func(f *fakeCluster) { f.missing = "/vms" }, deletes(local), "", NoAudit},
		"audit_taken_before_a_file":       {func(f *fakeCluster) { f.taken = true }, deletes("local:iso/debian-13.iso"), "", NoAudit},
		"audit_taken_before_a_disk":       {func(f *fakeCluster) { f.taken = true }, deletes(local), "", ""}, // its name shows a hidden owner
		"node_offline":                    {func(f *fakeCluster) { f.offline = "pve2" }, deletes(shared), "", NodeOffline},
		"node_offline_without_the_volume": {func(f *fakeCluster) { f.offline = "pve2" }, deletes(local), "", ""},
		"node_offline_without_guests":     {func(f *fakeCluster) { f.offline = "pve2"; f.Listed.Rows = f.Listed.Rows[:3] }, deletes(shared), "", ""},
		"guest_not_read":                  {func(f *fakeCluster) { f.ObserveErr = map[int]error{1000: cluster.ErrDenied} }, deletes(local), "", GuestUnread},
		"snapshots_not_read":              {func(f *fakeCluster) { f.SnapshotsErr = errors.New("broken") }, deletes(local), "", GuestUnread},
		"snapshots_of_another_state":      {func(f *fakeCluster) { f.SnapshotsErr = cluster.ErrConflict }, deletes(local), "", GuestUnread},
		"guest_destroyed_meanwhile":       {func(f *fakeCluster) { f.ObserveErr = map[int]error{1000: cluster.ErrNotExist} }, deletes(local), "", ""},
		"guest_moved_out_of_sight": {func(f *fakeCluster) {
			f.ObserveErr = map[int]error{1000: cluster.ErrNotExist}
			f.Taken = map[int]bool{1000: true}
		}, deletes(local), "", GuestUnread},
		"hidden_owner":                      {func(f *fakeCluster) { f.Taken = map[int]bool{777: true} }, attaches("local-lvm:vm-777-disk-0"), "", GuestHidden},
		"no_such_volume":                    {nil, attaches("local-lvm:vm-201-disk-9"), "", NoSuchVolume},
		"storage_not_listed_for_attach":     {func(f *fakeCluster) { f.storedErr = cluster.ErrDenied }, attaches(local), "", Unreadable},
		"storage_not_listed_for_delete":     {func(f *fakeCluster) { f.storedErr = cluster.ErrDenied }, deletes(local), "", ""},
		"storage_does_not_answer":           {func(f *fakeCluster) { f.storedErr = errors.New("broken") }, deletes(local), "", Unreadable},
		"guest_created_after_the_inventory": {createdLater(local), deletes(local), "(1002) as scsi0", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			if test.prepare != nil {
				test.prepare(f)
			}
			err := New(f, nil).Check(t.Context(), request(test.touches...))
			var used *InUseError
			var unknown *UnknownError
			switch {
			case test.inUse != "":
				if !errors.As(err, &used) || !strings.Contains(err.Error(), test.inUse) {
					t.Errorf("got %v, want a use that contains %q", err, test.inUse)
				}
			case test.unknown != "":
				if !errors.As(err, &unknown) || unknown.Cause != test.unknown || unknown.Hint() == "" {
					t.Errorf("got %v, want the cause %s and a remedy", err, test.unknown)
				}
			case err != nil:
				t.Errorf("got %v, want no refusal", err)
			}
		})
	}
}

func sectionWith(key, volume string) []guest.SnapshotSection {
	return []guest.SnapshotSection{{Name: "s1", Keys: map[string]string{key: volume + ",size=4G", "name": "x"}}}
}

func replicated(target string) func(*fakeCluster) {
	return func(f *fakeCluster) {
		f.set(1001, "scsi0", "local-lvm:vm-201-disk-0")
		f.jobs = []cluster.Replication{{VMID: 1001, Target: target}}
	}
}

func storedClone(id string, owner int) func(*fakeCluster) {
	return func(f *fakeCluster) {
		f.stored = append(f.stored, cluster.StoredVolume{ID: id, Owner: owner, Parent: "rpool/base-201-disk-0@__base__"})
	}
}

// createdLater adds a guest that only the second inventory lists.
func createdLater(volume string) func(*fakeCluster) {
	return func(f *fakeCluster) {
		later := f.Listed.With(row(1002, "pve1"))
		f.listedAgain = &later
		f.Guests[1002] = guest.Observed{
			Ref: guest.Ref{Kind: guest.VirtualMachine, VMID: 1002}, Node: "pve1", Digest: "d", Keys: map[string]guest.Value{"scsi0": {Text: volume, Set: true}},
		}
	}
}

// TestOneReadingServesManyCalls checks ten calls at the same time, and more calls later.
func TestOneReadingServesManyCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		s := New(f, nil)
		check := func(n int) {
			var calls sync.WaitGroup
			for i := range n {
				r := request(cluster.Touch{Volume: fmt.Sprintf("local-lvm:vm-%d-disk-0", 300+i), Effect: cluster.Deletes})
				r.Guest.VMID = 300 + i
				calls.Go(func() {
					if err := s.Check(t.Context(), r); err != nil {
						t.Error(err)
					}
				})
			}
			calls.Wait()
		}
		want := func(what string, n int) {
			t.Helper()
			if got := f.count(what); got != n {
				t.Errorf("got %d requests for %s, want %d", got, what, n)
			}
		}
		check(10)
		want("observe", 3)
		want("snapshots", 3)
		want("replications", 1)
		time.Sleep(Window)
		check(10)
		want("observe", 3)
		time.Sleep(time.Second)
		check(1)
		want("observe", 6)
		want("snapshots", 3) // no digest changed
		if err := s.Check(t.Context(), request()); err != nil {
			t.Error(err)
		}
		want("replications", 2)
	})
}

// TestChangesAfterTheReading changes a guest after the reading that serves a second call.
func TestChangesAfterTheReading(t *testing.T) {
	const volume = "local-lvm:vm-201-disk-0"
	type world struct {
		*fakeCluster
		*Source
		versions map[int]uint64
	}
	move := func(w world, vmid int, node string) {
		w.Listed.Rows = slices.Clone(w.Listed.Rows)
		w.Listed.Rows[slices.IndexFunc(w.Listed.Rows, func(r cluster.Row) bool { return r.VMID == vmid })].Node = node
		g := w.Guests[vmid]
		g.Node = node
		w.Guests[vmid] = g
	}
	tests := map[string]struct {
		before func(w world) // the first reading
		change func(w world)
		vmid   int // the guest that gets the volume; 1000 if it is 0
		volume string
	}{
		"row": {change: func(w world) {
			w.Listed.Rows = slices.Clone(w.Listed.Rows)
			w.Listed.Rows[2].MaxDisk++
		}},
		"vmlist_version":   {change: func(w world) { w.versions[1000]++ }},
		"own_call":         {change: func(w world) { w.Written(1000) }},
		"moved_into_reach": {change: func(w world) { move(w, 1001, "pve1") }, vmid: 1001},
		"moved_to_a_node_without_guests": {
			change: func(w world) { move(w, 1000, "pve3") }, volume: "ceph:vm-201-disk-0",
		},
		"created_on_a_node_without_guests": {
			before: func(w world) { w.Listed.Rows = w.Listed.Rows[:3] }, // 1001 is the only guest of pve2
			change: func(w world) { w.Listed = w.Listed.With(row(1001, "pve2")) }, vmid: 1001, volume: "ceph:vm-201-disk-0",
		},
		"created_on_a_node_that_was_not_read": {
			change: func(w world) {
				w.Listed = w.Listed.With(row(1002, "pve2"))
				w.jobs = append(w.jobs, cluster.Replication{VMID: 1002, Target: "pve1"})
				w.Guests[1002] = guest.Observed{Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "vm-1002", VMID: 1002}, Node: "pve2", Digest: "d1002", Keys: map[string]guest.Value{}}
			}, vmid: 1002, volume: "ceph:vm-201-disk-0",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := world{newFake(), nil, map[int]uint64{201: 1, 202: 1, 1000: 1, 1001: 1}}
			w.Source = New(w.fakeCluster, func() (map[int]uint64, error) { return maps.Clone(w.versions), nil })
			if test.before != nil {
				test.before(w)
				w.versions = nil // no vmlist file
			}
			volume, vmid := cmp.Or(test.volume, volume), cmp.Or(test.vmid, 1000)
			r := request(cluster.Touch{Volume: volume, Effect: cluster.Deletes})
			if err := w.Check(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			test.change(w)
			w.set(vmid, "scsi0", volume)
			var used *InUseError
			if err := w.Check(t.Context(), r); !errors.As(err, &used) {
				t.Errorf("got %v, want the new use", err)
			}
			w.Guests[vmid].Keys["scsi0"] = guest.Value{Text: "none", Set: true}
			w.set(vmid, "cores", "2")
			if err := w.Check(t.Context(), r); err != nil {
				t.Errorf("got %v, want the use gone", err)
			}
		})
	}
}

// TestHiddenGuestOfTheVMListFile has a guest in the vmlist file that the token may not see.
func TestHiddenGuestOfTheVMListFile(t *testing.T) {
	f := newFake()
	f.Taken = map[int]bool{555: true}
	s := New(f, func() (map[int]uint64, error) {
		return map[int]uint64{201: 1, 202: 1, 555: 1, 1000: 1, 1001: 1, 556: 1}, nil
	})
	err := s.Check(t.Context(), request(cluster.Touch{Volume: "local-lvm:vm-201-disk-0", Effect: cluster.Deletes}))
	var unknown *UnknownError
	if !errors.As(err, &unknown) || unknown.Cause != GuestHidden || !strings.Contains(err.Error(), "555") {
		t.Errorf("got %v, want the hidden guest 555", err)
	}
}

// TestReservation has two guests whose calls act on one volume.
func TestReservation(t *testing.T) {
	f := newFake()
	s := New(f, nil)
	attach := cluster.Touch{Volume: "local-lvm:vm-1000-disk-0", Effect: cluster.Attaches}
	other := request(attach)
	other.Guest.VMID = 202
	if err := s.Check(t.Context(), request(attach)); err != nil {
		t.Fatal(err)
	}
	var used *InUseError
	if err := s.Check(t.Context(), other); !errors.As(err, &used) || used.By[0].Guest.VMID != 201 {
		t.Errorf("got %v, want the volume in use by the call for 201", err)
	}
	if err := s.Check(t.Context(), request(attach)); err != nil {
		t.Errorf("got %v for the guest that has the reservation, want none", err)
	}
	s.Written(201)
	if err := s.Check(t.Context(), other); err != nil {
		t.Errorf("got %v after the call, want none", err)
	}
}

// TestFailedReadingIsNotUsedAgain repeats a check after a reading that failed.
func TestFailedReadingIsNotUsedAgain(t *testing.T) {
	f := newFake()
	f.ObserveErr = map[int]error{1000: errors.New("broken")}
	s := New(f, nil)
	r := request(cluster.Touch{Volume: "local-lvm:vm-201-disk-0", Effect: cluster.Deletes})
	if err := s.Check(t.Context(), r); err == nil {
		t.Fatal("got no refusal, want one")
	}
	f.ObserveErr = nil
	if err := s.Check(t.Context(), r); err != nil {
		t.Errorf("got %v, want none", err)
	}
}
