package ownership

import (
	"testing"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind"

	"github.com/google/go-cmp/cmp"
)

// TestDestroyOfObjectsOnlyBecomesStronger compares every recorded value with every value of a manifest.
func TestDestroyOfObjectsOnlyBecomesStronger(t *testing.T) {
	for _, test := range []struct{ recorded, wanted, want string }{
		{"", "allow", ""},
		{"", "approve", ""},
		{"", "deny", "deny"},
		{"allow", "allow", ""},
		{"allow", "approve", "approve"},
		{"allow", "deny", "deny"},
		{"approve", "allow", ""},
		{"approve", "deny", "deny"},
		{"deny", "allow", ""},
		{"deny", "approve", ""},
		{"deny", "deny", ""},
	} {
		record := journal.OwnedObject{Kind: "Pool", ID: "web", Name: "web", Destroy: test.recorded}
		state := journal.State{Objects: map[journal.ObjectID]journal.OwnedObject{record.Object(): record}}
		wanted := []kind.Desired{{Kind: "Pool", ID: "web", Destroy: guest.Permission(test.wanted)}, {Kind: "Pool", ID: "foreign", Destroy: guest.Deny}}
		var want []journal.Body
		if test.want != "" {
			record.Destroy = test.want
			want = []journal.Body{record}
		}
		if diff := cmp.Diff(want, AcceptObjects(wanted, state, fileOf)); diff != "" {
			t.Errorf("%s in the record and %s in the manifest (-want +got)\n%s", test.recorded, test.wanted, diff)
		}
	}
}

// fileOf returns the file of the manifest.
func fileOf(_ string, d kind.Desired) string { return d.Origin.File }

// TestFileOfObjects: the record of an object names the file of its last manifest, also if nothing else of it changes.
func TestFileOfObjects(t *testing.T) {
	t.Parallel()
	record := journal.OwnedObject{Kind: "Pool", ID: "web", Name: "web", Destroy: "deny", File: "web/pool.yaml"}
	state := journal.State{Objects: map[journal.ObjectID]journal.OwnedObject{record.Object(): record}}
	wanted := kind.Desired{Kind: "Pool", ID: "web", Destroy: guest.Allow, Origin: guest.Origin{File: "web/pool.yaml"}}
	if got := AcceptObjects([]kind.Desired{wanted}, state, fileOf); len(got) > 0 {
		t.Errorf("got %v for a manifest in the same file, want nothing new", got)
	}
	wanted.Origin.File, record.File = "pools/web.yaml", "pools/web.yaml"
	if diff := cmp.Diff([]journal.Body{record}, AcceptObjects([]kind.Desired{wanted}, state, fileOf)); diff != "" {
		t.Errorf("a moved manifest (-want +got)\n%s", diff)
	}
	if got := AcceptObjects(nil, state, fileOf); len(got) > 0 {
		t.Errorf("got %v for a removed manifest, want the record with its last file", got)
	}
}

func TestMarkersOfObjectsDiffer(t *testing.T) {
	web := journal.ObjectID{Kind: "Pool", ID: "web"}
	seen := map[string]bool{}
	for _, marker := range []string{
		ObjectMarker("home", web, "5e"), ObjectMarker("away", web, "5e"), ObjectMarker("home", journal.ObjectID{Kind: "Pool", ID: "db"}, "5e"),
		ObjectMarker("home", journal.ObjectID{Kind: "Alias", ID: "web"}, "5e"), ObjectMarker("home", web, "5f"),
	} {
		if _, found := kind.SplitComment("x " + marker); seen[marker] || found != marker {
			t.Errorf("got marker %q twice, or not found again", marker)
		}
		seen[marker] = true
	}
}
