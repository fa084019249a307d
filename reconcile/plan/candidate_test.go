package plan

import (
	"strings"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/internal/fixture"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"

	"github.com/google/go-cmp/cmp"
)

// TestCandidatesBlockCreate plans web-1 without a vmid next to guests that may be web-1, and next to other guests.
func TestCandidatesBlockCreate(t *testing.T) {
	const marker = "a;gitops-0011aabb"
	held := outline{Conditions: []string{"Blocked/not-managed"}}
	made := outline{Steps: []string{"create live claims"}}
	tests := map[string]struct {
		row     cluster.Row // of vmid 205
		owned   map[int]journal.Owned
		named   int // the vmid of another manifest
		last    int // vmid of the Cluster's range, which begins with 200
		outline outline
	}{
		"marked_same_name":            {row: cluster.Row{Kind: guest.VirtualMachine, Name: "web-1", Tags: marker}, outline: held},
		"marked_without_a_name":       {row: cluster.Row{Kind: guest.VirtualMachine, Tags: marker}, outline: held},
		"marked_template":             {row: cluster.Row{Kind: guest.VirtualMachine, Name: "web-1", Tags: marker, Template: true}, outline: held},
		"unmarked_same_name":          {row: cluster.Row{Kind: guest.VirtualMachine, Name: "web-1", Tags: "a;gitops-agent"}, outline: made},
		"unmarked_in_range":           {row: cluster.Row{Kind: guest.VirtualMachine, Name: "web-1", Tags: "a"}, last: 205, outline: held},
		"unmarked_after_range":        {row: cluster.Row{Kind: guest.VirtualMachine, Name: "web-1"}, last: 204, outline: made},
		"unmarked_other_in_range":     {row: cluster.Row{Kind: guest.VirtualMachine, Name: "web-2"}, last: 205, outline: made},
		"unmarked_container_in_range": {row: cluster.Row{Kind: guest.Container, Name: "web-1"}, last: 205, outline: made},
		"unmarked_template_in_range":  {row: cluster.Row{Kind: guest.VirtualMachine, Name: "web-1", Template: true}, last: 205, outline: made},
		"unreported_in_range":         {row: cluster.Row{Kind: guest.VirtualMachine}, last: 205, outline: held},
		"unreported_after_range":      {row: cluster.Row{Kind: guest.VirtualMachine}, last: 204, outline: made},
		"marked_other":                {row: cluster.Row{Kind: guest.VirtualMachine, Name: "web-2", Tags: marker}, outline: made},
		"marked_other_in_range":       {row: cluster.Row{Kind: guest.VirtualMachine, Name: "web-2", Tags: marker}, last: 205, outline: held},
		"marked_after_range":          {row: cluster.Row{Kind: guest.VirtualMachine, Name: "web-2", Tags: marker}, last: 204, outline: made},
		"container_in_range":          {row: cluster.Row{Kind: guest.Container, Name: "web-2", Tags: marker}, last: 205, outline: made},
		"copy_in_range": {
			row:   cluster.Row{Kind: guest.VirtualMachine, Name: "web-2", Tags: marker},
			owned: map[int]journal.Owned{206: {VMID: 206, Kind: "VirtualMachine", Name: "web-2", Tag: "gitops-0011aabb"}}, last: 205, outline: made,
		},
		"marked_container":   {row: cluster.Row{Kind: guest.Container, Name: "web-1", Tags: marker}, outline: made},
		"another_manifest_s": {row: cluster.Row{Kind: guest.VirtualMachine, Name: "web-1", Tags: marker}, named: 205, outline: made},
		"owned_under_another_name": {
			row:   cluster.Row{Kind: guest.VirtualMachine, Name: "web-1", Tags: marker},
			owned: map[int]journal.Owned{205: {VMID: 205, Kind: "VirtualMachine", Name: "web-2"}}, outline: made,
		},
		"owned_twice": {
			row:   cluster.Row{Kind: guest.VirtualMachine, Name: "web-1", Tags: marker},
			owned: map[int]journal.Owned{205: {VMID: 205, Kind: "VirtualMachine", Name: "web-1"}, 206: {VMID: 206, Kind: "VirtualMachine", Name: "web-1"}}, outline: held,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			web, other := fixture.WantWeb(), fixture.WantWeb()
			web.VMID, other.VMID, other.Name = 0, test.named, "other-1"
			want := Desired{Cluster: "home", Guests: []guest.Desired{web}, Owned: test.owned}
			if test.last != 0 {
				want.VMIDs = manifest.Range{From: 200, To: test.last}
			}
			if test.named != 0 {
				want.Guests = append(want.Guests, other)
			}
			test.row.VMID, test.row.Node = 205, "pve1"
			plan := New(want, cluster.Snapshot{Inventory: cluster.Inventory{Rows: []cluster.Row{test.row, template()}}})
			for _, p := range plan.Guests {
				if !p.Managed || p.Ref.Name != web.Name {
					continue
				}
				if diff := cmp.Diff(test.outline, outlineOf(Plan{Guests: []Guest{p}})); diff != "" {
					t.Errorf("plan differs (-want +got):\n%s", diff)
				}
				for _, c := range p.Conditions {
					if !strings.Contains(c.Message, "205") || !strings.Contains(c.Hint, "205") {
						t.Errorf("got %q, hint %q, want guest 205 named in both", c.Message, c.Hint)
					}
				}
			}
		})
	}
}

// TestCandidateKeepsDependentsWaiting plans a guest that depends on a guest whose create is blocked by a candidate.
func TestCandidateKeepsDependentsWaiting(t *testing.T) {
	if got := unusable(&Guest{Conditions: []Condition{candidatesCondition([]Candidate{{VMID: 205, Name: "web-1", Marker: "gitops-0011aabb"}})}}); got == "" {
		t.Error("got a usable guest, want dependent guests to wait")
	}
}
