package plan

import (
	"slices"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/internal/fixture"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/order"
	"gitops-agent/reconcile/reason"
)

const mountText, diskText = "local:201/vm-201-disk-1.raw,mp=/data,size=1G", "local:201/vm-201-disk-0.raw,size=1G"

// planOf plans one owned guest with what its manifest asks for. It is protected or not.
func planOf(t *testing.T, kind guest.Kind, protected bool, pairs []string, edit func(d *guest.Desired), lifted map[int]bool) []Step {
	t.Helper()
	if protected {
		pairs = append(slices.Clone(pairs), "protection", "1")
	}
	live := fixture.LiveWeb(guest.StatusStopped, pairs...)
	live.Kind = kind
	d := fixture.WantWeb()
	d.Kind = kind
	edit(&d)
	want := owning(d)
	owned := want.Owned[201]
	owned.Kind = string(kind)
	if kind == guest.Container {
		owned.UUID = ""
		delete(live.Keys, "smbios1")
	}
	want.Owned[201], want.Lifted = owned, lifted
	want.Attached = map[int]journal.Attached{201: {VMID: 201, Identity: owned.Identity}} // no other slot held a volume
	planned := New(want, cluster.Snapshot{Guests: map[int]guest.Observed{201: live}}).Guests[0]
	if len(planned.Conditions) > 0 {
		t.Fatalf("got conditions %+v, want none", planned.Conditions)
	}
	return planned.Steps
}

func wants(intents ...guest.Intent) func(*guest.Desired) {
	return func(d *guest.Desired) { d.Intents = append(d.Intents, intents...) }
}

