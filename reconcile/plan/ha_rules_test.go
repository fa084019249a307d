package plan

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/internal/fixture"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/kinds"
	"gitops-agent/reconcile/order"
	"gitops-agent/reconcile/reason"
)

// TestRulesHoldMovesAlone plans a guest on pve1 whose manifest wants it on pve2, and another memory. A rule takes away the move alone, and not the move of a signed order.
func TestRulesHoldMovesAlone(t *testing.T) {
	t.Parallel()
	read := cluster.Objects{ReadAt: time.Unix(1, 0), ByID: map[string]cluster.Object{}}
	home := read
	home.ByID = map[string]cluster.Object{"home": {ID: "home", Keys: map[string]string{"type": "node-affinity", "resources": "vm:201", "nodes": "pve1"}}}
	unread := read
	unread.Err = "no quorum"
	manifest := kind.Desired{
		Kind: kinds.AffinityRules, Name: "of-git", ID: "of-git", Origin: guest.Origin{File: "rules.yaml", Line: 3, Column: 1},
		Keys:   []kind.Intent{{Key: "type", Text: "node-affinity"}, {Key: "nodes", Text: "pve1", Origin: guest.Origin{File: "rules.yaml", Line: 7, Column: 3}}},
		Guests: []kind.GuestLabel{{Label: "VirtualMachine/web-1", Key: "resources"}},
	}
	for name, test := range map[string]struct {
		entry   string // of the HA manager; "" is none
		rules   cluster.Objects
		objects []kind.Desired
		moves   bool
		because reason.Name
		says    string
	}{
		"no_rule":       {entry: "started", rules: read, moves: true},
		"rule":          {entry: "started", rules: home, because: reason.OtherNode, says: "the rule home decides where the HA manager runs it"},
		"stopped":       {entry: "stopped", rules: home, because: reason.OtherNode, says: "the rule home"},
		"ignored":       {entry: "ignored", rules: home, moves: true},
		"no_ha":         {entry: "", rules: home, moves: true},
		"no_ha_unread":  {entry: "", moves: true},
		"not_read_yet":  {entry: "started", because: reason.WaitsFor, says: "are read"},
		"unreadable":    {entry: "started", rules: unread, because: reason.WaitsFor, says: "no quorum"},
		"contradicts":   {entry: "started", rules: read, objects: []kind.Desired{manifest}, because: reason.OtherNode, says: "AffinityRule/of-git (rules.yaml:7:3) lets the HA manager run it on pve1"},
		"of_a_manifest": {entry: "started", rules: cluster.Objects{ReadAt: read.ReadAt, ByID: map[string]cluster.Object{"of-git": {ID: "of-git", Keys: home.ByID["home"].Keys}}}, objects: []kind.Desired{manifest}, because: reason.OtherNode, says: "AffinityRule/of-git decides"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, live := fixture.WantWeb(), fixture.LiveWeb(guest.StatusRunning)
			want.Node, want.Nodes, want.Migrate, live.Node = "pve2", []string{"pve2"}, guest.MigrateOnline, "pve1"
			row := cluster.Row{Kind: live.Kind, VMID: 201, Node: "pve1", HAState: test.entry}
			if test.entry != "" {
				want.HA = &guest.HAWanted{State: test.entry}
				live.HA, live.Resource = true, &guest.HA{State: test.entry, MaxRestart: 1, MaxRelocate: 1}
				if test.entry == "stopped" {
					live.Status = guest.StatusStopped
				}
			}
			o := order.Open{Request: order.Request{Op: cluster.OpMigrate, Params: map[string]string{order.KeyTarget: "pve2"}}}
			o.Identity = fixture.Owned201().Identity
			state := journal.State{Owned: map[int]journal.Owned{201: fixture.Owned201()}}
			p := New(Desired{
				Cluster: "home", Guests: []guest.Desired{want}, Owned: state.Owned, Objects: NewObjects(test.objects, []guest.Desired{want}, state).OnlyAround(), Orders: map[int][]order.Open{201: {o}},
			}, cluster.Snapshot{
				Guests: map[int]guest.Observed{201: live}, Inventory: cluster.Inventory{Rows: []cluster.Row{row}}, Objects: map[guest.Kind]cluster.Objects{kinds.AffinityRules: test.rules},
			}).Guests[0]
			moves := len(p.Steps) == 1 && p.Steps[0].Op == cluster.OpMigrate
			if moves != test.moves || len(p.Orders) != 1 || p.Orders[0].Refused != "" {
				t.Errorf("got steps %+v and orders %+v, want a move of placement %t, and the move of the order", p.Steps, p.Orders, test.moves)
			}
			said := test.says == ""
			for _, c := range p.Conditions {
				said = said || c.Reason == test.because && strings.Contains(c.Message, test.says)
			}
			if !said || test.says == "" && len(p.Conditions) > 0 || p.Converged() != (test.because == reason.OtherNode) {
				t.Errorf("got %+v, converged %t, want %s with %q", p.Conditions, p.Converged(), test.because, test.says)
			}
		})
	}
}
