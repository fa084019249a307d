package guest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/epoch"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/lane"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/queue"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/secret"
	"gitops-agent/reconcile/volumes"
)

// newGuest is the vmid of the guests that sources make.
const newGuest = 202

// sourceLab makes one guest after the other from one source, as the lanes of the agent do.
type sourceLab struct {
	lab
	journal *journal.Journal
	worker  *lane.Worker
	basis   *lane.Basis
}

func newSourceLab(l lab) *sourceLab {
	l.Helper()
	j, err := journal.Open(journal.Options{Dir: l.TempDir()})
	if err != nil {
		l.Fatal(err)
	}
	s := &sourceLab{lab: l, journal: j}
	steps, epochs := 0, new(epoch.Counter)
	s.worker = lane.New(lane.Options{
		Cluster: l.client, Volumes: volumes.New(l.client, nil), Journal: j, Vault: secret.NewVault(secret.Source{}, "home"), Epochs: epochs,
		Basis:  func() *lane.Basis { return s.basis },
		StepID: func() string { steps++; return fmt.Sprintf("STEP%06d", steps) },
	})
	s.basis = &lane.Basis{Cluster: "home", Revision: "main@sha1:0", Epoch: epochs.Now(), NoWrites: reason.WritesAllowed}
	return s
}

// want sets what the manifests want: one guest.
func (s *sourceLab) want(d guest.Desired) {
	s.Helper()
	inventory, err := s.client.Inventory(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	next := *s.basis
	next.Guests, next.Inventory = []guest.Desired{d}, inventory
	s.basis = &next
}

// planned returns the plan for the guest, made from fresh readings of the guest and of the guest that it is cloned from.
func (s *sourceLab) planned() plan.Guest {
	s.Helper()
	got := cluster.Snapshot{Inventory: s.basis.Inventory, Guests: map[int]guest.Observed{}, Absent: map[int]cluster.Absence{newGuest: cluster.Gone}}
	for _, vmid := range append(plan.Templates(s.basis.Guests, s.basis.Inventory), newGuest) {
		if row, listed := s.basis.Inventory.Row(vmid); listed {
			live, err := s.client.Observe(s.Context(), row)
			if err != nil {
				s.Fatal(err)
			}
			got.Guests[vmid] = live
			delete(got.Absent, vmid)
		}
	}
	return plan.New(s.basis.Desired(s.journal.State()), got).Guests[0]
}

// work lets the lane of the guest work until nothing is left to do.
func (s *sourceLab) work() error {
	uses := []queue.Resource{{Node: "pve1"}, {Storage: "local"}, {Storage: "@pve1"}}
	return s.worker.Work(s.Context(), object.Guest(newGuest), uses).Err
}

// remove removes the guest, and the agent's record of it.
func (s *sourceLab) remove() {
	s.Helper()
	_ = s.sim.RemoveGuest(newGuest) // which is not there if the plan said so
	if _, owned := s.journal.State().Owned[newGuest]; owned {
		if err := s.journal.Append(s.Context(), journal.Disowned{VMID: newGuest, Reason: "removed"}); err != nil {
			s.Fatal(err)
		}
	}
	time.Sleep(2 * volumes.Window) // no reading from before counts
}

// backupOf backs up a guest and returns the volume of the archive.
func (s *sourceLab) backupOf(kind guest.Kind, vmid int) string {
	s.Helper()
	if refusal := s.do(cluster.Call{Op: cluster.OpBackup, Kind: kind, Node: "pve1", VMID: vmid, Params: map[string]string{"storage": "local", "mode": "stop", "remove": "0"}}); refusal != "" {
		s.Fatal(refusal)
	}
	for _, v := range s.sim.Volumes() {
		if v.Kind == "backup" && strings.Contains(v.ID, fmt.Sprintf("-%d-", vmid)) {
			return v.ID
		}
	}
	s.Fatalf("guest %d has no backup", vmid)
	return ""
}

// TestPlanOfEverySourceHolds creates a guest from each kind of source with each key of the table, which the manifest lists under ignoreFields, and compares what the plan
// said with the guest: a key is written, or the plan said that it will not be. Afterwards, and for a guest that was adopted, the key is left alone.
func TestPlanOfEverySourceHolds(t *testing.T) {
	t.Parallel()
	sources := map[string]struct {
		kind guest.Kind
		make func(s *sourceLab) guest.Source
	}{
		"blank": {guest.VirtualMachine, func(*sourceLab) guest.Source { return guest.Source{Blank: true} }},
		"image": {guest.VirtualMachine, func(*sourceLab) guest.Source {
			return guest.Source{Image: &guest.Image{Volume: "local:import/tiny.qcow2", Slot: "sata3"}}
		}},
		"full_clone":   {guest.VirtualMachine, func(*sourceLab) guest.Source { return guest.Source{Clone: &guest.Clone{VMID: 9000, Full: true}} }},
		"linked_clone": {guest.VirtualMachine, func(*sourceLab) guest.Source { return guest.Source{Clone: &guest.Clone{VMID: 9000}} }},
		"backup": {guest.VirtualMachine, func(s *sourceLab) guest.Source {
			return guest.Source{Backup: &guest.Backup{Volume: s.backupOf(guest.VirtualMachine, 9000), Storage: "local", Unique: true}}
		}},
		"adopted": {guest.VirtualMachine, func(*sourceLab) guest.Source { return guest.Source{} }},
		"container_template": {guest.Container, func(*sourceLab) guest.Source {
			return guest.Source{Template: &guest.Template{Volume: "local:vztmpl/tiny.tar.zst"}}
		}},
		"container_clone": {guest.Container, func(*sourceLab) guest.Source { return guest.Source{Clone: &guest.Clone{VMID: 9001, Full: true}} }},
		"container_backup": {guest.Container, func(s *sourceLab) guest.Source {
			return guest.Source{Backup: &guest.Backup{Volume: s.backupOf(guest.Container, 9001), Storage: "local"}}
		}},
		"adopted_container": {guest.Container, func(*sourceLab) guest.Source { return guest.Source{} }},
	}
	for name, source := range sources {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			simulate(t, func(l lab) {
				s := newSourceLab(l)
				defer s.journal.Close()
				for _, err := range []error{
					s.sim.AddVolume("local:vztmpl/tiny.tar.zst", 17<<20),
					second(s.sim.AddTemplate(pvesim.Guest{VMID: 9000, Config: "name: tmpl\nmemory: 512\nnet0: virtio,bridge=vmbr0\nsata3: local:9000/vm-9000-disk-0.qcow2,size=1G\n"})),
					second(s.sim.AddCT(pvesim.Guest{VMID: 9001, Config: "hostname: tmpl\nmemory: 512\nunprivileged: 1\nrootfs: local:1\n"})),
				} {
					if err != nil {
						t.Fatal(err)
					}
				}
				from := source.make(s)
				counts := map[string]int{}
				for _, sample := range guest.CreationSamples() {
					if sample.Kind == source.kind {
						counts[s.compare(from, sample)]++
					}
				}
				t.Logf("%v", counts)
				if least := map[guest.Kind]int{guest.VirtualMachine: 55, guest.Container: 20}[source.kind]; counts["written"]+counts["kept"] < least {
					t.Errorf("got %v, want at least %d keys written or kept", counts, least)
				}
			})
		})
	}
}

