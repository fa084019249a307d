package object

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKeyOfIsTheVMIDOrTheLabel(t *testing.T) {
	before, after := KeyOf(201, "VirtualMachine/web-1"), KeyOf(201, "VirtualMachine/shop-1")
	if before != after || before != Guest(201) {
		t.Errorf("got %v and %v, want the same key for one vmid", before, after)
	}
	if a, b := KeyOf(0, "VirtualMachine/web-1"), KeyOf(0, "Container/web-1"); a == b {
		t.Errorf("got %v for two labels, want different keys", a)
	}
	for key, want := range map[Key]string{Guest(201): "201", KeyOf(0, "Container/dns-1"): "Container/dns-1"} {
		if got := key.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestKeysAreOrdered(t *testing.T) {
	keys := []Key{Guest(9000), KeyOf(0, "VirtualMachine/a"), Guest(201), KeyOf(0, "Container/b")}
	slices.SortFunc(keys, Key.Compare)
	if diff := cmp.Diff([]Key{KeyOf(0, "Container/b"), KeyOf(0, "VirtualMachine/a"), Guest(201), Guest(9000)}, keys); diff != "" {
		t.Errorf("order (-want +got)\n%s", diff)
	}
}
