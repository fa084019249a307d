package guest

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"gitops-agent/reconcile/guest/form"
)

// TestSizeIsAMinimum draws the size of a volume and the size in a manifest, of any slot that holds data. Only a volume that is smaller is a difference, and it grows to the
// size in the manifest. One that is larger than its storage rounds up is told once, with the size that it has. After a growth nothing differs.
func TestSizeIsAMinimum(t *testing.T) {
	t.Parallel()
	slots := []struct {
		kind      Kind
		key, text string
	}{
		{VirtualMachine, "scsi0", "local-lvm:vm-201-disk-0,discard=on,size=%s"},
		{VirtualMachine, "virtio3", "local:201/vm-201-disk-1.qcow2,size=%s"},
		{VirtualMachine, "sata1", "local-lvm:vm-201-disk-2,backup=0,size=%s"},
		{VirtualMachine, "ide0", "local-lvm:vm-201-disk-3,size=%s"},
		{Container, "rootfs", "local:201/vm-201-disk-0.raw,size=%s"},
		{Container, "mp0", "local:201/vm-201-disk-1.raw,mp=/data,size=%s"},
	}
	rapid.Check(t, func(t *rapid.T) {
		slot := slots[rapid.IntRange(0, len(slots)-1).Draw(t, "slot")]
		size := func(name string) int64 { return rapid.Int64Range(1, 1<<16).Draw(t, name) * form.Mebibyte }
		has, wants, grows := size("live"), size("wanted"), size("wanted later")
		seen := func(bytes int64) Observed {
			o := live(keys{slot.key: fmt.Sprintf(slot.text, form.FormatSize(bytes))})
			if rapid.Bool().Draw(t, "running") {
				o = running(keys{slot.key: fmt.Sprintf(slot.text, form.FormatSize(bytes))})
			}
			if slot.kind == Container {
				o = container(o)
			}
			return o
		}
		for _, wants := range []int64{wants, grows} { // of the commits, the second begins with the size that the first left
			o := seen(has)
			d := want(o, subs(slot.key, "size="+form.FormatSize(wants)))
			changes, larger := Diff(d, o), LargerVolumes(d, o)
			switch {
			case wants > has:
				if len(changes) != 1 || changes[0].Write != WriteResize || changes[0].Value != form.FormatSize(wants) || len(larger) != 0 {
					t.Fatalf("%d of %d: got %v and %v, want a resize", has, wants, briefs(changes), larger)
				}
				has = wants
			case len(changes) != 0:
				t.Fatalf("%d of %d: got %v, want no difference", has, wants, briefs(changes))
			case (has-wants >= sizeSlack) != (len(larger) == 1):
				t.Fatalf("%d of %d: got %v", has, wants, larger)
			case len(larger) == 1 && larger[0].String() != "a disk never shrinks: the live size is "+form.FormatSize(has)+"; write it":
				t.Fatalf("got %q", larger[0])
			}
		}
		if o := seen(has); len(Diff(want(o, subs(slot.key, "size="+form.FormatSize(has))), o)) != 0 {
			t.Fatalf("%d: got a difference from its own size", has)
		}
	})
}
