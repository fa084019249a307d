package recovery

import (
	"slices"
	"testing"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/internal/fixture"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"
)

// A guest is claimed only if everything agrees: vmid, kind and name with a manifest, one marker that is nowhere else, a uuid that contradicts nothing.
func TestFind(t *testing.T) {
	const other = "gitops-99aabbcc"
	marker := fixture.Owned201().Tag
	tests := map[string]struct {
		change func(in *Input, live *guest.Observed)
		want   Verdict // "" if the guest is not in the result
	}{
		"everything_agrees": {func(*Input, *guest.Observed) {}, Claimable},
		"without_a_uuid":    {func(_ *Input, live *guest.Observed) { live.Keys["smbios1"] = guest.Value{} }, Claimable},
		"among_other_tags": {func(_ *Input, live *guest.Observed) {
			live.Keys["tags"] = guest.Value{Text: "a;" + marker + ";z", Set: true}
		}, Claimable},
		"its_uuid_wanted": {func(in *Input, _ *guest.Observed) {
			in.Guests[0].Intents = append(in.Guests[0].Intents, guest.Intent{Key: "smbios1", Verb: guest.Want, Sub: map[string]string{"uuid": fixture.TestUUID}})
		}, Claimable},
		"record_of_another_guest": {func(in *Input, _ *guest.Observed) { in.Owned[300] = journal.Owned{VMID: 300, Tag: other, UUID: "x"} }, Claimable},

		"recorded": {func(in *Input, _ *guest.Observed) { in.Owned[201] = fixture.Owned201() }, ""},
		"no_marker": {func(in *Input, live *guest.Observed) {
			live.Keys["tags"], in.Got.Inventory.Rows[0].Tags = guest.Value{Text: "a", Set: true}, "a"
		}, ""},
		"marker_removed_since_the_inventory": {func(_ *Input, live *guest.Observed) { live.Keys["tags"] = guest.Value{} }, ""},
		"out_of_range_and_unnamed":           {func(in *Input, _ *guest.Observed) { in.Guests, in.VMIDs = nil, manifest.Range{From: 300, To: 399} }, ""},
		"copy_of_a_recorded_guest": {func(in *Input, _ *guest.Observed) {
			in.Guests, in.Owned[202] = nil, journal.Owned{VMID: 202, Tag: marker}
		}, ""},

		"name":              {func(_ *Input, live *guest.Observed) { live.Name = "web-2" }, OtherName},
		"kind":              {func(_ *Input, live *guest.Observed) { live.Kind = guest.Container }, OtherKind},
		"two_guests":        {func(in *Input, _ *guest.Observed) { in.Got.Inventory.Rows[1].Tags = "x;" + marker }, Copied},
		"in_another_record": {func(in *Input, _ *guest.Observed) { in.Owned[300] = journal.Owned{VMID: 300, Tag: marker} }, Copied},
		"two_markers": {func(_ *Input, live *guest.Observed) {
			live.Keys["tags"] = guest.Value{Text: marker + ";" + other, Set: true}
		}, SeveralMarkers},
		"another_record": {func(in *Input, _ *guest.Observed) { in.Owned[201] = journal.Owned{VMID: 201, Tag: other, UUID: "x"} }, OtherRecord},
		"another_uuid_wanted": {func(in *Input, _ *guest.Observed) {
			in.Guests[0].Intents = append(in.Guests[0].Intents, guest.Intent{Key: "smbios1", Verb: guest.Want, Text: "uuid=11111111-2222-3333-4444-555555555555"})
		}, OtherUUID},
		"uuid_of_another_guest": {func(in *Input, live *guest.Observed) {
			twin := *live
			twin.VMID = 202
			in.Got.Guests[202] = twin
		}, OtherUUID},
		"uuid_of_another_record": {func(in *Input, _ *guest.Observed) {
			in.Owned[300] = journal.Owned{VMID: 300, Tag: other, UUID: fixture.TestUUID}
		}, OtherUUID},
		"partly_created": {func(_ *Input, live *guest.Observed) { live.Lock = "clone" }, PartlyCreated},
		"not_read":       {func(in *Input, _ *guest.Observed) { delete(in.Got.Guests, 201) }, NotRead},
		"no_vmid":        {func(in *Input, _ *guest.Observed) { in.Guests[0].VMID = 0 }, NoVMID},
		"no_manifest":    {func(in *Input, _ *guest.Observed) { in.Guests = nil }, NoManifest},
		"hidden": {func(in *Input, _ *guest.Observed) {
			in.Got.Inventory.Rows, in.Got.Guests = nil, nil
			in.Got.Absent = map[int]cluster.Absence{201: cluster.Hidden}
		}, Hidden},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			live := fixture.LiveWeb("running")
			in := Input{
				Cluster: "home", Guests: []guest.Desired{fixture.WantWeb()}, VMIDs: manifest.Range{From: 200, To: 299}, Owned: map[int]journal.Owned{},
				Got: cluster.Snapshot{Guests: map[int]guest.Observed{}, Inventory: cluster.Inventory{Rows: []cluster.Row{
					{Kind: guest.VirtualMachine, VMID: 201, Name: "web-1", Tags: marker}, {Kind: guest.VirtualMachine, VMID: 290, Name: "dave", Tags: "x"},
				}}},
			}
			in.Got.Guests[201] = live
			test.change(&in, &live)
			if _, read := in.Got.Guests[201]; read {
				in.Got.Guests[201] = live
			}
			result := Find(in)
			g, found := result.Of(201)
			if found != (test.want != "") || g.Verdict != test.want {
				t.Fatalf("got %+v, found %t, want verdict %q", g, found, test.want)
			}
			if (g.Verdict == Claimable) != (result.Digest != "") || len(result.Records(journal.State{}, time.Time{})) != 2*len(result.Claims()) {
				t.Errorf("got digest %q and %d claims, want them only for a guest that is claimed", result.Digest, len(result.Claims()))
			}
			if found && (g.Message == "" || (g.Hint == "") != (g.Verdict == Claimable)) {
				t.Errorf("got message %q and hint %q, want a reason, and a hint unless the guest is claimed", g.Message, g.Hint)
			}
			if found && !slices.Contains(Verdicts(), g.Verdict) {
				t.Errorf("got verdict %q, which Verdicts lacks", g.Verdict)
			}
		})
	}
}

