package guest

import (
	"fmt"
	"slices"
	"testing"
)

// TestAtCreationHasEachValueThatIsNotReadBack sets each key and each sub-key of the table that is used at creation only. A new row is among them by itself.
func TestAtCreationHasEachValueThatIsNotReadBack(t *testing.T) {
	t.Parallel()
	tried := 0
	for kind, table := range map[Kind]map[string]*row{VirtualMachine: virtualMachineTable, Container: containerTable} {
		for key, r := range table {
			d := Desired{Ref: Ref{Kind: kind}}
			var want []string
			if r.once {
				want = append(want, key)
				d.Intents = []Intent{{Key: key, Verb: Want, Text: "x"}}
			}
			if r.once && kind == Container && key == "password" {
				d.Intents, d.Secrets = nil, []Secret{{Key: key, File: "f"}}
			}
			if r.syntax != nil {
				sub := map[string]string{}
				for _, s := range r.syntax.subs {
					if s.once {
						sub[s.name] = "raw"
						want = append(want, key+"."+s.name)
					}
				}
				d.Intents = []Intent{{Key: key, Verb: Want, Sub: sub}}
			}
			slices.Sort(want)
			var got []string
			for _, v := range AtCreation(d) {
				got = append(got, v.Key)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s %s: got %v, want %v", kind, key, got, want)
			}
			tried += len(want)
		}
	}
	if tried < 50 {
		t.Errorf("got %d keys tried, want all drives and the keys of containers", tried)
	}
}

// TestSourceTextTellsSourcesApart sets one field after the other.
func TestSourceTextTellsSourcesApart(t *testing.T) {
	t.Parallel()
	sources := []Source{
		{},
		{Blank: true},
		{Clone: &Clone{VMID: 9000}},
		{Clone: &Clone{Name: "a"}},
		{Clone: &Clone{Name: "a", Full: true}},
		{Clone: &Clone{Name: "a", Storage: "s"}},
		{Clone: &Clone{Name: "a", Format: "raw"}},
		{Clone: &Clone{Name: "a", Snap: "s"}},
		{Image: &Image{Volume: "v", Slot: "scsi0"}},
		{Image: &Image{Object: "v", Slot: "scsi0"}},
		{Image: &Image{Volume: "v", Slot: "scsi1"}},
		{ISO: &ISO{Volume: "v", Slot: "ide2"}},
		{Template: &Template{Volume: "v"}},
		{Template: &Template{Object: "v"}},
		{Backup: &Backup{Volume: "v"}},
		{Backup: &Backup{Volume: "v", Storage: "s"}},
		{Backup: &Backup{Volume: "v", Unique: true}},
	}
	seen := map[string]int{}
	for i, s := range sources {
		if before, same := seen[s.text()]; same {
			t.Errorf("got %q for sources %d and %d, want two texts", s.text(), before, i)
		}
		seen[s.text()] = i
	}
	renamed := Source{Image: &Image{Object: "debian", Volume: "local:import/debian-13.qcow2", Slot: "scsi0"}}
	if got, want := renamed.text(), (Source{Image: &Image{Object: "debian", Volume: "local:import/debian-12.qcow2", Slot: "scsi0"}}).text(); got != want {
		t.Errorf("got %s for another file of the same Image, want %s", got, want)
	}
	if got, want := fmt.Sprint(Source{Clone: &Clone{Name: "a", Full: true}}.text()), `clone.name="a" clone.full="true"`; got != want {
		t.Errorf("got %s, want %s as in journals of every release", got, want)
	}
}
