package kind

import (
	"encoding/json"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"

	"github.com/google/go-cmp/cmp"
)

func TestCommentsEndInTheMarker(t *testing.T) {
	tests := map[string]struct{ comment, text, marker string }{
		"empty":       {"", "", ""},
		"text":        {"web servers", "web servers", ""},
		"marker":      {"gitops-0011aabb", "", "gitops-0011aabb"},
		"both":        {"web servers gitops-0011aabb", "web servers", "gitops-0011aabb"},
		"blanks":      {"web servers  gitops-0011aabb \n", "web servers", "gitops-0011aabb"},
		"in_the_text": {"gitops-0011aabb is the marker", "gitops-0011aabb is the marker", ""},
		"part":        {"xgitops-0011aabb", "xgitops-0011aabb", ""},
		"longer":      {"web gitops-0011aabbc", "web gitops-0011aabbc", ""},
		"upper":       {"web gitops-0011AABB", "web gitops-0011AABB", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			text, marker := SplitComment(test.comment)
			if text != test.text || marker != test.marker {
				t.Errorf("got %q and %q, want %q and %q", text, marker, test.text, test.marker)
			}
			if again, found := SplitComment(WithMarker(text, "gitops-0011aabb")); again != text || found != "gitops-0011aabb" {
				t.Errorf("got %q and %q back", again, found)
			}
		})
	}
}

func TestRowsAreNativeTexts(t *testing.T) {
	rows, err := Rows(json.RawMessage(`[{"a":1,"b":"two","c":true,"d":false,"e":null,"f":12345678901234567890,"g":{"h":1}}]`))
	if err != nil || len(rows) != 1 {
		t.Fatalf("got %v, %v", rows, err)
	}
	for name, want := range map[string]string{"a": "1", "b": "two", "c": "1", "d": "0", "e": "", "f": "12345678901234567890", "g": "", "none": ""} {
		if got := rows[0].Text(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if _, err := Rows(json.RawMessage(`{"a":1}`)); err == nil {
		t.Error("got no error for a reply that is no list")
	}
}

// TestFieldsAreKeysAndBack completes an object from fields, and raises the fields from its keys.
func TestFieldsAreKeysAndBack(t *testing.T) {
	k := &Kind{Name: "Thing", Note: CommentRule{Key: "comment"}, Fields: []Field{
		{Name: "storage", Key: "storage", Form: Text{}},
		{Name: "enabled", Key: "enabled", Form: Flag{}},
		{Name: "rate", Key: "rate", Form: Integer{}},
		{Name: "nodes", Key: "nodes", Form: List{}},
		{Name: "byHand", Form: Text{}},
	}}
	spec := Spec{
		"storage": {Text: "local"}, "enabled": {Text: "0"}, "rate": {Text: "7"}, "nodes": {List: []Value{{Text: "pve1"}, {Text: "pve2"}}}, "byHand": {Text: "x"},
	}
	var d Desired
	if problems := k.Complete(&d, spec); len(problems) != 0 {
		t.Fatalf("got %v", problems)
	}
	want := []Intent{{Key: "enabled", Text: "0"}, {Key: "nodes", Text: "pve1,pve2"}, {Key: "rate", Text: "7"}, {Key: "storage", Text: "local"}}
	if diff := cmp.Diff(want, d.Keys); diff != "" {
		t.Errorf("keys (-want +got)\n%s", diff)
	}
	keys := map[string]string{"comment": "x", "other": "1", "rate": "many"}
	for _, in := range d.Keys {
		if in.Key != "rate" {
			keys[in.Key] = in.Text
		}
	}
	fields, left := k.RaiseAll(cluster.Object{Keys: keys})
	if diff := cmp.Diff([]Raised{{"storage", "local"}, {"enabled", false}, {"nodes", []string{"pve1", "pve2"}}}, fields); diff != "" {
		t.Errorf("fields (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"other", "rate"}, left); diff != "" {
		t.Errorf("left out (-want +got)\n%s", diff)
	}
}

func TestPositionsAreNoChange(t *testing.T) {
	at := guest.Origin{File: "a.yaml", Line: 3}
	d := Desired{Origin: at, Keys: []Intent{{Key: "a", Origin: at}}, Guests: []GuestLabel{{Label: "VirtualMachine/a", Origin: at}}}
	if got := d.WithoutPositions(); !cmp.Equal(got, Desired{Keys: []Intent{{Key: "a"}}, Guests: []GuestLabel{{Label: "VirtualMachine/a"}}}) || d.Keys[0].Origin != at {
		t.Errorf("got %+v from %+v", got, d)
	}
}
