package plan

import (
	"strings"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/internal/fixture"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/secret"

	"github.com/google/go-cmp/cmp"
)

func template() cluster.Row {
	return cluster.Row{Kind: guest.VirtualMachine, VMID: 9000, Node: "pve2", Name: "tmpl-debian-12", Template: true, Status: guest.StatusStopped}
}

// outline is the part of a plan that the tests compare.
type outline struct {
	Steps      []string // "config live", in order
	Conditions []string // "Blocked/locked"
}

func outlineOf(p Plan) outline {
	var o outline
	for _, g := range p.Guests {
		for _, s := range g.Steps {
			text := string(s.Op) + " " + string(s.Class)
			if s.TakesOwnership {
				text += " claims"
			}
			o.Steps = append(o.Steps, text)
		}
		for _, c := range g.Conditions {
			o.Conditions = append(o.Conditions, string(c.Type)+"/"+string(c.Reason))
		}
	}
	return o
}

func TestNewPlan(t *testing.T) {
	ours := map[int]journal.Owned{201: fixture.Owned201()}
	running := func(d guest.Desired) guest.Desired { d.State = guest.Running; return d }
	tests := map[string]struct {
		want    Desired
		live    []guest.Observed
		absent  map[int]cluster.Absence
		outline outline
	}{
		"in_sync":       {want: Desired{Guests: []guest.Desired{fixture.WantWeb(fixture.MemoryIntent("2048"))}, Owned: ours}, live: []guest.Observed{fixture.LiveWeb("running")}},
		"nothing_named": {want: Desired{}, live: []guest.Observed{fixture.LiveWeb("running")}},
		"memory_drift_stopped": {
			want: Desired{Guests: []guest.Desired{fixture.WantWeb(fixture.MemoryIntent("4096"))}, Owned: ours}, live: []guest.Observed{fixture.LiveWeb("stopped")},
			outline: outline{Steps: []string{"config live"}},
		},
		"memory_drift_running": {
			want: Desired{Guests: []guest.Desired{fixture.WantWeb(fixture.MemoryIntent("4096"))}, Owned: ours}, live: []guest.Observed{fixture.LiveWeb("running")},
			outline: outline{Steps: []string{"config restart"}},
		},
		"config_before_run_state": {
			want: Desired{Guests: []guest.Desired{running(fixture.WantWeb(fixture.MemoryIntent("4096")))}, Owned: ours}, live: []guest.Observed{fixture.LiveWeb("stopped")},
			outline: outline{Steps: []string{"config live", "start live"}},
		},
		"marker_lost": {
			want: Desired{Guests: []guest.Desired{fixture.WantWeb()}, Owned: ours}, live: []guest.Observed{fixture.LiveWeb("stopped", "tags", "a")},
			outline: outline{Steps: []string{"config live"}},
		},
		"create": {
			want: Desired{Guests: []guest.Desired{running(fixture.WantWeb(fixture.MemoryIntent("4096")))}}, absent: map[int]cluster.Absence{201: cluster.Gone},
			outline: outline{Steps: []string{"create live claims", "start live"}},
		},
		"not_seen_is_not_gone": {
			want: Desired{Guests: []guest.Desired{fixture.WantWeb()}}, absent: map[int]cluster.Absence{201: cluster.Unknown},
			outline: outline{Conditions: []string{"Unknown/not-observed"}},
		},
		"never_asked_is_not_gone": {
			want:    Desired{Guests: []guest.Desired{fixture.WantWeb()}},
			outline: outline{Conditions: []string{"Unknown/not-observed"}},
		},
		"hidden": {
			want: Desired{Guests: []guest.Desired{fixture.WantWeb()}}, absent: map[int]cluster.Absence{201: cluster.Hidden},
			outline: outline{Conditions: []string{"Blocked/denied"}},
		},
		"not_ours": {
			want: Desired{Guests: []guest.Desired{fixture.WantWeb()}}, live: []guest.Observed{fixture.LiveWeb("running", "tags", "")},
			outline: outline{Conditions: []string{"IdentityConflict/not-managed"}},
		},
		"not_ours_and_marked": {
			want: Desired{Guests: []guest.Desired{fixture.WantWeb()}}, live: []guest.Observed{fixture.LiveWeb("running")},
			outline: outline{Conditions: []string{"IdentityConflict/not-managed"}},
		},
		"vmid_reused": {
			want: Desired{Guests: []guest.Desired{fixture.WantWeb(fixture.MemoryIntent("4096"))}, Owned: ours},
			live: []guest.Observed{fixture.LiveWeb("running", "smbios1", "uuid=11111111-2222-3333-4444-555555555555")}, outline: outline{Conditions: []string{"IdentityConflict/different-guest"}},
		},
		"human_clone_of_ours": {
			want: Desired{Guests: []guest.Desired{fixture.WantWeb()}, Owned: map[int]journal.Owned{201: func() journal.Owned {
				o := fixture.Owned201()
				o.UUID = ""
				return o
			}()}},
			live: []guest.Observed{fixture.LiveWeb("running", "tags", "gitops-00000000")}, outline: outline{Conditions: []string{"IdentityConflict/different-guest"}},
		},
		"backup_runs": {
			want: Desired{Guests: []guest.Desired{fixture.WantWeb(fixture.MemoryIntent("4096"))}, Owned: ours},
			live: []guest.Observed{func() guest.Observed { o := fixture.LiveWeb("running"); o.Lock = "backup"; return o }()}, outline: outline{Conditions: []string{"Blocked/locked"}},
		},
		"half_made": {
			want: Desired{Guests: []guest.Desired{fixture.WantWeb(fixture.MemoryIntent("4096"))}},
			live: []guest.Observed{func() guest.Observed { o := fixture.LiveWeb("stopped"); o.Lock = "create"; return o }()}, outline: outline{Conditions: []string{"Blocked/locked"}},
		},
		"removed": {
			want: Desired{Owned: ours}, live: []guest.Observed{fixture.LiveWeb("running")},
			outline: outline{Steps: []string{"destroy destructive"}, Conditions: []string{"Orphaned/left-over"}},
		},
		"removed_and_reused": {
			want: Desired{Owned: ours}, live: []guest.Observed{fixture.LiveWeb("running", "smbios1", "uuid=11111111-2222-3333-4444-555555555555")},
			outline: outline{Conditions: []string{"IdentityConflict/different-guest"}},
		},
		"removed_and_gone": {want: Desired{Owned: ours}, absent: map[int]cluster.Absence{201: cluster.Gone}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.want.Cluster = "home"
			got := cluster.Snapshot{Guests: map[int]guest.Observed{}, Absent: test.absent, Inventory: cluster.Inventory{Rows: []cluster.Row{template()}}}
			for _, o := range test.live {
				got.Guests[o.VMID] = o
			}
			if diff := cmp.Diff(test.outline, outlineOf(New(test.want, got))); diff != "" {
				t.Errorf("plan differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNewPlanKeepsRenamedGuest(t *testing.T) {
	renamed := fixture.WantWeb()
	renamed.Name = "web-renamed"
	plan := New(Desired{Cluster: "home", Guests: []guest.Desired{renamed}, Owned: map[int]journal.Owned{201: fixture.Owned201()}},
		cluster.Snapshot{Guests: map[int]guest.Observed{201: fixture.LiveWeb("running")}})
	if got := plan.Steps(); len(got) != 0 {
		t.Errorf("got steps %v after a label changed, want none", got)
	}
}

func TestDestroyStep(t *testing.T) {
	want := Desired{Cluster: "home", Owned: map[int]journal.Owned{201: fixture.Owned201()}}
	got := cluster.Snapshot{Guests: map[int]guest.Observed{201: fixture.LiveWeb("running", "protection", "1", "scsi0", "local:201/vm-201-disk-0.raw,size=1G")}}
	steps := New(want, got).Steps()
	if len(steps) != 1 {
		t.Fatalf("got %d steps, want 1 destroy step", len(steps))
	}
	var ops []cluster.Op
	for _, c := range steps[0].Calls {
		ops = append(ops, c.Op)
	}
	if diff := cmp.Diff([]cluster.Op{cluster.OpConfig, cluster.OpStop, cluster.OpDestroy}, ops); diff != "" {
		t.Errorf("calls differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"local:201/vm-201-disk-0.raw"}, steps[0].Volumes); diff != "" {
		t.Errorf("destroyed volumes differ (-want +got):\n%s", diff)
	}
	// A destroy that was interrupted after its first two calls is the same destroy: the protection that it lifted counts as set.
	want.Lifted = map[int]bool{201: true}
	rest := New(want, cluster.Snapshot{Guests: map[int]guest.Observed{201: fixture.LiveWeb("stopped", "scsi0", "local:201/vm-201-disk-0.raw,size=1G")}}).Steps()[0]
	if a, b := steps[0].Digest("home", "id"), rest.Digest("home", "id"); a != b {
		t.Errorf("got digest %s for the rest of the destroy, want %s", b, a)
	}
	other := steps[0]
	other.Volumes = []string{"local:201/vm-201-disk-1.raw"}
	if a, b := steps[0].Digest("home", "id"), other.Digest("home", "id"); a == b {
		t.Errorf("got one digest for two sets of volumes")
	}
}

func TestClonePlan(t *testing.T) {
	want := Desired{Cluster: "home", Guests: []guest.Desired{fixture.WantWeb()}}
	rows := []cluster.Row{template()}
	plan := func(rows []cluster.Row) Guest {
		return New(want, cluster.Snapshot{Absent: map[int]cluster.Absence{201: cluster.Gone}, Inventory: cluster.Inventory{Rows: rows}}).Guests[0]
	}
	step := plan(rows).Steps[0]
	if got := step.Calls[0]; got.CloneOf != 9000 || got.Node != "pve2" || got.Params["target"] != "" {
		t.Errorf("got clone of %d on %s to %q, want one of 9000 on pve2, where its template is", got.CloneOf, got.Node, got.Params["target"])
	}
	if diff := cmp.Diff([]object.Key{object.Guest(201), object.Guest(9000)}, step.Holds()); diff != "" {
		t.Errorf("lanes held differ (-want +got):\n%s", diff)
	}
	second := template()
	second.VMID = 9001
	if got := plan(append(rows, second)); len(got.Steps) != 0 || got.Conditions[0].Reason != reason.Impossible {
		t.Errorf("got %+v for two templates of one name, want it blocked", got)
	}
}

// TestHADoesNotStartWithoutPassword checks that something hinders the HA manager from starting a guest that never got its password, and not from managing it while it runs.
func TestHADoesNotStartWithoutPassword(t *testing.T) {
	d := fixture.WantWeb()
	d.HA, d.Secrets = &guest.HAWanted{State: "started"}, []guest.Secret{{Key: "cipassword", File: "web"}}
	want := owning(d)
	want.Secrets = map[secret.Place]secret.State{{VMID: 201, Key: "cipassword"}: {Problem: &secret.Error{Name: "web", Reason: "it is not there"}}}
	for status, hindered := range map[guest.Status]reason.Name{guest.StatusStopped: reason.Secret, guest.StatusRunning: ""} {
		plan := New(want, cluster.Snapshot{Guests: map[int]guest.Observed{201: fixture.LiveWeb(status)}})
		if got := plan.Steps(); len(got) != 1 || got[0].Hindrance.Reason != hindered {
			t.Errorf("got %+v for a guest that is %s, want one step hindered by %q", got, status, hindered)
		}
	}
}

func TestCannotCreate(t *testing.T) {
	unsized := guest.Desired{
		Ref: guest.Ref{Kind: guest.Container, Name: "dns-1", VMID: 210}, Node: "pve1", Source: guest.Source{Template: &guest.Template{Volume: "local:vztmpl/debian.tar.zst"}},
		Intents: []guest.Intent{{Key: "rootfs", Verb: guest.Want, Sub: map[string]string{"storage": "local"}}},
	}
	sourceless := fixture.WantWeb()
	sourceless.Source = guest.Source{}
	for name, tt := range map[string]struct {
		want   guest.Desired
		reason reason.Name
		hint   string
	}{
		"key":       {unsized, reason.Impossible, "change these fields"},
		"no_source": {sourceless, reason.Impossible, "add spec.source"},
		"template":  {fixture.WantWeb(), reason.Impossible, "create what they name"},
	} {
		t.Run(name, func(t *testing.T) {
			p := New(Desired{Cluster: "home", Guests: []guest.Desired{tt.want}}, cluster.Snapshot{Absent: map[int]cluster.Absence{tt.want.VMID: cluster.Gone}}).Guests[0]
			if len(p.Steps) != 0 || len(p.Conditions) != 1 || p.Conditions[0].Reason != tt.reason || !strings.Contains(p.Conditions[0].Hint, tt.hint) {
				t.Errorf("got %d steps and %+v, want it blocked as %s with %q", len(p.Steps), p.Conditions, tt.reason, tt.hint)
			}
		})
	}
}
