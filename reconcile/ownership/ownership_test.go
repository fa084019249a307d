package ownership

import (
	"regexp"
	"strings"
	"testing"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/internal/fixture"
	"gitops-agent/reconcile/journal"
)

// The marks of a live guest decide what the agent may do with it.
func TestCompare(t *testing.T) {
	const otherUUID = "11111111-2222-3333-4444-555555555555"
	tag := fixture.Owned201().Tag
	foreign := Marker("home", 999, "another owner")
	uuid := "smbios1"
	record := func(change func(*journal.Owned)) journal.Owned {
		o := fixture.Owned201()
		change(&o)
		return o
	}
	made := fixture.Owned201()
	claiming := record(func(o *journal.Owned) { o.Claiming, o.UUID = true, "" })
	creating := record(func(o *journal.Owned) { o.Claiming = true })
	nameless := record(func(o *journal.Owned) { o.UUID = "" })
	adopting := record(func(o *journal.Owned) { o.Claiming, o.Origin = true, journal.Adopted })
	container := record(func(o *journal.Owned) { o.Kind, o.UUID = "Container", "" })
	tests := map[string]struct {
		owned     journal.Owned
		keys      []string // of the live guest, in pairs; its tag and uuid are those of the record unless the pairs contain others
		kind      guest.Kind
		conflict  string // part of it; "" is none
		different bool   // certainly not the recorded guest
		doubt     bool   // not certainly the recorded guest
	}{
		"ours":              {owned: made},
		"ours_among_tags":   {owned: made, keys: []string{"tags", "prod;" + tag + ";web"}},
		"ours_and_a_copy":   {owned: made, keys: []string{"tags", tag + ";" + foreign}},
		"tag_lost":          {owned: made, keys: []string{"tags", "prod"}, doubt: true},
		"uuid_changed":      {owned: made, keys: []string{uuid, "uuid=" + otherUUID}, conflict: "SMBIOS uuid", doubt: true},
		"replaced":          {owned: made, keys: []string{uuid, "uuid=" + otherUUID, "tags", ""}, conflict: "SMBIOS uuid", different: true, doubt: true},
		"another_s_marker":  {owned: made, keys: []string{"tags", foreign}, conflict: foreign, doubt: true},
		"container":         {owned: container, kind: guest.Container, keys: []string{uuid, ""}},
		"container_tagless": {owned: container, kind: guest.Container, keys: []string{uuid, "", "tags", ""}, conflict: "no other identification", doubt: true},

		"no_uuid":          {owned: nameless, keys: []string{uuid, "manufacturer=Acme"}},
		"no_uuid_tag_lost": {owned: nameless, keys: []string{uuid, "manufacturer=Acme", "tags", ""}, conflict: "no SMBIOS uuid", doubt: true},
		"uuid_gone":        {owned: made, keys: []string{uuid, "manufacturer=Acme"}, conflict: "SMBIOS uuid", doubt: true},

		"new_by_its_uuid":       {owned: creating, keys: []string{"tags", ""}, doubt: true},
		"new_with_another_uuid": {owned: creating, keys: []string{"tags", "", uuid, "uuid=" + otherUUID}, conflict: "appeared under this vmid", different: true, doubt: true},
		"new_and_tagged":        {owned: creating, keys: []string{uuid, "uuid=" + otherUUID}, doubt: true},

		"fresh_clone":            {owned: claiming, keys: []string{"tags", "template", "description", ClaimNote(tag)}, doubt: true},
		"fresh_clone_newline":    {owned: claiming, keys: []string{"tags", "", "description", ClaimNote(tag) + "\n"}, doubt: true},
		"fresh_create":           {owned: claiming, doubt: true},
		"vmid_lost_while_making": {owned: claiming, keys: []string{"tags", "web"}, conflict: "appeared under this vmid", different: true, doubt: true},
		"note_of_another_clone":  {owned: claiming, keys: []string{"tags", "", "description", ClaimNote(foreign)}, conflict: "appeared under this vmid", different: true, doubt: true},

		"adopted_not_tagged_yet": {owned: adopting, keys: []string{"tags", "old"}, doubt: true},
		"adopted_and_tagged":     {owned: adopting, doubt: true},
		"adopted_and_replaced":   {owned: adopting, keys: []string{"tags", "", uuid, "uuid=" + otherUUID}, conflict: "SMBIOS uuid", different: true, doubt: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			kind := guest.VirtualMachine
			if test.kind != "" {
				kind = test.kind
			}
			live := fixture.LiveWeb("running", test.keys...)
			live.Kind = kind
			e := Compare(test.owned, live)
			if got := e.Conflict(kind); got == "" != (test.conflict == "") || !strings.Contains(got, test.conflict) {
				t.Errorf("got conflict %q, want %q", got, test.conflict)
			}
			if got := e.IsDifferentGuest(); got != test.different {
				t.Errorf("got different guest %t, want %t", got, test.different)
			}
			if got := e.Doubt() != ""; got != test.doubt {
				t.Errorf("got doubt %q, want any %t", e.Doubt(), test.doubt)
			}
		})
	}
}