func second(_ int, err error) error { return err }

// compare makes a guest with one key, and returns what became of the key.
func (s *sourceLab) compare(from guest.Source, sample guest.WrittenSample) string {
	s.Helper()
	defer s.remove()
	key := sample.Intent.Key
	fail := func(format string, args ...any) {
		s.Helper()
		s.Errorf("%s %s=%q: "+format, append([]any{sample.Kind, key, sample.Text}, args...)...)
	}
	d := guest.Desired{
		Ref: guest.Ref{Kind: sample.Kind, Name: "new", VMID: newGuest}, Node: "pve1", State: guest.Ignored, Source: from, Lifecycle: guest.Lifecycle{Destroy: guest.Approve},
		Intents: []guest.Intent{sample.Intent}, Ignore: []string{key},
	}
	with := func(slot string, sub map[string]string) {
		d.Intents = append(d.Intents, guest.Intent{Key: slot, Verb: guest.Want, Sub: sub})
	}
	switch {
	case from.Image != nil:
		with(from.Image.Slot, map[string]string{"storage": "local"})
	case from.Template != nil:
		with("rootfs", map[string]string{"storage": "local", "size": "1G"})
	case from == guest.Source{}:
		d.Adopt = true
		add, config := s.sim.AddVM, "name: new\nmemory: 512\nnet0: virtio,bridge=vmbr0\n"
		if sample.Kind == guest.Container {
			add, config = s.sim.AddCT, "hostname: new\nmemory: 512\nunprivileged: 1\nrootfs: local:1\n"
		}
		if _, err := add(pvesim.Guest{VMID: newGuest, Config: config}); err != nil {
			s.Fatal(err)
		}
	}
	slices.SortFunc(d.Intents, func(a, b guest.Intent) int { return strings.Compare(a.Key, b.Key) })
	s.want(d)
	planned := s.planned()
	before := s.liveText(key)
	err := s.work()
	s.want(d)
	live, exists := s.basis.Inventory.Row(newGuest)
	if slices.ContainsFunc(planned.Conditions, func(c plan.Condition) bool { return c.Type == plan.Blocked }) {
		if exists || len(planned.Steps) > 0 {
			fail("got the guest, want none: %+v", planned.Conditions)
		}
		return "blocked"
	}
	if err != nil || !exists {
		fail("got the guest %t, %v, want it as planned: %+v", exists, err, planned.Changes)
		return "failed"
	}
	if s.journal.State().Owned[newGuest].Configuring {
		fail("got it recorded as not configured yet, want it configured")
	}
	observed, err := s.client.Observe(s.Context(), live)
	if err != nil {
		s.Fatal(err)
	}
	if d.Adopt {
		if after := observed.Keys[key].Text; slices.ContainsFunc(planned.Changes, func(c guest.Change) bool { return c.Key == key }) || after != before {
			fail("got %q planned as %+v, want it left alone: %q", after, planned.Changes, before)
		}
		return "kept"
	}
	rootOnly := slices.ContainsFunc(planned.Changes, func(c guest.Change) bool { return c.Key == key && c.RootOnly })
	if from.Backup != nil && d.WantedUUID() != "" {
		// The uuid identifies the restored machine, so it stays the one in the backup, which is not known before.
		if note := planned.Changes[slices.IndexFunc(planned.Changes, func(c guest.Change) bool { return c.Key == key })].Note; note == "" {
			fail("got no note in %+v, want what becomes of the uuid", planned.Changes)
		}
		return "uuid of the backup"
	}
	all := d
	all.Ignore, all.Marker = nil, s.journal.State().Owned[newGuest].Tag
	left := guest.Diff(all, observed)
	switch {
	case rootOnly && (len(left) != 1 || !left[0].RootOnly):
		fail("got %+v left, want what the plan left to root@pam", left)
	case !rootOnly && len(left) > 0:
		fail("got %+v left after a plan of %+v, want it written", left, planned.Changes)
	case len(s.planned().Changes) > 0:
		fail("got %+v planned afterwards, want nothing", s.planned().Changes)
	}
	if rootOnly {
		return "left to root"
	}
	return "written"
}

// liveText returns the value of a key of the guest, "" without one.
func (s *sourceLab) liveText(key string) string {
	s.Helper()
	row, exists := s.basis.Inventory.Row(newGuest)
	if !exists {
		return ""
	}
	live, err := s.client.Observe(s.Context(), row)
	if err != nil {
		s.Fatal(err)
	}
	return live.Keys[key].Text
}
