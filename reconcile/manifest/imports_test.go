package manifest_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/manifest"
)

const (
	commonClass = "apiVersion: proxmox.gitops/v1alpha1\nkind: GuestClass\nmetadata: {name: web}\nspec:\n  virtualMachine: {memory: {size: 3Gi}}\n"
	webOfProd   = "apiVersion: proxmox.gitops/v1alpha1\nkind: VirtualMachine\nmetadata: {name: web-1}\nspec: {vmid: 201, node: pve1, class: web, source: {blank: {}}}\n"
)

func importing(folders string) string {
	return "apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: prod}\nspec: {vmids: {from: 200, to: 299}, imports: " + folders + "}\n"
}

// TestImports parses a cluster with a folder of classes.
func TestImports(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		imports, file, data string // the file in the folder that is imported
		want                string // in the problem; "" if there is none
	}{
		"class":          {"[../common]", "clusters/common/web.yaml", commonClass, ""},
		"one_text":       {"../common", "clusters/common/web.yaml", commonClass, ""},
		"unused":         {"[../common]", "clusters/common/web.yaml", commonClass + "---\n" + strings.Replace(commonClass, "web", "unused", 1), ""},
		"root":           {"[../../common]", "common/web.yaml", commonClass, ""},
		"outside":        {"[../../../common]", "../common/web.yaml", commonClass, ""}, // of a working copy that is no repository
		"absent":         {"[../other]", "clusters/common/web.yaml", commonClass, `imports[0]: got "../other", where the repository has no manifests`},
		"own_folder":     {"[../prod]", "clusters/common/web.yaml", commonClass, "which contains the folder of the Cluster"},
		"around":         {"[../../clusters]", "clusters/common/web.yaml", commonClass, "which contains the folder of the Cluster"},
		"absolute":       {"[/common]", "clusters/common/web.yaml", commonClass, "want a folder relative to that of the Cluster"},
		"not_clean":      {"[../common/]", "clusters/common/web.yaml", commonClass, "want a folder relative to that of the Cluster"},
		"hidden":         {"[../.common]", "clusters/.common/web.yaml", commonClass, "want a folder relative to that of the Cluster"},
		"guest":          {"[../common]", "clusters/common/web.yaml", commonClass + "---\n" + strings.Replace(webOfProd, "201", "202", 1), "got a VirtualMachine in a folder that the Cluster imports"},
		"second_cluster": {"[../common]", "clusters/common/web.yaml", commonClass + "---\n" + importing("[../prod]"), "got a Cluster in a folder that the Cluster imports"},
		"select":         {"[../common]", "clusters/common/web.yaml", strings.Replace(commonClass, "spec:\n", "spec:\n  select: {labels: {a: b}}\n", 1), "got select in a class of an imported folder"},
		"many":           {"[a" + manyFolders() + "]", "clusters/prod/a/web.yaml", commonClass, "got more than 16 imports"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, err := manifest.Parse([]manifest.File{
				{Path: test.file, Data: []byte(test.data), Imported: true},
				{Path: "clusters/prod/cluster.yaml", Data: []byte(importing(test.imports))},
				{Path: "clusters/prod/web.yaml", Data: []byte(webOfProd)},
			})
			var problems *manifest.Problems
			switch {
			case test.want == "" && (err != nil || len(set.Warnings) != 0):
				t.Errorf("got %v and the warnings %v, want none", err, set.Warnings)
			case test.want != "" && (!errors.As(err, &problems) || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want a problem with %q", err, test.want)
			}
		})
	}
}

func manyFolders() string {
	var b strings.Builder
	for i := range 17 {
		b.WriteString(", a" + strings.Repeat("b", i+1))
	}
	return b.String()
}

// TestImportsAreRelativeToTheCluster finds the folders before they are read.
func TestImportsAreRelativeToTheCluster(t *testing.T) {
	t.Parallel()
	got := manifest.Imports([]manifest.File{
		{Path: "clusters/prod/cluster.yaml", Data: []byte(importing("[../common, ../../shared, ../../../out, /bad]"))},
		{Path: "clusters/prod/web.yaml", Data: []byte(webOfProd + "# imports Cluster\n")},
		{Path: "clusters/prod/.hidden/cluster.yaml", Data: []byte(importing("[../../other]"))},
		{Path: "clusters/prod/broken.yaml", Data: []byte("kind: Cluster\nspec: {imports: [")},
	})
	if diff := cmp.Diff([]string{"../out", "clusters/common", "shared"}, got); diff != "" {
		t.Errorf("imports (-want +got):\n%s", diff)
	}
}