// TestStepsOfAProtectedGuest: what the protection stands against is said by the step. What Proxmox refuses lifts it and sets it again, in the same step. The
// digest has the same calls as without the protection, and names it.
func TestStepsOfAProtectedGuest(t *testing.T) {
	t.Parallel()
	absent := func(key string) guest.Intent { return guest.Intent{Key: key, Verb: guest.Absent} }
	text := func(key, value string) guest.Intent {
		return guest.Intent{Key: key, Verb: guest.Want, Text: value}
	}
	parts := func(key string, sub map[string]string) guest.Intent {
		return guest.Intent{Key: key, Verb: guest.Want, Sub: sub}
	}
	vm, box := guest.VirtualMachine, guest.Container
	tests := map[string]struct {
		kind            guest.Kind
		live            []string
		want            func(*guest.Desired)
		protected, lift bool
	}{
		"memory":          {vm, []string{"memory", "1024"}, wants(fixture.MemoryIntent("2048")), false, false},
		"detach":          {vm, []string{"scsi1", diskText}, wants(absent("scsi1")), true, true},
		"replace":         {vm, []string{"scsi1", diskText}, wants(parts("scsi1", map[string]string{"volume": "local:201/vm-201-disk-7.raw"})), true, true},
		"remove_unused":   {vm, []string{"unused0", "local:201/vm-201-disk-3.raw"}, wants(absent("unused0")), true, true},
		"remove_cd":       {vm, []string{"ide2", "local:iso/tiny.iso,media=cdrom"}, wants(absent("ide2")), true, true},
		"grow":            {vm, []string{"scsi1", diskText}, wants(parts("scsi1", map[string]string{"size": "4G"})), false, false},
		"move":            {vm, []string{"scsi1", diskText}, wants(parts("scsi1", map[string]string{"storage": "local2"})), false, false},
		"template":        {vm, nil, func(d *guest.Desired) { d.Template = true }, true, false},
		"lower":           {vm, nil, wants(text("protection", "0")), true, false},
		"unset":           {vm, nil, wants(absent("protection")), true, false},
		"mount_option":    {box, []string{"mp0", mountText}, wants(parts("mp0", map[string]string{"ro": "1"})), true, true},
		"mount_backup":    {box, []string{"mp0", mountText}, wants(parts("mp0", map[string]string{"backup": "1"})), true, true},
		"mount_new":       {box, nil, wants(parts("mp1", map[string]string{"storage": "local", "size": "1G", "mp": "/srv"})), true, true},
		"mount_removed":   {box, []string{"mp0", mountText}, wants(absent("mp0")), true, true},
		"root_option":     {box, []string{"rootfs", diskText}, wants(parts("rootfs", map[string]string{"acl": "1"})), true, true},
		"mount_grows":     {box, []string{"mp0", mountText}, wants(parts("mp0", map[string]string{"size": "4G"})), false, false},
		"container_swap":  {box, []string{"swap", "512"}, wants(text("swap", "256")), false, false},
		"container_lower": {box, nil, wants(text("protection", "0")), true, false},
	}
	for name, test := range tests {
		steps := planOf(t, test.kind, true, test.live, test.want, nil)
		if len(steps) != 1 {
			t.Errorf("%s: got steps %+v, want one", name, steps)
			continue
		}
		step := steps[0]
		if step.Protected != test.protected || step.Lifts() != test.lift {
			t.Errorf("%s: got protected %v, lifts %v, want %v, %v", name, step.Protected, step.Lifts(), test.protected, test.lift)
		}
		if last := step.Calls[len(step.Calls)-1]; test.lift && (len(step.Calls) != 3 || !IsLift(step.Calls[0]) || IsLift(step.Calls[1]) || !IsProtect(last)) {
			t.Errorf("%s: got calls %+v, want lift, write, protect again", name, step.Calls)
		}
		for _, c := range step.Calls {
			if len(c.Delete) > 1 && slices.Contains(c.Delete, "protection") {
				t.Errorf("%s: got %+v, want the protection lifted by a call of its own", name, c)
			}
		}
		if name == "lower" || name == "unset" || name == "container_lower" {
			continue // without the protection there is nothing to do
		}
		bare := planOf(t, test.kind, false, test.live, test.want, nil)
		lifted := planOf(t, test.kind, false, test.live, test.want, map[int]bool{201: true})
		if len(bare) != 1 || len(lifted) != 1 {
			t.Errorf("%s: got %d steps without protection and %d with a lifted one, want one each", name, len(bare), len(lifted))
			continue
		}
		digest := func(s Step) string { return s.Digest("home", "id") }
		if (digest(bare[0]) != digest(step)) != test.protected {
			t.Errorf("%s: got digests %s without and %s with protection, want them different %v", name, digest(bare[0]), digest(step), test.protected)
		}
		if digest(lifted[0]) != digest(step) {
			t.Errorf("%s: got digest %s while an open step has lifted the protection, want %s", name, digest(lifted[0]), digest(step))
		}
		bare[0].Protected = test.protected
		if digest(bare[0]) != digest(step) {
			t.Errorf("%s: got other calls in the digest without protection, want the same", name)
		}
	}
}

// TestGuardedChangesAreApart: a step with an approval that names a detached disk has no other changes, so that it is the same step when a person takes the
// protection away.
func TestGuardedChangesAreApart(t *testing.T) {
	t.Parallel()
	edit := wants(guest.Intent{Key: "net0", Verb: guest.Absent}, guest.Intent{Key: "scsi1", Verb: guest.Absent})
	pairs := []string{"net0", "virtio=BC:24:11:00:00:01,bridge=vmbr0", "scsi1", diskText, "lock", ""}
	running := func(protected bool) []Step {
		if protected {
			pairs = append(slices.Clone(pairs), "protection", "1")
		}
		live := fixture.LiveWeb(guest.StatusRunning, pairs...)
		d := fixture.WantWeb()
		edit(&d)
		return New(owning(d), cluster.Snapshot{Guests: map[int]guest.Observed{201: live}}).Guests[0].Steps
	}
	bare, protected := running(false), running(true)
	if len(bare) != 2 || len(protected) != 2 {
		t.Fatalf("got %d and %d steps, want two each", len(bare), len(protected))
	}
	if a, b := bare[0].Digest("home", "id"), protected[0].Digest("home", "id"); a != b || protected[0].Protected {
		t.Errorf("got the network card in another step with protection: %+v", protected[0])
	}
	bare[1].Protected = true
	if a, b := bare[1].Digest("home", "id"), protected[1].Digest("home", "id"); a != b {
		t.Errorf("got digest %s of the detached disk with protection, want %s", b, a)
	}
}

