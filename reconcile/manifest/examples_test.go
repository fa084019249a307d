package manifest_test

import (
	"flag"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	examples "gitops-agent/examples/manifests"
	"gitops-agent/reconcile/encrypted"
	"gitops-agent/reconcile/manifest"
)

var update = flag.Bool("update", false, "rewrite golden files")

// golden compares text with a file, or rewrites the file with -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s: got another text (-want +got):\n%s", name, diff)
	}
}

// exampleTrees are the folders of the examples, each a repository of its own, with the vmids that an agent would assign.
var exampleTrees = map[string]map[string]int{
	"demo": {"VirtualMachine/build-1": 203}, "homelab": nil, "fleet": nil, "k3s": nil, "containers": nil, "legacy": nil, "windows": nil, "ports": nil, "agent": nil, "encrypted": nil, "firewall": nil, "ha": nil,
	"sets": {"Container/dns-lab": 523}, "company": nil,
}

// exampleTree returns the files of one tree, by their path within it.
func exampleTree(t *testing.T, name string) []manifest.File {
	t.Helper()
	var files []manifest.File
	tree, err := fs.Sub(examples.Files, name)
	if err != nil {
		t.Fatal(err)
	}
	err = fs.WalkDir(tree, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, encrypted.SOPS.Suffix()) {
			return err
		}
		data, err := fs.ReadFile(tree, path)
		files = append(files, manifest.File{Path: path, Data: data})
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d files in %s and error %v, want some", len(files), name, err)
	}
	return files
}

// exampleFiles returns every file of every tree.
func exampleFiles(t *testing.T) []manifest.File {
	t.Helper()
	var files []manifest.File
	for _, name := range slices.Sorted(maps.Keys(exampleTrees)) {
		for _, f := range exampleTree(t, name) {
			files = append(files, manifest.File{Path: name + "/" + f.Path, Data: f.Data})
		}
	}
	return files
}

// TestExamplesAreKnown: a folder that no test names would be read by none.
func TestExamplesAreKnown(t *testing.T) {
	t.Parallel()
	folders, err := fs.ReadDir(examples.Files, ".")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, folder := range folders {
		got = append(got, folder.Name())
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(exampleTrees)), got); diff != "" {
		t.Errorf("got other folders (-want +got):\n%s", diff)
	}
}

// TestExamplesNameTheSchema: an editor finds the schema from where each file lies.
func TestExamplesNameTheSchema(t *testing.T) {
	t.Parallel()
	for _, f := range exampleFiles(t) {
		want := "# yaml-language-server: $schema=" + strings.Repeat("../", strings.Count(f.Path, "/")) + "schema.json\n"
		if !strings.HasPrefix(string(f.Data), want) {
			t.Errorf("%s: got another first line, want %s", f.Path, want)
		}
	}
}

func TestExamplesParse(t *testing.T) {
	t.Parallel()
	want := map[string]int{"demo": 5, "homelab": 10, "fleet": 7, "k3s": 5, "containers": 4, "legacy": 1, "windows": 2, "ports": 11, "agent": 2, "encrypted": 2, "sets": 15, "firewall": 2, "ha": 3, "company": 13}
	for name, assigned := range exampleTrees {
		t.Run(name, func(t *testing.T) {
			set, err := manifest.Parse(exampleTree(t, name))
			if err != nil {
				t.Fatalf("got %v, want no problems", err)
			}
			desired, err := set.Lower(assigned)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range desired {
				if d.VMID == 0 {
					t.Errorf("%s: got no vmid, want one", d.Label())
				}
			}
			if len(desired) != want[name] {
				t.Errorf("got %d guests, want %d", len(desired), want[name])
			}
		})
	}
}

// TestExamplesRender shows what some of the examples come to, and where each value is from.
func TestExamplesRender(t *testing.T) {
	t.Parallel()
	shown := []string{
		"demo/web-1", "demo/db-1", "demo/dns-1", "demo/build-1", "demo/legacy-erp", "homelab/home-assistant", "homelab/gitea", "homelab/pihole",
		"fleet/web-1", "fleet/db-1", "k3s/k3s-agent-1", "containers/files", "windows/server", "sets/web-07", "sets/dns-lab",
	}
	for _, name := range shown {
		tree, guest, _ := strings.Cut(name, "/")
		set, err := manifest.Parse(exampleTree(t, tree))
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(set.Guests, func(g manifest.Guest) bool { return g.Name == guest })
		if i < 0 {
			t.Fatalf("got no guest %s, want one", name)
		}
		got, err := set.Guests[i].Render()
		if err != nil {
			t.Fatal(err)
		}
		golden(t, filepath.Join("testdata", "render", tree+"-"+guest+".yaml"), got)
	}
}

func TestSchemaFile(t *testing.T) {
	t.Parallel()
	got, err := manifest.Schema()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.FromSlash("../../examples/manifests/schema.json"), got)
}
