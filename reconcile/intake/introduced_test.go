package intake

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/verify"
)

// TestNewIntroduced follows commits by alice, who has no limit, and by wanda, who has one.
func TestNewIntroduced(t *testing.T) {
	t.Parallel()
	web, db := journal.Label{Kind: "VirtualMachine", Name: "web-1"}, journal.Label{Kind: "VirtualMachine", Name: "db-1"}
	commit := func(signer, id string, limited bool) []journal.Introduction {
		return []journal.Introduction{{Signer: signer, Entry: "of-" + signer, Limited: limited, Commit: id}}
	}
	alice, wanda := commit("alice", "a1", false), commit("wanda", "w1", true)
	with := func(by []journal.Introduction, fields ...string) journal.Introduction {
		i := by[0]
		i.Fields = fields
		return i
	}
	changes := func(by []journal.Introduction, label journal.Label, fields ...string) authored {
		return authored{by: by, fields: map[journal.Label][]string{label: fields}}
	}
	record := func(label journal.Label, by ...journal.Introduction) journal.Introduced {
		return journal.Introduced{Kind: label.Kind, Name: label.Name, By: by}
	}
	wanted := []guest.Desired{
		{Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "web-1"}, Intents: []guest.Intent{{Key: "cores"}, {Key: "memory"}}},
		{Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "db-1"}},
	}
	known := map[journal.Label]journal.Introduced{web: record(web, with(alice, "*"))}
	owned := map[int]journal.Owned{201: {Kind: "VirtualMachine", Name: "web-1"}}
	tests := map[string]struct {
		before  map[journal.Label]journal.Introduced
		commits []authored
		off     bool // the policy needs no records
		rewrote bool
		want    []journal.Body
	}{
		"new_guest":       {commits: []authored{changes(alice, web, "*")}, want: []journal.Body{record(web, with(alice, "*"))}},
		"field":           {before: known, commits: []authored{changes(wanda, web, "memory")}, want: []journal.Body{record(web, with(alice, "*"), with(wanda, "memory"))}},
		"unknown_before":  {commits: []authored{changes(wanda, web, "memory")}, want: []journal.Body{record(web, with(wanda, "memory"))}},
		"field_of_others": {before: known, commits: []authored{changes(wanda, web, "memory"), changes(alice, web, "memory")}, want: []journal.Body{record(web, with(alice, "*"), with(alice, "memory"))}},
		"gone_key":        {before: known, commits: []authored{changes(wanda, web, "memory", "net0")}, want: []journal.Body{record(web, with(alice, "*"), with(wanda, "memory"))}},
		"two_guests":      {commits: []authored{changes(alice, web, "*"), changes(wanda, db, "*")}, want: []journal.Body{record(db, with(wanda, "*")), record(web, with(alice, "*"))}},
		"removed": {
			before: known, commits: []authored{{by: wanda, removed: []journal.Label{web}}},
			want: []journal.Body{journal.Introduced{Kind: web.Kind, Name: web.Name, VMID: 201, Removed: true, By: []journal.Introduction{with(wanda, "*")}}},
		},
		"removed_and_not_owned":  {before: map[journal.Label]journal.Introduced{db: record(db, with(alice, "*"))}, commits: []authored{{by: wanda, removed: []journal.Label{db}}}, want: []journal.Body{record(db)}},
		"removed_and_added":      {before: known, commits: []authored{{by: wanda, removed: []journal.Label{web}}, changes(alice, web, "*")}, want: nil},
		"not_needed":             {before: known, off: true, want: []journal.Body{record(web)}},
		"never_needed":           {off: true},
		"nothing_changed":        {before: known},
		"rewritten_by_the_host":  {before: known, rewrote: true, want: []journal.Body{record(web)}},
		"same_record_once_again": {before: known, commits: []authored{changes(alice, web, "*")}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			accepted := Accepted{guests: wanted, trace: trace{recorded: !test.off, commits: test.commits}}
			got := newIntroduced(accepted, journal.State{Introduced: test.before, Owned: owned}, test.rewrote)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTracerAttributesBrokenManifests lets alice push manifests that do not parse, and bob repair them. What changed since the last manifests that
// parse is by both.
func TestTracerAttributesBrokenManifests(t *testing.T) {
	t.Parallel()
	o := newSignedRepo(t)
	const cluster = "apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: home}\nspec: {}\n"
	vm := func(memory string) string {
		return "apiVersion: proxmox.gitops/v1alpha1\nkind: VirtualMachine\nmetadata: {name: web-1}\nspec: {vmid: 201, memory: {size: " + memory + "}}\n"
	}
	o.repo.Files["cluster.yaml"], o.repo.Files["web.yaml"] = cluster, vm("1Gi")
	o.commit("alice", "works")
	base := o.repo.Tip
	o.repo.Files["web.yaml"] = vm("2 potatoes")
	o.commit("alice", "broken")
	o.repo.Files["web.yaml"] = vm("2Gi")
	o.commit("otto", "repaired")
	rev, repo := o.checkWith(base, func(opts *verify.Options) { opts.Signers[2].May = []verify.Role{verify.RoleChange} })
	tr := tracer{repo: repo, scope: Scope{Cluster: "home"}, all: true, known: map[gitsource.ID]manifest.Set{}}
	got, err := tr.follow(t.Context(), rev)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || len(got[0].by) != 2 || got[0].by[0].Signer != "alice" || got[0].by[1].Signer != "otto" {
		t.Fatalf("got %+v, want one change by alice and otto", got)
	}
	want := map[journal.Label][]string{{Kind: "VirtualMachine", Name: "web-1"}: {"memory"}}
	if diff := cmp.Diff(want, got[0].fields); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

func TestChangedOfCluster(t *testing.T) {
	t.Parallel()
	one := manifest.Cluster{Name: "home", Guards: manifest.Guards{Approvals: 1}}
	two, wider := one, one
	two.Guards.Approvals, wider.VMIDs.To = 2, 300
	for name, test := range map[string]struct {
		before, after manifest.Cluster
		want          []string
	}{
		"same": {one, one, nil}, "guards": {two, one, []string{gate.FieldGuards}}, "other": {one, wider, []string{"spec"}},
		"new": {manifest.Cluster{}, one, []string{journal.AllFields}},
	} {
		if diff := cmp.Diff(test.want, changedOfCluster(test.before, test.after)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
