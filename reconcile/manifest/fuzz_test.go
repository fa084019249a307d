package manifest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rogpeppe/go-internal/txtar"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest"
)

// FuzzParse holds that whatever parses renders to documents that parse to the same guests, and that lowering twice gives the same.
func FuzzParse(f *testing.F) {
	for _, folder := range []string{"testdata/bad", "testdata/lower", "tree/testdata"} {
		names, err := filepath.Glob(filepath.Join(folder, "*.txtar"))
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range names {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				f.Fatal(err)
			}
			for _, file := range archive.Files[:len(archive.Files)-1] {
				f.Add(file.Data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := manifest.Parse([]manifest.File{{Path: "a.yaml", Data: data}})
		if err != nil {
			set, err = manifest.Parse([]manifest.File{{Path: "a.yaml", Data: data}, {Path: "cluster.yaml", Data: []byte(clusterManifest)}})
		}
		if err != nil {
			return
		}
		want, err := set.Lower(nil)
		if err != nil {
			t.Fatalf("got %v from Lower, want what parses to lower", err)
		}
		checkValues(t, set)
		text := rendered(t, set)
		again, err := manifest.Parse([]manifest.File{{Path: "b.yaml", Data: text}})
		if err != nil {
			t.Fatalf("got %v from what was rendered, want none:\n%s", err, text)
		}
		got, err := again.Lower(nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want { // a rendered guest has no class and no Cluster that could give it a rollout
			want[i].Rollout = guest.Rollout{}
			want[i].Settings = slices.DeleteFunc(want[i].Settings, func(s guest.Setting) bool { return s.Field == guest.GuardRollout })
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreTypes(guest.Origin{}), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("got other guests from what was rendered (-want +got):\n%s\n%s", diff, text)
		}
		if diff := cmp.Diff(set.Images, again.Images, cmpopts.IgnoreTypes(guest.Origin{}), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("got other images from what was rendered (-want +got):\n%s\n%s", diff, text)
		}
		second, err := again.Lower(nil)
		if err != nil || !cmp.Equal(got, second) {
			t.Fatalf("got another result and error %v from lowering twice", err)
		}
	})
}

// checkValues holds that every value of a guest has a path of its own, a place, and a JSON form.
func checkValues(t *testing.T, set manifest.Set) {
	t.Helper()
	for _, g := range set.Guests {
		seen := map[string]bool{}
		for _, v := range g.Values() {
			if seen[v.Path] || !json.Valid(v.JSON) || v.Origin.Line == 0 {
				t.Fatalf("%s: got %s = %s from %s, want one path, JSON and a place", g.Label(), v.Path, v.JSON, v.Origin)
			}
			seen[v.Path] = true
		}
	}
}

// rendered returns a whole source as one file.
func rendered(t *testing.T, set manifest.Set) []byte {
	t.Helper()
	var out bytes.Buffer
	fmt.Fprintf(&out, "apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: %s}\n", set.Cluster.Name)
	if r := set.Cluster.VMIDs; r != (manifest.Range{}) {
		fmt.Fprintf(&out, "spec: {vmids: {from: %d, to: %d}}\n", r.From, r.To)
	}
	for _, d := range set.Images {
		fmt.Fprintf(&out, "---\napiVersion: proxmox.gitops/v1alpha1\nkind: Image\nmetadata: {name: %q}\n", d.Name)
		fmt.Fprintf(&out, "spec: {url: %q, checksum: %q, storage: %q, content: %q, format: %q", d.URL, d.Algorithm+":"+d.Checksum, d.Storage, d.Content, d.Format)
		if d.Decompression != "" {
			fmt.Fprintf(&out, ", decompression: %s", d.Decompression)
		}
		if len(d.Nodes) > 0 {
			fmt.Fprintf(&out, ", nodes: [\"%s\"]", strings.Join(d.Nodes, "\", \""))
		}
		out.WriteString("}\n")
	}
	for _, g := range set.Guests {
		text, err := g.Render()
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString("---\n")
		out.Write(text)
	}
	return out.Bytes()
}

func BenchmarkParse(b *testing.B) {
	var source bytes.Buffer
	source.WriteString(clusterManifest)
	source.WriteString("---\napiVersion: proxmox.gitops/v1alpha1\nkind: GuestClass\nmetadata: {name: small}\nspec:\n  virtualMachine:\n    cpu: {cores: 2, type: host}\n    memory: {size: 2Gi}\n    networks: {net0: {bridge: vmbr0, model: virtio}}\n    disks: {scsi0: {storage: local-lvm, size: 32Gi, discard: true}}\n")
	const guests = 500
	for i := range guests {
		source.WriteString(vm(fmt.Sprintf("web-%d", i), fmt.Sprintf("vmid: %d\n  class: small\n  tags: [web, prod]\n  cloudInit: {ip: {net0: {v4: 10.0.20.11/24, gw4: 10.0.20.1}}}\n  state: running", 1000+i)))
	}
	files := []manifest.File{{Path: "all.yaml", Data: source.Bytes()}}
	b.ReportAllocs()
	for b.Loop() {
		set, err := manifest.Parse(files)
		if err != nil || len(set.Guests) != guests {
			b.Fatalf("got %d guests and error %v, want %d", len(set.Guests), err, guests)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/guests, "µs/guest")
}
