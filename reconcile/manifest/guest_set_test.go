package manifest_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rogpeppe/go-internal/txtar"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest"
)

// TestMembersAreLikeFiles moves every member of a set to a file: nothing about the guests changes.
func TestMembersAreLikeFiles(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile(filepath.Join("testdata", "lower", "sets.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	set, err := manifest.Parse(archived(archive))
	if err != nil {
		t.Fatal(err)
	}
	want, err := set.Lower(nil)
	if err != nil {
		t.Fatal(err)
	}
	got := lowered(t, []manifest.File{{Path: "files.yaml", Data: rendered(t, set)}})
	if diff := cmp.Diff(want, got, cmpopts.IgnoreTypes(guest.Origin{}), cmpopts.EquateEmpty()); diff != "" || len(got) != 7 {
		t.Errorf("got %d other guests from files (-set +files):\n%s", len(got), diff)
	}
	for _, g := range set.Guests {
		if g.Set == "" || !strings.HasPrefix(g.Origin.File, "sets/") {
			t.Errorf("%s: got set %q at %s, want the place of its row", g.Label(), g.Set, g.Origin)
		}
	}
}

// TestSetLimits parses sets that are too large for a golden file.
func TestSetLimits(t *testing.T) {
	t.Parallel()
	rows := func(count int) string {
		var b strings.Builder
		for i := range count {
			fmt.Fprintf(&b, "  - {name: web-%d, vmid: %d, node: pve1, addresses: {net0: 10.0.%d.%d/24}}\n", i, 1000+i, i/250, 1+i%250)
		}
		return b.String()
	}
	var shared strings.Builder
	shared.WriteString("\n  virtualMachine:\n    raw:\n")
	for i := range 250 {
		fmt.Fprintf(&shared, "      x%d_unknown: 1\n", i)
	}
	small := "\n  virtualMachine: {cloudInit: {storage: local-lvm}}\n"
	var sets strings.Builder
	for i := range 21 {
		sets.WriteString(guestSet(fmt.Sprintf("s%d", i), fmt.Sprintf("range: {from: 1, to: 1000}\n  each: {name: \"s%d-${n}\"}\n  container: {}\n", i)))
	}
	tests := map[string]struct{ data, want string }{
		"most_members":  {guestSet("web", "members:\n"+rows(1000)+small), ""},
		"members":       {guestSet("web", "members:\n"+rows(1001)+small), "GuestSet web: members: got 1001 members, want at most 1000 in one GuestSet"},
		"of_all_sets":   {sets.String(), "GuestSet s20: range: got more than 20000 members in the GuestSets of the source"},
		"shared_values": {guestSet("web", "members:\n"+rows(1000)+shared.String()), "GuestSet web: members: got 1000 members that share 503 keys and values, want a product of at most 500000 (make several sets)"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := manifest.Parse([]manifest.File{{Path: "cluster.yaml", Data: []byte(clusterManifest)}, {Path: "sets.yaml", Data: []byte(test.data)}})
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %.2000v, want %q", err, test.want)
			}
		})
	}
}

// guestSet returns the document of a set.
func guestSet(name, spec string) string {
	return "---\napiVersion: proxmox.gitops/v1alpha1\nkind: GuestSet\nmetadata: {name: " + name + "}\nspec:\n  " + spec
}

// BenchmarkParseSets compares 10,000 guests from ten sets with the same guests in a document each.
func BenchmarkParseSets(b *testing.B) {
	const sets, members = 10, 1000
	class := "---\napiVersion: proxmox.gitops/v1alpha1\nkind: GuestClass\nmetadata: {name: small}\nspec:\n  virtualMachine:\n    cpu: {cores: 2, type: host}\n    memory: {size: 2Gi}\n    networks: {net0: {bridge: vmbr0, model: virtio}}\n    disks: {scsi0: {storage: local-lvm, size: 32Gi, discard: true}}\n"
	head := manifest.File{Path: "cluster.yaml", Data: []byte(clusterManifest + class)}
	inFiles, inSets := []manifest.File{head}, []manifest.File{head}
	for s := range sets {
		var documents, rows bytes.Buffer
		for i := range members {
			name, vmid, ip := fmt.Sprintf("web-%d-%d", s, i), 1000+s*members+i, fmt.Sprintf("10.%d.%d.%d/16", s, i/250, 1+i%250)
			documents.WriteString(vm(name, fmt.Sprintf("vmid: %d\n  class: small\n  tags: [web, prod]\n  cloudInit: {ip: {net0: {v4: %s, gw4: 10.0.20.1}}}\n  state: running", vmid, ip)))
			fmt.Fprintf(&rows, "    - {name: %s, vmid: %d, addresses: {net0: %s}}\n", name, vmid, ip)
		}
		inFiles = append(inFiles, manifest.File{Path: fmt.Sprintf("files-%d.yaml", s), Data: documents.Bytes()})
		inSets = append(inSets, manifest.File{Path: fmt.Sprintf("sets-%d.yaml", s), Data: []byte(guestSet(fmt.Sprintf("s%d", s),
			"virtualMachine:\n    class: small\n    tags: [web, prod]\n    cloudInit: {ip: {net0: {gw4: 10.0.20.1}}}\n    state: running\n  members:\n"+rows.String()))})
	}
	parse := func(files []manifest.File) time.Duration {
		began := time.Now()
		set, err := manifest.Parse(files)
		if err != nil || len(set.Guests) != sets*members {
			b.Fatalf("got %d guests and error %.200v, want %d", len(set.Guests), err, sets*members)
		}
		return time.Since(began)
	}
	var files, rows time.Duration
	for b.Loop() {
		files += parse(inFiles)
		rows += parse(inSets)
	}
	perGuest := float64(b.N * sets * members)
	b.ReportMetric(float64(files.Microseconds())/perGuest, "µs/guest-in-files")
	b.ReportMetric(float64(rows.Microseconds())/perGuest, "µs/guest-in-sets")
	b.ReportMetric(rows.Seconds()/files.Seconds(), "sets/files")
}
