package slots_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/slots"
)

// wants returns a manifest of a virtual machine with disks in these slots. A slot with an exclamation mark must be empty.
func wants(names ...string) *guest.Desired {
	d := &guest.Desired{Ref: guest.Ref{Kind: guest.VirtualMachine, VMID: 201}}
	for _, name := range names {
		in := guest.Intent{Key: strings.TrimPrefix(name, "!"), Verb: guest.Want, Sub: map[string]string{"storage": "lvm", "size": "4G"}}
		if strings.HasPrefix(name, "!") {
			in.Verb, in.Sub = guest.Absent, nil
		}
		d.Intents = append(d.Intents, in)
	}
	return d
}

// has returns a reading of the guest: "scsi1=a scsi2=none,media=cdrom". The volumes are on the storage lvm.
func has(text string) guest.Observed {
	o := guest.Observed{Ref: guest.Ref{Kind: guest.VirtualMachine, VMID: 201}, Keys: map[string]guest.Value{}}
	for part := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(part, "=")
		if len(value) == 1 {
			value = vol(value)
		}
		switch {
		case strings.HasPrefix(key, "-"): // waits to be detached
			o.Keys[key[1:]] = guest.Value{Text: value, Set: true, Delete: true}
		case strings.HasPrefix(key, "+"): // waits to be attached
			o.Keys[key[1:]] = guest.Value{Pending: &value}
		default:
			o.Keys[key] = guest.Value{Text: value, Set: true}
		}
	}
	return o
}

func vol(letter string) string { return "lvm:vm-201-disk-" + letter }

// record returns a record: "scsi1=a scsi2=? scsi3... other=b".
func record(text string) journal.Attached {
	r := journal.Attached{VMID: 201, Identity: "i"}
	for part := range strings.FieldsSeq(text) {
		slot, volume, held := strings.Cut(part, "=")
		if held && r.Volumes == nil && slot != "other" {
			r.Volumes = map[string]string{}
		}
		switch {
		case slot == "other":
			r.Others = append(r.Others, vol(volume))
		case volume == "?":
			r.Volumes[slot] = ""
		case held:
			r.Volumes[slot] = vol(volume)
		default:
			r.Filling = append(r.Filling, strings.TrimSuffix(slot, "..."))
		}
	}
	return r
}

var owned = journal.Owned{VMID: 201, Identity: "i"}

func TestFollow(t *testing.T) {
	tests := map[string]struct {
		before string
		want   *guest.Desired
		live   string
		after  string
	}{
		"first_seen":             {"", wants("scsi1"), "scsi1=a", "scsi1=a"},
		"unchanged":              {"scsi1=a", wants("scsi1"), "scsi1=a", "scsi1=a"},
		"slot_of_others":         {"", wants("scsi1"), "scsi1=a scsi2=b", "scsi1=a other=b"},
		"replaced":               {"scsi1=a", wants("scsi1"), "scsi1=b unused0=a", "scsi1=b other=a"},
		"swapped":                {"scsi1=a scsi2=b", wants("scsi1", "scsi2"), "scsi1=b scsi2=a", "scsi1=b scsi2=a"},
		"detached":               {"scsi1=a", wants("scsi1"), "unused0=a", "scsi1=a"},
		"detached_and_another":   {"scsi1=a scsi2=b", wants("scsi1", "scsi2"), "scsi2=c unused0=a unused1=b", "scsi1=a scsi2=c"},
		"in_another_slot":        {"scsi1=a", wants("scsi1", "scsi2"), "scsi2=a", "scsi1=? scsi2=a"},
		"waits_to_be_detached":   {"scsi1=a", wants("scsi1"), "-scsi1=a", "scsi1=a"},
		"waits_to_be_attached":   {"scsi1...", wants("scsi1"), "+scsi1=a", "scsi1=a"},
		"medium_in_its_place":    {"scsi1=a", wants("scsi1"), "scsi1=none,media=cdrom unused0=a", "scsi1=a"},
		"filled":                 {"scsi1=a scsi2...", wants("scsi1", "scsi2"), "scsi1=a scsi2=b", "scsi1=a scsi2=b"},
		"not_filled":             {"scsi2...", wants("scsi2"), "", "scsi2..."},
		"unknown_filled":         {"scsi1=?", wants("scsi1"), "scsi1=a", "scsi1=a"},
		"dropped":                {"scsi1=a scsi2...", wants(), "scsi1=a", "other=a"},
		"absent_not_yet":         {"scsi1=a", wants("!scsi1"), "scsi1=a", "scsi1=a"},
		"absent_pending":         {"scsi1=a", wants("!scsi1"), "-scsi1=a", "scsi1=a"},
		"absent":                 {"scsi1=a scsi2=b", wants("!scsi1", "scsi2"), "scsi2=b unused0=a", "scsi2=b other=a"},
		"others_wait_for_a_slot": {"scsi1=a other=c", wants("scsi1"), "unused0=a unused1=b", "scsi1=a other=c"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before := record(test.before)
			kept := record(test.before)
			got, changed := slots.Follow(before, test.want, has(test.live))
			if diff := cmp.Diff(describe(record(test.after)), describe(got)); diff != "" {
				t.Errorf("record differs (-want +got):\n%s", diff)
			}
			if changed != (test.before != test.after) {
				t.Errorf("got changed %t, want %t", changed, !changed)
			}
			if diff := cmp.Diff(kept, before); diff != "" {
				t.Errorf("the old record, which readers of the journal share, was changed (-before +after):\n%s", diff)
			}
			if _, again := slots.Follow(got, test.want, has(test.live)); again {
				t.Error("got another change from the same reading, want none")
			}
		})
	}
}

