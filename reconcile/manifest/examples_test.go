package manifest_test

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	examples "gitops-agent/examples/manifests"
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

func exampleFiles(t *testing.T) []manifest.File {
	t.Helper()
	var files []manifest.File
	err := fs.WalkDir(examples.Files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(examples.Files, path)
		files = append(files, manifest.File{Path: path, Data: data})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestExamplesParse(t *testing.T) {
	set, err := manifest.Parse(exampleFiles(t))
	if err != nil {
		t.Fatalf("got %v, want no problems", err)
	}
	if got := set.Cluster.Name; got != "home" {
		t.Errorf("got cluster %q, want home", got)
	}
	desired, err := set.Lower(map[string]int{"VirtualMachine/build-1": 203})
	if err != nil {
		t.Fatal(err)
	}
	vmids := map[string]int{}
	for _, d := range desired {
		vmids[d.Label()] = d.VMID
	}
	want := map[string]int{
		"Container/dns-1": 210, "VirtualMachine/build-1": 203, "VirtualMachine/db-1": 202,
		"VirtualMachine/legacy-erp": 105, "VirtualMachine/web-1": 201,
	}
	if diff := cmp.Diff(want, vmids); diff != "" {
		t.Errorf("got other vmids (-want +got):\n%s", diff)
	}
}

// TestExamplesRender shows what the examples come to, and where each value is from.
func TestExamplesRender(t *testing.T) {
	set, err := manifest.Parse(exampleFiles(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range set.Guests {
		got, err := g.Render()
		if err != nil {
			t.Fatal(err)
		}
		golden(t, filepath.Join("testdata", "render", g.Name+".yaml"), got)
	}
}

func TestSchemaFile(t *testing.T) {
	got, err := manifest.Schema()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.FromSlash("../../examples/manifests/schema.json"), got)
}
