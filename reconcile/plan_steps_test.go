package reconcile

import (
	"testing"

	"gitops-agent/reconcile/guest"

	"github.com/google/go-cmp/cmp"
)

func TestOwnCalls(t *testing.T) {
	three := 3
	d := wantWeb()
	d.HA = &guest.HAWish{State: "started", MaxRestart: &three}
	running, stopped := liveWeb(guest.StatusRunning), liveWeb(guest.StatusStopped)
	box := running
	box.Kind = guest.Container
	call := func(op Op, live guest.Observed, digest string, params map[string]string) Call {
		return Call{Op: op, Kind: live.Kind, Node: "pve1", VMID: 201, Params: params, Digest: digest}
	}
	tests := map[string]struct {
		live   guest.Observed
		change guest.Change
		want   Call
	}{
		"grow": {running, guest.Change{Key: "scsi0", Write: guest.WriteResize, Value: "8G"}, call(OpResize, running, "d1", map[string]string{"disk": "scsi0", "size": "8G"})},
		"move_keeps_the_old_volume": {
			running,
			guest.Change{Key: "scsi0", Write: guest.WriteMove, Value: "ceph"},
			call(OpMove, running, "d1", map[string]string{"disk": "scsi0", "storage": "ceph", "delete": "0"}),
		},
		"migrate_running": {
			running,
			guest.Change{Key: "node", Write: guest.WriteMigrate, Value: "pve2"},
			call(OpMigrate, running, "", map[string]string{"target": "pve2", "online": "1", "with-local-disks": "1"}),
		},
		"migrate_stopped": {
			stopped, guest.Change{Key: "node", Write: guest.WriteMigrate, Value: "pve2"}, call(OpMigrate, stopped, "", map[string]string{"target": "pve2"}),
		},
		"migrate_container": {
			box,
			guest.Change{Key: "node", Write: guest.WriteMigrate, Value: "pve2"},
			call(OpMigrate, box, "", map[string]string{"target": "pve2", "restart": "1", "timeout": "180"}),
		},
		"pool":     {running, guest.Change{Key: "pool", Write: guest.WritePool, Value: "prod"}, call(OpPool, running, "", map[string]string{"poolid": "prod"})},
		"template": {stopped, guest.Change{Key: "template", Write: guest.WriteTemplate}, call(OpTemplate, stopped, "", nil)},
		"ha_add": {
			running, guest.Change{Key: "ha", Write: guest.WriteHA, Value: "add"}, call(OpHAAdd, running, "", map[string]string{"state": "started", "max_restart": "3"}),
		},
		"ha_set": {
			running, guest.Change{Key: "ha", Write: guest.WriteHA, Value: "set"}, call(OpHASet, running, "", map[string]string{"state": "started", "max_restart": "3"}),
		},
		"ha_remove": {running, guest.Change{Key: "ha", Write: guest.WriteHA, Value: "remove"}, call(OpHARemove, running, "", nil)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := changeSteps(GuestPlan{Changes: []guest.Change{tt.change}}, &d, tt.live)
			if len(got) != 1 || len(got[0].Calls) != 1 {
				t.Fatalf("got steps %+v, want one with one call", got)
			}
			if diff := cmp.Diff(tt.want, got[0].Calls[0]); diff != "" {
				t.Errorf("call differs (-want +got):\n%s", diff)
			}
		})
	}
}

// A secret reaches no parameter of a plan: the call carries its name.
func TestSecretStep(t *testing.T) {
	change := guest.Change{Key: "cipassword", To: "**********", Class: guest.Restart, Write: guest.WriteSecret, Value: "web"}
	d := wantWeb()
	got := changeSteps(GuestPlan{Changes: []guest.Change{change}}, &d, liveWeb(guest.StatusRunning))[0].Calls[0]
	want := Call{Op: OpConfig, Kind: guest.VirtualMachine, Node: "pve1", VMID: 201, Params: map[string]string{}, Secrets: map[string]string{"cipassword": "web"}, Digest: "d1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("call differs (-want +got):\n%s", diff)
	}
}

