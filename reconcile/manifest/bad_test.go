package manifest_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"gitops-agent/reconcile/manifest"
)

// clusterManifest is the document that every source needs.
const clusterManifest = "apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: home}\nspec: {vmids: {from: 100, to: 99999}}\n"

// archived returns the files of an archive, with a Cluster unless it brings its own.
func archived(archive *txtar.Archive) []manifest.File {
	files := []manifest.File{{Path: "cluster.yaml", Data: []byte(clusterManifest)}}
	for _, f := range archive.Files {
		switch f.Name {
		case "want":
		case "cluster.yaml", "clusters/home/cluster.yaml":
			files[0] = manifest.File{Path: f.Name, Data: f.Data}
		default:
			files = append(files, manifest.File{Path: f.Name, Data: f.Data})
		}
	}
	return files
}

// TestParseReportsProblems holds the whole report for every bad input in testdata/bad against its expected text.
func TestParseReportsProblems(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob(filepath.Join("testdata", "bad", "*.txtar"))
	if err != nil || len(names) == 0 {
		t.Fatalf("got %d inputs and error %v, want some", len(names), err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			_, err = manifest.Parse(archived(archive))
			var problems *manifest.Problems
			if !errors.As(err, &problems) {
				t.Fatalf("got error %v, want a *Problems", err)
			}
			want := &archive.Files[len(archive.Files)-1]
			got := problems.Error() + "\n"
			if *update {
				want.Data = []byte(got)
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(want.Data), got); diff != "" {
				t.Errorf("got another report (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseIgnoresOrderOfFiles(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile(filepath.Join("testdata", "bad", "duplicates.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	files := archived(archive)
	_, first := manifest.Parse(files)
	slices.Reverse(files)
	_, second := manifest.Parse(files)
	if first.Error() != second.Error() {
		t.Errorf("got\n%v\nwith the files reversed, want\n%v", second, first)
	}
}

// TestParseLimits parses input that exceeds a limit and is too large for a golden file. The limits of one file are tested in package tree.
func TestParseLimits(t *testing.T) {
	t.Parallel()
	head := "apiVersion: proxmox.gitops/v1alpha1\nkind: VirtualMachine\nmetadata: {name: web-1}\nspec:\n"
	tests := map[string]struct{ data, want string }{
		"problems": {strings.Repeat("? a\n", 20000), "more problems are not shown"},
		"list":     {head + "  dependsOn: [" + strings.Repeat("VirtualMachine/a,", 300) + "]", "dependsOn: got a list, want a list of at most 256"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := manifest.Parse([]manifest.File{
				{Path: "cluster.yaml", Data: []byte(clusterManifest)}, {Path: "web.yaml", Data: []byte(test.data)},
			})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %.2000v, want %q in it", err, test.want)
			}
		})
	}
}

// TestParseLimitsCostOfClasses builds each class twice on the one before: what a reader of YAML aliases would take years for.
func TestParseLimitsCostOfClasses(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	b.WriteString(clusterManifest)
	name := func(i int) string { return "c" + strings.Repeat("x", i) }
	for i := range 60 {
		b.WriteString("---\napiVersion: proxmox.gitops/v1alpha1\nkind: GuestClass\nmetadata: {name: " + name(i) + "}\nspec:\n  virtualMachine: {cpu: {cores: 2}}\n")
		if i > 0 {
			b.WriteString("  class: [" + name(i-1) + ", a" + name(i-1) + "]\n---\napiVersion: proxmox.gitops/v1alpha1\nkind: GuestClass\nmetadata: {name: a" + name(i-1) + "}\nspec:\n  class: " + name(i-1) + "\n")
		}
	}
	b.WriteString("---\napiVersion: proxmox.gitops/v1alpha1\nkind: VirtualMachine\nmetadata: {name: web-1}\nspec: {class: " + name(59) + "}\n")
	set, err := manifest.Parse([]manifest.File{{Path: "all.yaml", Data: b.Bytes()}})
	if err != nil || len(set.Guests) != 1 {
		t.Errorf("got %d guests and error %v, want one guest", len(set.Guests), err)
	}
}

func TestParseSkipsOtherFiles(t *testing.T) {
	t.Parallel()
	_, err := manifest.Parse([]manifest.File{
		{Path: "cluster.yml", Data: []byte(clusterManifest)},
		{Path: "README.md", Data: []byte("# no YAML: at all: here")},
		{Path: ".github/workflows/ci.yaml", Data: []byte("on: push\n")},
		{Path: "guests/.yamllint.yaml", Data: []byte("rules: {}\n")},
		{Path: "empty.yaml"},
		{Path: "comments.yaml", Data: []byte("# nothing yet\n---\n# here neither\n---\n")},
	})
	if err != nil {
		t.Errorf("got %v, want no problems", err)
	}
}
