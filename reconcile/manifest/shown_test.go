package manifest_test

import (
	"strings"
	"testing"

	"gitops-agent/reconcile/manifest"
)

// A directional character in a comment is a warning of the revision, and one in a value refuses it; of a revision that an older release accepted, the value is read.
func TestDirectionalCharacters(t *testing.T) {
	t.Parallel()
	files := func(line string) []manifest.File {
		return []manifest.File{{Path: "a.yaml", Data: []byte("apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: home}\n---\n" +
			"apiVersion: proxmox.gitops/v1alpha1\nkind: VirtualMachine\nmetadata: {name: web-1}\nspec:\n  vmid: 201\n" + line + "\n")}}
	}
	set, err := manifest.Parse(files("  description: web # \u202e of the shop"))
	if err != nil || len(set.Warnings) != 1 || !strings.Contains(set.Warnings[0].String(), "a.yaml:10:22: ") {
		t.Errorf("got %v and the warnings %v, want one with the position", err, set.Warnings)
	}
	value := files("  description: \"web \u202e of the shop\"")
	if _, err := manifest.Parse(value); err == nil || !strings.Contains(err.Error(), "a.yaml:10:16: ") {
		t.Errorf("got %v, want the value refused", err)
	}
	set, err = manifest.ParseAccepted(value)
	if err != nil || len(set.Warnings) != 1 || !strings.Contains(set.Warnings[0].String(), "accepted before, refused in a new revision") {
		t.Errorf("got %v and the warnings %v, want the accepted value read", err, set.Warnings)
	}
}
