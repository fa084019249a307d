package manifest_test

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/manifest"
)

// TestSelectPaths holds what patterns mean, and that they start at the folder of the Cluster's file, wherever the tree was read from.
func TestSelectPaths(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		pattern, file string
		want          bool
	}{
		"below":            {"web/**", "web/a.yaml", true},
		"far_below":        {"web/**", "web/x/y/a.yaml", true},
		"beside":           {"web/**", "webs/a.yaml", false},
		"one_folder":       {"web/*", "web/a.yaml", true},
		"not_two_folders":  {"web/*", "web/x/a.yaml", false},
		"any_folder":       {"**/db-*.yaml", "x/y/db-1.yaml", true},
		"no_folder":        {"**/db-*.yaml", "db-1.yaml", true},
		"other_name":       {"**/db-*.yaml", "x/web-1.yaml", false},
		"between":          {"a/**/b/*.yaml", "a/x/b/y/b/c.yaml", true},
		"not_between":      {"a/**/b/*.yaml", "a/x/b/y/c.yaml", false},
		"everything":       {"**", "a/b/c.yaml", true},
		"one_file":         {"web/a.yaml", "web/a.yaml", true},
		"letters":          {"rack-[0-9]/**", "rack-7/a.yaml", true},
		"many_stars":       {strings.Repeat("**/", 60) + "z.yaml", strings.Repeat("a/", 120) + "b.yaml", false},
		"longer_than_file": {"a/b/c.yaml", "a/b", false},
	}
	for name, test := range tests {
		for _, root := range []string{"", "clusters/home/", "[odd]/"} {
			t.Run(name+"_"+root, func(t *testing.T) {
				file := test.file
				if !strings.HasSuffix(file, ".yaml") {
					file += ".yml"
				}
				class := fmt.Sprintf("apiVersion: proxmox.gitops/v1alpha1\nkind: GuestClass\nmetadata: {name: some}\nspec: {select: {paths: [%q]}, virtualMachine: {osType: l26}}\n", test.pattern)
				set, err := manifest.Parse([]manifest.File{
					{Path: root + "cluster.yaml", Data: []byte(clusterManifest)},
					{Path: "classes.yaml", Data: []byte(class)},
					{Path: root + file, Data: []byte(vm("web-1", "vmid: 201"))},
					{Path: "elsewhere/web-2.yaml", Data: []byte(vm("web-2", "vmid: 202"))},
				})
				if err != nil {
					t.Fatal(err)
				}
				got := map[string]bool{}
				for _, g := range set.Guests {
					got[g.Name] = len(g.Classes) == 1
				}
				want := map[string]bool{"web-1": test.want, "web-2": root == "" && test.pattern == "**"}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("got other guests selected (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestSelectStaysInItsFolder: a signer who may change only one folder cannot change guests in other folders with a class.
func TestSelectStaysInItsFolder(t *testing.T) {
	t.Parallel()
	class := func(name string) []byte {
		return []byte("apiVersion: proxmox.gitops/v1alpha1\nkind: GuestClass\nmetadata: {name: " + name + "}\nspec: {select: {labels: {stage: prod}}, virtualMachine: {osType: l26}}\n")
	}
	labelled := func(name string, vmid int) []byte {
		return []byte(strings.Replace(vm(name, fmt.Sprintf("vmid: %d", vmid)), "{name: "+name+"}", "{name: "+name+", labels: {stage: prod}}", 1))
	}
	set, err := manifest.Parse([]manifest.File{
		{Path: "home/cluster.yaml", Data: []byte(clusterManifest)},
		{Path: "home/classes.yaml", Data: class("all")},
		{Path: "home/web/classes.yaml", Data: class("web")},
		{Path: "home/web/deep/classes.yaml", Data: class("deep")},
		{Path: "shared/classes.yaml", Data: class("shared")},
		{Path: "top.yaml", Data: class("top")},
		{Path: "home/web/web-1.yaml", Data: labelled("web-1", 201)},
		{Path: "home/webs/web-2.yaml", Data: labelled("web-2", 202)},
		{Path: "home/db.yaml", Data: labelled("db-1", 203)},
		{Path: "outside.yaml", Data: labelled("outside", 204)},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, g := range set.Guests {
		got[g.Name] = strings.Join(g.Classes, " ")
	}
	want := map[string]string{"web-1": "all top web", "web-2": "all top", "db-1": "all top", "outside": "top"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("got other classes (-want +got):\n%s", diff)
	}
}

// FuzzMatchesPath holds that trying the last ** again is enough: whatever trying all of them finds.
func FuzzMatchesPath(f *testing.F) {
	for _, seed := range [][2]string{{"**/a/**/b", "a/a/b/b"}, {"a/*/b", "a/c/b"}, {"**", "a"}, {"**/**", "a"}, {"a/**", "a"}, {"?/[ab]*", "c/ab"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, file string) {
		p, parts := strings.Split(pattern, "/"), strings.Split(file, "/")
		if len(p) > 6 || len(parts) > 8 { // trying all is slow
			return
		}
		if got, want := manifest.MatchesPath(p, parts), matchesAnyWay(p, parts); got != want {
			t.Errorf("%q against %q: got %t, want %t", pattern, file, got, want)
		}
	})
}

func matchesAnyWay(pattern, file []string) bool {
	switch {
	case len(pattern) == 0:
		return len(file) == 0
	case pattern[0] == "**" && len(pattern) == 1:
		return len(file) > 0
	case pattern[0] == "**":
		return matchesAnyWay(pattern[1:], file) || len(file) > 0 && matchesAnyWay(pattern, file[1:])
	case len(file) == 0:
		return false
	}
	fits, err := path.Match(pattern[0], file[0])
	return err == nil && fits && matchesAnyWay(pattern[1:], file[1:])
}
