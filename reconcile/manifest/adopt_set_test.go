package manifest_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest"
)

// webServer returns a live virtual machine that differs from its neighbours in a number.
func webServer(n int, other map[string]string) guest.Observed {
	texts := map[string]string{
		"name": fmt.Sprintf("web-%d", n), "memory": "2048", "cores": "2", "ostype": "l26", "scsihw": "virtio-scsi-single", "tags": "prod;web",
		"net0": fmt.Sprintf("virtio=BC:24:11:00:00:%02X,bridge=vmbr0,tag=20", n), "ipconfig0": fmt.Sprintf("ip=10.0.20.%d/24,gw=10.0.20.1", n+10),
		"scsi0": fmt.Sprintf("local-lvm:vm-%d-disk-0,size=32G", 200+n), "boot": "order=scsi0;net0", "ide2": fmt.Sprintf("local-lvm:vm-%d-cloudinit,media=cdrom", 200+n),
	}
	maps.Copy(texts, other)
	keys := map[string]guest.Value{}
	for key, text := range texts {
		if text != "" {
			keys[key] = guest.Value{Text: text, Set: true}
		}
	}
	return guest.Observed{
		Ref: guest.Ref{Kind: guest.VirtualMachine, Name: texts["name"], VMID: 200 + n}, Node: fmt.Sprintf("pve%d", 1+n%3), Status: guest.StatusRunning,
		Keys: keys, ReadAt: time.Date(2026, 11, 21, 3, 3, 11, 0, time.UTC),
	}
}

// adoptAll adopts guests one by one, with names as the command chooses them.
func adoptAll(t failer, guests []guest.Observed) []manifest.Adopted {
	t.Helper()
	var out []manifest.Adopted
	taken := map[string]bool{}
	for _, o := range guests {
		name := manifest.AdoptName(o, taken)
		taken[string(o.Kind)+"/"+name] = true
		a, err := manifest.Adopt(o, manifest.AdoptOptions{Cluster: "home", Name: name})
		if err != nil {
			t.Fatalf("adopt %d: %v", o.VMID, err)
		}
		out = append(out, a)
	}
	return out
}

func noneTaken(string) bool { return false }

// TestAdoptSets proposes a set of four web servers, of which one has more memory and one another bridge, and leaves a database alone.
func TestAdoptSets(t *testing.T) {
	t.Parallel()
	guests := []guest.Observed{
		webServer(1, nil), webServer(2, map[string]string{"memory": "8192", "description": "the big one\nwith more memory"}),
		webServer(3, map[string]string{"net0": "virtio=BC:24:11:00:00:03,bridge=vmbr1,tag=20", "ipconfig0": "ip=10.0.20.13/24,gw=10.0.20.1,ip6=fd00::13/64", "args": "-no-reboot"}),
		webServer(4, map[string]string{"name": "WEB-4"}),
		webServer(9, map[string]string{"name": "db-1", "memory": "16384", "cores": "8", "tags": "db", "scsihw": "", "scsi1": "local-lvm:vm-209-disk-1,size=500G", "ostype": "other"}),
	}
	sets, alone := manifest.AdoptSets(adoptAll(t, guests), "home", noneTaken)
	if len(sets) != 1 || len(alone) != 1 || alone[0].Name != "db-1" || sets[0].Name != "web" || len(sets[0].Members) != 4 {
		t.Fatalf("got sets %v and %d guests alone, want web of four, and db-1", sets, len(alone))
	}
	golden(t, filepath.Join("testdata", "adopt", "guestset.yaml"), sets[0].Data)
	checkSets(t, guests, sets)

	again, _ := manifest.AdoptSets(adoptAll(t, guests), "home", func(name string) bool { return name == "web" })
	if again[0].Name != "web-2" {
		t.Errorf("got the set %s although a set has the name web, want web-2", again[0].Name)
	}
}

// checkSets holds that sets would change nothing on the guests that they describe, and that the schema accepts them.
func checkSets(t failer, guests []guest.Observed, sets []manifest.AdoptedSet) {
	t.Helper()
	files := []manifest.File{{Path: "cluster.yaml", Data: []byte(clusterManifest)}}
	want := 0
	for _, s := range sets {
		files = append(files, manifest.File{Path: s.Name + ".yaml", Data: s.Data})
		want += len(s.Members)
	}
	set, err := manifest.Parse(files)
	if err != nil {
		t.Fatalf("got %v, want no problems in the sets", err)
	}
	desired, err := set.Lower(nil)
	if err != nil || len(desired) != want {
		t.Fatalf("got %d guests and %v, want %d", len(desired), err, want)
	}
	for _, d := range desired {
		i := slices.IndexFunc(guests, func(o guest.Observed) bool { return o.VMID == d.VMID })
		if changes := guest.Diff(d, guests[i]); len(changes) > 0 {
			t.Fatalf("%s: got changes %+v, want none", d.Label(), changes)
		}
	}
}

// TestAdoptedSetsPlanEmpty draws guests with any keys, several of them alike: whatever becomes a set changes nothing, and no guest is lost.
func TestAdoptedSetsPlanEmpty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var guests []guest.Observed
		for range rapid.IntRange(1, 3).Draw(t, "shapes") {
			kind := rapid.SampledFrom([]guest.Kind{guest.VirtualMachine, guest.Container}).Draw(t, "kind")
			like := drawLive(t, kind)
			for range rapid.IntRange(1, 4).Draw(t, "copies") {
				o := like
				o.VMID = 300 + len(guests)
				guests = append(guests, o)
			}
		}
		adopted := adoptAll(t, guests)
		sets, alone := manifest.AdoptSets(adopted, "home", noneTaken)
		count := len(alone)
		for _, s := range sets {
			if count += len(s.Members); len(s.Members) < 2 || strings.TrimSpace(string(s.Data)) == "" {
				t.Fatalf("got the set %s of %d members, want at least two", s.Name, len(s.Members))
			}
		}
		if count != len(guests) {
			t.Fatalf("got %d guests in sets and alone, want %d", count, len(guests))
		}
		checkSets(t, guests, sets)
	})
}
