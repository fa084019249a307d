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

// A number with a zero in front is another number for some programs: to the packet filter, port 010 is port 8. It is refused, and read in a revision that an older release accepted.
func TestNumbersHaveNoZeroInFront(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"none":            {"memory: {size: 1Gi}, disks: {scsi0: {size: 0.5Gi}}, lifecycle: {shutdownTimeout: 1h05m}", ""},
		"memory":          {"memory: {size: 010Gi}", "010Gi"},
		"disk":            {"disks: {scsi0: {size: 010Gi}}", "010Gi"},
		"time":            {"lifecycle: {shutdownTimeout: 010m}", "010m"},
		"port":            {"firewall: {rules: [{type: in, action: ACCEPT, protocol: tcp, port: 010}]}", "010"},
		"port_as_text":    {"firewall: {rules: [{type: in, action: ACCEPT, protocol: tcp, port: \"22,010\"}]}", "22,010"},
		"range":           {"firewall: {rules: [{type: in, action: ACCEPT, protocol: tcp, port: \"8:010\"}]}", "8:010"},
		"source_port":     {"firewall: {rules: [{type: in, action: ACCEPT, protocol: tcp, sourcePort: 010}]}", "010"},
		"port_of_a_group": {"rules: [{type: in, action: ACCEPT, protocol: tcp, port: 010}]", "010"},
		"text_of_a_group": {"rules: [{type: in, action: ACCEPT, protocol: tcp, port: \"22,010\"}]", "22,010"},
		"a_text":          {"description: \"010\"", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := "kind: VirtualMachine\nmetadata: {name: web-1}\nspec: {vmid: 201, " + test.text + "}\n"
			if strings.HasPrefix(test.text, "rules") {
				text = "kind: SecurityGroup\nmetadata: {name: web}\nspec: {" + test.text + "}\n"
			}
			files := []manifest.File{{Path: "cluster.yaml", Data: []byte(clusterManifest)}, {Path: "a.yaml", Data: []byte("apiVersion: proxmox.gitops/v1alpha1\n" + text)}}
			_, err := manifest.Parse(files)
			if (err != nil) != (test.want != "") || err != nil && (!strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "zero in front")) {
				t.Fatalf("got %v, want %q", err, test.want)
			}
			if _, err := manifest.ParseAccepted(files); err != nil {
				t.Errorf("got %v, want the accepted text read", err)
			}
		})
	}
}

// A label, the path of a file and an expression of a policy are compared with other texts: one that looks like another text is refused, and read in a revision that an older release accepted.
func TestWhatIsComparedLooksLikeNothingElse(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: proxmox.gitops/v1alpha1\n"
	vm := func(labels string) string {
		return head + "kind: VirtualMachine\nmetadata: {name: web-1, labels: {" + labels + "}}\nspec: {vmid: 201}\n"
	}
	tests := map[string]struct{ path, text, want string }{
		"plain":           {"web.yaml", vm("tier: web, town: M\u00fcnchen, note: \u043f\u0440\u043e\u0434 2"), ""},
		"mixed_label":     {"web.yaml", vm("tier: w\u0435b"), "U+0435"},
		"escaped_label":   {"web.yaml", vm(`tier: "web\u200b"`), "U+200B"},
		"space_at_end":    {"web.yaml", vm("tier: \"web \""), "U+0020"},
		"no_break_space":  {"web.yaml", vm("tier: web\u00a01"), "U+00A0"},
		"tab":             {"web.yaml", vm("tier: \"web\t1\""), "U+0009"},
		"folder":          {"w\u0435b/web.yaml", vm("tier: web"), "w\u0435b/web.yaml:1:1"},
		"file":            {"we\u200bb.yaml", vm("tier: web"), "U+200B"},
		"labels_of_a_job": {"job.yaml", head + "kind: BackupJob\nmetadata: {name: nightly}\nspec: {schedule: daily, guests: {labels: {tier: w\u0435b}}}\n", "U+0435"},
		"class":           {"class.yaml", head + "kind: GuestClass\nmetadata: {name: a}\nspec: {select: {labels: {tier: w\u0435b}}}\n", "U+0435"},
		"policy":          {"policy.yaml", head + "kind: Policy\nmetadata: {name: a}\nspec: {when: \"guest.labels.tier == 'w\u0435b'\", message: no}\n", "U+0435"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := []manifest.File{{Path: "cluster.yaml", Data: []byte(clusterManifest)}, {Path: test.path, Data: []byte(test.text)}}
			_, err := manifest.Parse(files)
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want %q", err, test.want)
			}
			if _, err := manifest.ParseAccepted(files); err != nil {
				t.Errorf("got %v, want the accepted text read", err)
			}
		})
	}
}