// describe returns the record without the difference between empty and nil.
func describe(r journal.Attached) map[string]string {
	text := maps.Clone(r.Volumes)
	if text == nil {
		text = map[string]string{}
	}
	text["filling"], text["others"] = strings.Join(r.Filling, " "), strings.Join(r.Others, " ")
	return text
}

func TestFirstRecords(t *testing.T) {
	claiming := owned
	claiming.Claiming = true
	d := wants("scsi1", "scsi2")
	tests := map[string]struct {
		got  journal.Attached
		want string
	}{
		"created":                  {slots.Created(owned), ""},
		"adopted":                  {slots.Adopted(owned, d, has("scsi1=a")), "scsi1=a"},
		"adopted_with_unused":      {slots.Adopted(owned, d, has("scsi1=a unused0=b")), "scsi1=a scsi2=? other=b"},
		"unrecorded":               {slots.Unrecorded(owned, d, has("scsi1=a")), "scsi1=a scsi2=?"},
		"unrecorded_being_created": {slots.Unrecorded(claiming, d, has("scsi1=a")), "scsi1=a"},
		"before":                   {slots.Before(owned, wants("scsi1")), "scsi1=?"},
		"before_without_slots":     {slots.Before(owned, wants()), ""},
		"begun":                    {first(slots.Begin(record("scsi1=a"), []string{"scsi3", "scsi2"})), "scsi1=a scsi2... scsi3..."},
		"begun_again":              {first(slots.Begin(record("scsi2..."), []string{"scsi2"})), "scsi2..."},
		"reverted":                 {slots.Revert(record("scsi1=a scsi2... scsi3..."), []string{"scsi3"}), "scsi1=a scsi2..."},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(describe(record(test.want)), describe(test.got)); diff != "" {
				t.Errorf("record differs (-want +got):\n%s", diff)
			}
		})
	}
	if _, found := slots.Of(map[int]journal.Attached{201: record("scsi1=a")}, journal.Owned{VMID: 201, Identity: "other"}); found {
		t.Error("got the record of another identity, want none")
	}
}

func first(r journal.Attached, _ []string) journal.Attached { return r }

func TestFormer(t *testing.T) {
	const unknown, again = "unknown", "again"
	tests := map[string]struct {
		record string
		live   string
		want   map[string]string // by slot: unknown, again, or a part of the reason
	}{
		"filled":               {"scsi1=a scsi2=b", "scsi1=a scsi2=b", nil},
		"new_slot":             {"scsi1=a", "scsi1=a", nil},
		"new_guest":            {"", "", nil},
		"detached":             {"scsi1=a", "unused0=a", map[string]string{"scsi1": again}},
		"two_detached":         {"scsi1=a scsi2=b", "unused0=b unused1=a", map[string]string{"scsi1": again, "scsi2": again}},
		"with_a_medium":        {"scsi1=a", "scsi1=none,media=cdrom unused0=a", map[string]string{"scsi1": again}},
		"with_an_old_unused":   {"scsi1=a other=b", "unused0=b unused1=a", map[string]string{"scsi1": again}},
		"an_unmanaged_too":     {"scsi1=a other=b", "unused0=a unused1=b", map[string]string{"scsi1": again}},
		"a_newer_unused":       {"scsi1=a", "unused0=a unused1=b", map[string]string{"scsi1": "unused1=lvm:vm-201-disk-b appeared since"}},
		"removed":              {"scsi1=a", "", map[string]string{"scsi1": "no key of the guest names it"}},
		"in_another_slot":      {"scsi1=a", "scsi7=a", map[string]string{"scsi1": "uses it as scsi7"}},
		"in_two_places":        {"scsi1=a", "scsi7=a unused0=a", map[string]string{"scsi1": "uses it as scsi7"}},
		"unknown":              {"scsi1=?", "unused0=a", map[string]string{"scsi1": unknown}},
		"being_filled":         {"scsi1...", "", map[string]string{"scsi1": unknown}},
		"being_filled_again":   {"scsi1=a scsi1...", "unused0=a", map[string]string{"scsi1": unknown}},
		"waits_to_be_attached": {"scsi1...", "+scsi1=a", nil},
		"not_wanted":           {"scsi9=a", "unused0=a", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := slots.Former(record(test.record), true, wants("scsi1", "scsi2"), has(test.live))
			if len(got) != len(test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
			for slot, want := range test.want {
				switch f := got[slot]; {
				case want == unknown && (f.Volume != "" || f.Taken == ""), want == again && (f.Volume == "" || f.Taken != ""),
					want != unknown && want != again && !strings.Contains(f.Taken, want):
					t.Errorf("got %s: %+v, want %s", slot, f, want)
				}
			}
		})
	}
	if got := slots.Former(journal.Attached{}, false, wants("scsi1"), has("unused0=a")); got["scsi1"].Taken == "" || got["scsi1"].Volume != "" {
		t.Errorf("got %v without a record, want an unknown volume", got)
	}
}