// The note contains the tag of one record. A description that a person wrote does not match, and neither does a guest without a record.
func TestHasClaimNote(t *testing.T) {
	tag := fixture.Owned201().Tag
	for description, want := range map[string]bool{
		ClaimNote(tag): true, ClaimNote(tag) + "\n": true, ClaimNote(tag) + " and more": false, ClaimNote(""): false, "": false, tag: false,
	} {
		if got := HasClaimNote(description, tag); got != want {
			t.Errorf("got %t from %q, want %t", got, description, want)
		}
	}
	if HasClaimNote(ClaimNote(""), "") {
		t.Error("got a note for a guest without a record, want none")
	}
}

// Only the tag confirms a record. The confirmed record contains the uuid that the guest has then.
func TestConfirm(t *testing.T) {
	claiming := fixture.Owned201()
	claiming.Claiming, claiming.UUID = true, ""
	if got, changed := Confirm(claiming, fixture.LiveWeb("running")); !changed || got != fixture.Owned201() {
		t.Errorf("got %+v, changed %t, want the record of a guest that was seen", got, changed)
	}
	if got, changed := Confirm(claiming, fixture.LiveWeb("running", "tags", "web", "description", ClaimNote(claiming.Tag))); changed || got != claiming {
		t.Errorf("got %+v, changed %t from a guest without the tag, want the record as it was", got, changed)
	}
	if _, changed := Confirm(fixture.Owned201(), fixture.LiveWeb("running")); changed {
		t.Error("got a change for a guest that was confirmed before, want none")
	}
}

// The marker depends on the vmid, so that a copied tag does not match its guest.
func TestMarkerDependsOnTheGuest(t *testing.T) {
	base := Marker("home", 201, "id")
	for name, other := range map[string]string{
		"cluster": Marker("work", 201, "id"), "vmid": Marker("home", 202, "id"), "identity": Marker("home", 201, "di"),
	} {
		if other == base {
			t.Errorf("got the same marker %s with another %s, want another one", base, name)
		}
	}
}

// The uuid of a new machine has the form that Proxmox accepts, and depends on the guest.
func TestUUID(t *testing.T) {
	base := UUID("home", 201, "id")
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(base) {
		t.Errorf("got uuid %s, want one of version 4", base)
	}
	for name, other := range map[string]string{"cluster": UUID("work", 201, "id"), "vmid": UUID("home", 202, "id"), "identity": UUID("home", 201, "di")} {
		if other == base {
			t.Errorf("got the same uuid %s with another %s, want another one", base, name)
		}
	}
}

func TestMarkerOfTheFixture(t *testing.T) {
	owned := fixture.Owned201()
	if got := Marker("home", owned.VMID, owned.Identity); got != owned.Tag {
		t.Errorf("got marker %s, want %s", got, owned.Tag)
	}
}