func TestCloudInitIsWrittenAnewWhereAsked(t *testing.T) {
	drive := []string{"ide2", "local:201/vm-201-cloudinit.qcow2,media=cdrom"}
	user := guest.Intent{Key: "ciuser", Verb: guest.Want, Text: "ops"}
	tests := map[string]struct {
		refresh bool
		intent  guest.Intent
		live    guest.Observed
		want    []Op
	}{
		"asked":       {true, user, liveWeb(guest.StatusRunning, drive...), []Op{OpConfig, OpCloudInit}},
		"not_asked":   {false, user, liveWeb(guest.StatusRunning, drive...), []Op{OpConfig}},
		"no_drive":    {true, user, liveWeb(guest.StatusRunning), []Op{OpConfig}},
		"stopped":     {true, user, liveWeb(guest.StatusStopped, drive...), []Op{OpConfig}},
		"another_key": {true, memory("4096"), liveWeb(guest.StatusRunning, drive...), []Op{OpConfig}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := wantWeb(tt.intent)
			d.Refresh = tt.refresh
			var got []Op
			for _, c := range NewPlan(owning(d), Observed{Guests: map[int]guest.Observed{201: tt.live}}).Steps()[0].Calls {
				got = append(got, c.Op)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("calls differ (-want +got):\n%s", diff)
			}
		})
	}
}

// A clone is made where its template is, and goes to its node before anything else, whatever moves are allowed later.
func TestFreshCloneMovesToItsNode(t *testing.T) {
	owned := owned201()
	owned.Claiming = true
	live := liveWeb(guest.StatusStopped, "description", claimNote(owned.Tag), "name", "template")
	live.Node = "pve2"
	delete(live.Keys, "tags")
	d := wantWeb(guest.Intent{Key: "name", Verb: guest.Want, Text: "web-1"})
	want := owning(d)
	want.Owned[201] = owned
	p := NewPlan(want, Observed{Guests: map[int]guest.Observed{201: live}}).Guests[0]
	var got []string
	for _, s := range p.Steps {
		got = append(got, string(s.Op)+" "+string(s.Class))
	}
	if diff := cmp.Diff([]string{"migrate live", "config live"}, got); diff != "" {
		t.Errorf("steps differ (-want +got):\n%s", diff)
	}
	if got := p.Steps[0].Calls[0].Params["target"]; got != "pve1" {
		t.Errorf("got migration to %q, want pve1", got)
	}
}

// The HA manager would start what is stopped in order to be destroyed.
func TestDestroyLeavesTheHAManagerFirst(t *testing.T) {
	live := liveWeb(guest.StatusRunning)
	live.HA = true
	want := owning(wantWeb())
	want.Guests = nil
	var got []Op
	for _, c := range NewPlan(want, Observed{Guests: map[int]guest.Observed{201: live}}).Steps()[0].Calls {
		if len(c.Params) > 0 {
			t.Errorf("got %s with %v, want no parameter: a destroy purges nothing", c.Op, c.Params)
		}
		got = append(got, c.Op)
	}
	if diff := cmp.Diff([]Op{OpHARemove, OpStop, OpDestroy}, got); diff != "" {
		t.Errorf("calls differ (-want +got):\n%s", diff)
	}
}

// What waits for the next start names the size and the volume of a disk, and nobody corrects it when they change.
func TestDiskIsSettledBeforeItsTextIsWritten(t *testing.T) {
	change := func(key string, class guest.Class, write guest.Write) guest.Change {
		return guest.Change{Key: key, Class: class, Write: write, Value: "1"}
	}
	tests := map[string]struct {
		changes []guest.Change
		want    []Op
	}{
		"same_disk": {
			[]guest.Change{change("scsi0", guest.Restart, guest.WriteSet), change("scsi0", guest.Live, guest.WriteMove), change("scsi0", guest.Live, guest.WriteResize)},
			[]Op{OpMove, OpResize, OpConfig},
		},
		"another_disk": {
			[]guest.Change{change("scsi0", guest.Live, guest.WriteResize), change("scsi1", guest.Live, guest.WriteSet)}, []Op{OpConfig, OpResize},
		},
		"after_the_node": {
			[]guest.Change{change("node", guest.Live, guest.WriteMigrate), change("scsi0", guest.Live, guest.WriteResize), change("scsi0", guest.Live, guest.WriteSet)},
			[]Op{OpMigrate, OpResize, OpConfig},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := wantWeb()
			var got []Op
			for _, s := range changeSteps(GuestPlan{Changes: tt.changes}, &d, liveWeb(guest.StatusStopped)) {
				got = append(got, s.Op)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("steps differ (-want +got):\n%s", diff)
			}
		})
	}
}