// TestFreshCloneKeepsItsProtection: a clone of a protected template is protected. That nothing interrupts a fresh clone does not make it less.
func TestFreshCloneKeepsItsProtection(t *testing.T) {
	t.Parallel()
	owned := fixture.Owned201()
	owned.Claiming = true
	live := fixture.LiveWeb(guest.StatusStopped, "description", "", "name", "template", "protection", "1")
	d := fixture.WantWeb(guest.Intent{Key: "name", Verb: guest.Want, Text: "web-1"}, guest.Intent{Key: "protection", Verb: guest.Want, Text: "0"})
	d.Source = guest.Source{Clone: &guest.Clone{Name: "tmpl-debian-12"}}
	want := owning(d)
	want.Owned[201] = owned
	for _, s := range New(want, cluster.Snapshot{Guests: map[int]guest.Observed{201: live}}).Guests[0].Steps {
		lowers := slices.ContainsFunc(s.Changes, func(c guest.Change) bool { return c.Key == "protection" })
		if lowers != s.Protected || lowers && (s.Class != guest.Disruptive || len(s.Changes) != 1) {
			t.Errorf("got step %+v, want the end of the protection as a disruptive step of its own", s)
		}
	}
}

// TestCloneOfAProtectedTemplate: the plan of a clone says that it takes over the protection of its template, also if its manifest says false.
func TestCloneOfAProtectedTemplate(t *testing.T) {
	t.Parallel()
	protection := func(text string) []guest.Intent {
		return []guest.Intent{{Key: "protection", Verb: guest.Want, Text: text}}
	}
	note := "the clone takes it over from VirtualMachine/tmpl-debian-12 (9000)"
	tests := map[string]struct {
		intents   []guest.Intent
		protected bool
		snapshot  string
		to, note  string
	}{
		"not_mentioned": {nil, true, "", "1", note},
		"off":           {protection("0"), true, "", "0", note + ": taking it away is held until it is approved"},
		"on":            {protection("1"), true, "", "1", ""},
		"unprotected":   {nil, false, "", "", ""},
		"snapshot":      {nil, false, "on", "1", note + " at snapshot on"},
		"snapshot_off":  {nil, true, "off", "", ""},
		"snapshot_gone": {nil, true, "gone", "", ""},
	}
	for name, test := range tests {
		live := guest.Observed{Ref: guest.Ref{Kind: guest.VirtualMachine, VMID: 9000, Name: "tmpl-debian-12"}, Template: true, Keys: map[string]guest.Value{}}
		live.Snapshots = &guest.Snapshots{Sections: []guest.SnapshotSection{{Name: "on", Keys: map[string]string{"protection": "1"}}, {Name: "off"}}}
		if test.protected {
			live.Keys["protection"] = guest.Value{Text: "1", Set: true}
		}
		d := fixture.WantWeb(test.intents...)
		d.Source = guest.Source{Clone: &guest.Clone{Name: "tmpl-debian-12", Snap: test.snapshot}}
		got := New(Desired{Cluster: "home", Guests: []guest.Desired{d}}, cluster.Snapshot{
			Guests: map[int]guest.Observed{9000: live}, Absent: map[int]cluster.Absence{201: cluster.Gone}, Inventory: cluster.Inventory{Rows: []cluster.Row{template()}},
		}).Guests[0]
		found := guest.Change{}
		for _, c := range got.Changes {
			if c.Key == "protection" {
				found = c
			}
		}
		if found.To != test.to || found.Note != test.note {
			t.Errorf("%s: got %+v, want to %q and note %q", name, found, test.to, test.note)
		}
	}
}

