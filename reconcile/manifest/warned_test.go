package manifest_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"gitops-agent/reconcile/manifest"
)

// TestParseWarns: unused classes, addresses in two slots, gateways elsewhere, unknown macros and misleading schedules are warnings, not errors.
func TestParseWarns(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"classes.txtar", "gateways.txtar", "macros.txtar", "schedules.txtar", "shared.txtar"} {
		t.Run(name, func(t *testing.T) { checkWarnings(t, filepath.Join("testdata", "warned", name)) })
	}
}

func checkWarnings(t *testing.T, path string) {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	set, err := manifest.Parse(archived(archive))
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, w := range set.Warnings {
		got += w.String() + "\n"
	}
	want := &archive.Files[len(archive.Files)-1]
	if *update {
		want.Data = []byte(got)
		golden(t, path, txtar.Format(archive))
	}
	if diff := cmp.Diff(string(want.Data), got); diff != "" {
		t.Errorf("got other warnings (-want +got):\n%s", diff)
	}
}

// TestExamplesHaveNoWarnings: the examples contain no unused class.
func TestExamplesHaveNoWarnings(t *testing.T) {
	t.Parallel()
	for name := range exampleTrees {
		set, err := manifest.Parse(exampleTree(t, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range set.Warnings {
			t.Errorf("%s: got the warning %s, want none", name, w)
		}
	}
}

// TestParseHasNoWarningsWithProblems: a guest that was not understood may be the one that a class is for.
func TestParseHasNoWarningsWithProblems(t *testing.T) {
	t.Parallel()
	class := "apiVersion: proxmox.gitops/v1alpha1\nkind: GuestClass\nmetadata: {name: some}\nspec: {virtualMachine: {osType: l26}}\n"
	set, err := manifest.Parse([]manifest.File{
		{Path: "cluster.yaml", Data: []byte(clusterManifest)}, {Path: "some.yaml", Data: []byte(class)}, {Path: "web.yaml", Data: []byte(vm("web-1", "vmid: 20x"))},
	})
	if err == nil || len(set.Warnings) > 0 {
		t.Errorf("got error %v and warnings %v, want an error alone", err, set.Warnings)
	}
}
