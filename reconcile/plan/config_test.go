package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/internal/fixture"
	"gitops-agent/reconcile/ownership"
)

func TestSeparateSteps(t *testing.T) {
	three := 3
	d := fixture.WantWeb()
	d.HA = &guest.HAWanted{State: "started", MaxRestart: &three}
	running, stopped := fixture.LiveWeb(guest.StatusRunning), fixture.LiveWeb(guest.StatusStopped)
	box := running
	box.Kind = guest.Container
	call := func(op cluster.Op, live guest.Observed, digest string, params map[string]string) cluster.Call {
		return cluster.Call{Op: op, Kind: live.Kind, Node: "pve1", VMID: 201, Params: params, Digest: digest}
	}
	tests := map[string]struct {
		live   guest.Observed
		change guest.Change
		want   cluster.Call
	}{
		"grow": {running, guest.Change{Key: "scsi0", Write: guest.WriteResize, Value: "8G"}, call(cluster.OpResize, running, "d1", map[string]string{"disk": "scsi0", "size": "8G"})},
		"move_keeps_the_old_volume": {
			running,
			guest.Change{Key: "scsi0", Write: guest.WriteMove, Value: "ceph"},
			call(cluster.OpMove, running, "d1", map[string]string{"disk": "scsi0", "storage": "ceph", "delete": "0"}),
		},
		"migrate_running": {
			running,
			guest.Change{Key: "node", Write: guest.WriteMigrate, Value: "pve2"},
			call(cluster.OpMigrate, running, "", map[string]string{"target": "pve2", "online": "1", "with-local-disks": "1"}),
		},
		"migrate_stopped": {
			stopped, guest.Change{Key: "node", Write: guest.WriteMigrate, Value: "pve2"}, call(cluster.OpMigrate, stopped, "", map[string]string{"target": "pve2"}),
		},
		"migrate_container": {
			box,
			guest.Change{Key: "node", Write: guest.WriteMigrate, Value: "pve2"},
			call(cluster.OpMigrate, box, "", map[string]string{"target": "pve2", "restart": "1", "timeout": "180"}),
		},
		"pool":     {running, guest.Change{Key: "pool", Write: guest.WritePool, Value: "prod"}, call(cluster.OpPool, running, "", map[string]string{"poolid": "prod"})},
		"template": {stopped, guest.Change{Key: "template", Write: guest.WriteTemplate}, call(cluster.OpTemplate, stopped, "", nil)},
		"ha_add": {
			running, guest.Change{Key: "ha", Write: guest.WriteHA, Value: "add"}, call(cluster.OpHAAdd, running, "", map[string]string{"state": "started", "max_restart": "3"}),
		},
		"ha_set": {
			running, guest.Change{Key: "ha", Write: guest.WriteHA, Value: "set"}, call(cluster.OpHASet, running, "", map[string]string{"state": "started", "max_restart": "3"}),
		},
		"ha_remove": {running, guest.Change{Key: "ha", Write: guest.WriteHA, Value: "remove"}, call(cluster.OpHARemove, running, "", nil)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := changeSteps(Guest{Changes: []guest.Change{tt.change}}, &d, tt.live)
			if len(got) != 1 || len(got[0].Calls) != 1 {
				t.Fatalf("got steps %+v, want one step with one call", got)
			}
			if diff := cmp.Diff(tt.want, got[0].Calls[0]); diff != "" {
				t.Errorf("call differs (-want +got):\n%s", diff)
			}
		})
	}
}

// The content of a secret is never a parameter of a plan: the call carries the name of the secret.
func TestSecretStep(t *testing.T) {
	change := guest.Change{Key: "cipassword", To: "**********", Class: guest.Restart, Write: guest.WriteSecret, Value: "web"}
	d := fixture.WantWeb()
	got := changeSteps(Guest{Changes: []guest.Change{change}}, &d, fixture.LiveWeb(guest.StatusRunning))[0].Calls[0]
	want := cluster.Call{Op: cluster.OpConfig, Kind: guest.VirtualMachine, Node: "pve1", VMID: 201, Params: map[string]string{}, Secrets: map[string]string{"cipassword": "web"}, Digest: "d1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("call differs (-want +got):\n%s", diff)
	}
}

func TestCloudInitIsWrittenAgainIfWanted(t *testing.T) {
	drive := []string{"ide2", "local:201/vm-201-cloudinit.qcow2,media=cdrom"}
	user := guest.Intent{Key: "ciuser", Verb: guest.Want, Text: "ops"}
	tests := map[string]struct {
		refresh bool
		intent  guest.Intent
		live    guest.Observed
		want    []cluster.Op
	}{
		"asked":       {true, user, fixture.LiveWeb(guest.StatusRunning, drive...), []cluster.Op{cluster.OpConfig, cluster.OpCloudInit}},
		"not_asked":   {false, user, fixture.LiveWeb(guest.StatusRunning, drive...), []cluster.Op{cluster.OpConfig}},
		"no_drive":    {true, user, fixture.LiveWeb(guest.StatusRunning), []cluster.Op{cluster.OpConfig}},
		"stopped":     {true, user, fixture.LiveWeb(guest.StatusStopped, drive...), []cluster.Op{cluster.OpConfig}},
		"another_key": {true, fixture.MemoryIntent("4096"), fixture.LiveWeb(guest.StatusRunning, drive...), []cluster.Op{cluster.OpConfig}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := fixture.WantWeb(tt.intent)
			d.Refresh = tt.refresh
			var got []cluster.Op
			for _, c := range New(owning(d), cluster.Snapshot{Guests: map[int]guest.Observed{201: tt.live}}).Steps()[0].Calls {
				got = append(got, c.Op)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("calls differ (-want +got):\n%s", diff)
			}
		})
	}
}