// TestLiftedProtection: the steps of the journal that lift a protection, or roll a guest back, say so.
func TestLiftedProtection(t *testing.T) {
	t.Parallel()
	open := func(vmid int, detail map[string]string) journal.OpenStep {
		return journal.OpenStep{Begun: journal.Begun{VMID: vmid, Detail: detail}}
	}
	state := journal.State{Open: []journal.OpenStep{open(201, map[string]string{DetailProtected: "1"}), open(202, nil), open(203, map[string]string{DetailProtected: ""})}}
	if got := LiftedProtection(state); len(got) != 1 || !got[201] {
		t.Errorf("got %v, want 201 alone", got)
	}
}

// TestRollbackOfAProtectedGuest: the digest of a rollback names the protection, and not what the snapshot says of it, since the agent sets it again.
func TestRollbackOfAProtectedGuest(t *testing.T) {
	t.Parallel()
	digests := map[string]bool{}
	for _, protected := range []string{"", "1"} {
		for _, then := range []string{"", "1"} {
			live := fixture.LiveWeb(guest.StatusStopped, "protection", protected)
			keys := map[string]string{"snaptime": "1767000000", "protection": then}
			for key, value := range live.Keys {
				if key != "protection" {
					keys[key] = value.Text
				}
			}
			live.Snapshots = &guest.Snapshots{Sections: []guest.SnapshotSection{{Name: "s1", Keys: keys}}}
			want := owning(fixture.WantWeb())
			want.Orders = map[int][]order.Open{201: {{
				Order:   journal.Order{Ordered: journal.Ordered{Key: "k", Subject: "otto", Identity: want.Owned[201].Identity}},
				Request: order.Request{Op: cluster.OpRollback, Params: map[string]string{order.KeyName: "s1"}},
			}}}
			step := New(want, cluster.Snapshot{Guests: map[int]guest.Observed{201: live}}).Guests[0].Orders[0]
			if step.Protected != (protected == "1") || len(step.Restores) != 0 || step.Refused != "" {
				t.Errorf("protected %q, in the snapshot %q: got %+v, want it said by Protected alone", protected, then, step)
			}
			digests[protected+step.Digest("home", "id")] = true
		}
	}
	if len(digests) != 2 {
		t.Errorf("got digests %v, want one with and one without protection", digests)
	}
}

// TestBlockedThoughProtected: what Proxmox refuses with and without an approval is no step, so that no approval is given for it.
func TestBlockedThoughProtected(t *testing.T) {
	t.Parallel()
	live := fixture.LiveWeb(guest.StatusStopped, "protection", "1", "scsi1", diskText)
	live.Lock = "backup"
	for name, named := range map[string]bool{"detach": true, "destroy": false} {
		want := owning(fixture.WantWeb(guest.Intent{Key: "scsi1", Verb: guest.Absent}))
		if !named {
			want.Guests = nil
		}
		got := New(want, cluster.Snapshot{Guests: map[int]guest.Observed{201: live}}).Guests[0]
		if len(got.Steps) != 0 || len(got.Conditions) != 1 || got.Conditions[0].Type != Blocked || got.Conditions[0].Reason != reason.Locked {
			t.Errorf("%s: got steps %+v and conditions %+v, want it blocked by the lock", name, got.Steps, got.Conditions)
		}
	}
}

// TestRewriteSizeOfAProtectedContainer: the text of a mount point is corrected with the protection lifted. Proxmox lets the disk of a virtual machine pass.
func TestRewriteSizeOfAProtectedContainer(t *testing.T) {
	t.Parallel()
	for kind, want := range map[guest.Kind]bool{guest.Container: true, guest.VirtualMachine: false} {
		slot, text := "mp0", mountText
		if kind == guest.VirtualMachine {
			slot, text = "scsi1", diskText
		}
		live := fixture.LiveWeb(guest.StatusStopped, "protection", "1", slot, text)
		live.Kind = kind
		change := guest.Change{Key: slot, Write: guest.WriteResize, Value: "4G"}
		resize := Step{Guest: live.Ref, Op: cluster.OpResize, Class: guest.Live, Changes: []guest.Change{change}}
		if step := RewriteSize(resize, live); step.Lifts() != want || step.Protected != want || step.Op != cluster.OpConfig {
			t.Errorf("%s: got %+v, want it to lift the protection: %v", kind, step, want)
		}
	}
}