// The digest names the cluster and every part of the evidence, and neither the node nor a guest that is not claimed.
func TestDigest(t *testing.T) {
	base := Guest{VMID: 201, Kind: guest.VirtualMachine, Name: "web-1", Marker: "gitops-0011aabb", UUID: "u", Node: "pve1"}
	with := func(change func(g *Guest)) []Guest {
		g := base
		change(&g)
		return []Guest{g}
	}
	same := digest("home", []Guest{base})
	if got := digest("home", with(func(g *Guest) { g.Node = "pve2" })); got != same || len(same) != 32 {
		t.Errorf("got %s for another node, want %s", got, same)
	}
	for name, other := range map[string]string{
		"cluster": digest("work", []Guest{base}), "vmid": digest("home", with(func(g *Guest) { g.VMID = 202 })), "kind": digest("home", with(func(g *Guest) { g.Kind = guest.Container })),
		"name": digest("home", with(func(g *Guest) { g.Name = "x" })), "marker": digest("home", with(func(g *Guest) { g.Marker = "x" })),
		"uuid": digest("home", with(func(g *Guest) { g.UUID = "x" })), "another": digest("home", []Guest{base, base}),
	} {
		if other == same {
			t.Errorf("got the same digest with another %s, want another one", name)
		}
	}
	if got := digest("home", nil); got != "" {
		t.Errorf("got digest %s of nothing, want none", got)
	}
}

// A recovered guest has the marker and the uuid that it had, and its lifecycle allows nothing without an approval.
func TestRecords(t *testing.T) {
	for asked, want := range map[guest.Permission]guest.Permission{guest.Allow: guest.Approve, guest.Approve: guest.Approve, guest.Deny: guest.Deny} {
		d := fixture.WantWeb()
		d.Lifecycle.Destroy, d.Lifecycle.Recreate = asked, asked
		r := Found{wanted: map[int]guest.Desired{201: d}}
		r.Guests = []Guest{{VMID: 201, Marker: "gitops-0011aabb", UUID: "u", Verdict: Claimable}, {VMID: 202, Marker: "gitops-99aabbcc", Verdict: Copied}}
		records := r.Records(journal.State{}, time.Time{})
		if len(records) != 2 {
			t.Fatalf("got %d records, want two of the one guest that is claimed", len(records))
		}
		owned, guarded := records[0].(journal.Owned), records[1].(journal.Guarded)
		if owned.Tag != "gitops-0011aabb" || owned.UUID != "u" || owned.Claiming || owned.Origin != journal.Recovered || owned.Identity == "" || owned.VMID != 201 {
			t.Errorf("got record %+v, want a confirmed one with the marker of the guest", owned)
		}
		if guarded.Destroy != string(want) || guarded.Recreate != string(want) || guarded.Identity != owned.Identity {
			t.Errorf("got guards %+v for %s, want %s", guarded, asked, want)
		}
	}
}

// A file that cannot be used releases nothing.
func TestNote(t *testing.T) {
	n := Note{Dir: t.TempDir()}
	if _, found := n.Read(); found || n.Exists() {
		t.Error("got a release without a file, want none")
	}
	if err := n.Write(Release{Digest: "d", UID: 7}); err != nil {
		t.Fatal(err)
	}
	if r, found := n.Read(); !found || r.Digest != "d" || r.UID != 7 {
		t.Errorf("got %+v, found %t, want what was written", r, found)
	}
	if err := n.file().Write([]byte("{}")); err != nil {
		t.Fatal(err)
	}
	if r, found := n.Read(); found {
		t.Errorf("got %+v from a file without a digest, want nothing", r)
	}
	if err := n.Remove(); err != nil || n.Exists() {
		t.Errorf("got error %v, exists %t, want the file removed", err, n.Exists())
	}
	if _, found := (Note{}).Read(); found {
		t.Error("got a release from the zero Note, want none")
	}
}