// A clone is created on the node of its template. It gets its marker and then migrates to its own node before any other step, whatever migrations are allowed later.
func TestFreshCloneMigratesToItsNode(t *testing.T) {
	owned := fixture.Owned201()
	owned.Claiming = true
	live := fixture.LiveWeb(guest.StatusStopped, "description", ownership.ClaimNote(owned.Tag), "name", "template")
	live.Node = "pve2"
	delete(live.Keys, "tags")
	d := fixture.WantWeb(guest.Intent{Key: "name", Verb: guest.Want, Text: "web-1"})
	want := owning(d)
	want.Owned[201] = owned
	p := New(want, cluster.Snapshot{Guests: map[int]guest.Observed{201: live}}).Guests[0]
	var got []string
	for _, s := range p.Steps {
		got = append(got, string(s.Op)+" "+string(s.Class))
	}
	if diff := cmp.Diff([]string{"config live", "migrate live", "config live"}, got); diff != "" {
		t.Errorf("steps differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"tags": owned.Tag}, p.Steps[0].Calls[0].Params); diff != "" {
		t.Errorf("the first step differs (-want +got):\n%s", diff)
	}
	if got := p.Steps[1].Calls[0].Params["target"]; got != "pve1" {
		t.Errorf("got migration to %q, want pve1", got)
	}
	if got := p.Steps[2].Calls[0].Params["name"]; got != "web-1" {
		t.Errorf("got the name %q in the last step, want web-1", got)
	}

	// With its marker it still moves, and counts as configured only on its node.
	owned.Claiming, owned.Configuring, owned.Unstarted = false, true, true
	want.Owned[201] = owned
	live.Keys["tags"] = guest.Value{Text: owned.Tag}
	delete(live.Keys, "description")
	p = New(want, cluster.Snapshot{Guests: map[int]guest.Observed{201: live}}).Guests[0]
	if p.Configured || len(p.Steps) == 0 || p.Steps[0].Op != cluster.OpMigrate {
		t.Errorf("got %v, configured %t, want the migration first", p.Steps, p.Configured)
	}
}

// The HA manager would start a guest again that is stopped in order to be destroyed.
func TestDestroyRemovesHAResourceFirst(t *testing.T) {
	live := fixture.LiveWeb(guest.StatusRunning)
	live.HA = true
	want := owning(fixture.WantWeb())
	want.Guests = nil
	var got []cluster.Op
	for _, c := range New(want, cluster.Snapshot{Guests: map[int]guest.Observed{201: live}}).Steps()[0].Calls {
		if len(c.Params) > 0 {
			t.Errorf("got %s with %v, want no parameter: a destroy purges nothing", c.Op, c.Params)
		}
		got = append(got, c.Op)
	}
	if diff := cmp.Diff([]cluster.Op{cluster.OpHARemove, cluster.OpStop, cluster.OpDestroy}, got); diff != "" {
		t.Errorf("calls differ (-want +got):\n%s", diff)
	}
}

// A pending text contains the size and the volume of a disk, and Proxmox does not correct it when they change.
func TestDiskIsResizedBeforeItsTextIsWritten(t *testing.T) {
	change := func(key string, class guest.Class, write guest.Write) guest.Change {
		return guest.Change{Key: key, Class: class, Write: write, Value: "1"}
	}
	tests := map[string]struct {
		changes []guest.Change
		want    []cluster.Op
	}{
		"same_disk": {
			[]guest.Change{change("scsi0", guest.Restart, guest.WriteSet), change("scsi0", guest.Live, guest.WriteMove), change("scsi0", guest.Live, guest.WriteResize)},
			[]cluster.Op{cluster.OpMove, cluster.OpResize, cluster.OpConfig},
		},
		"another_disk": {
			[]guest.Change{change("scsi0", guest.Live, guest.WriteResize), change("scsi1", guest.Live, guest.WriteSet)}, []cluster.Op{cluster.OpConfig, cluster.OpResize},
		},
		"after_the_node": {
			[]guest.Change{change("node", guest.Live, guest.WriteMigrate), change("scsi0", guest.Live, guest.WriteResize), change("scsi0", guest.Live, guest.WriteSet)},
			[]cluster.Op{cluster.OpMigrate, cluster.OpResize, cluster.OpConfig},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := fixture.WantWeb()
			var got []cluster.Op
			for _, s := range changeSteps(Guest{Changes: tt.changes}, &d, fixture.LiveWeb(guest.StatusStopped)) {
				got = append(got, s.Op)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("steps differ (-want +got):\n%s", diff)
			}
		})
	}
}
