package manifest

import (
	"os"
	"slices"
	"strings"
	"testing"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/policy"
)

// TestParseAccepted reads revisions that an older release accepted. Problems of the values of guests keep the revision readable; all others do not.
func TestParseAccepted(t *testing.T) {
	const (
		head    = "apiVersion: proxmox.gitops/v1alpha1\n"
		cluster = head + "kind: Cluster\nmetadata: {name: home}\nspec: {vmids: {from: 200, to: 299}"
		guest   = "\n---\n" + head + "kind: Container\nmetadata: {name: "
		set     = "\n---\n" + head + "kind: GuestSet\nmetadata: {name: s}\nspec: {"
		source  = ", node: pve1, source: {template: {volume: \"local:vztmpl/a.tar.zst\"}}, rootfs: {storage: local, size: 4Gi}"
		good    = guest + "b}\nspec: {vmid: 202" + source + "}"
	)
	tests := map[string]struct {
		text    string
		invalid map[string]string // field by label
		refused bool
	}{
		"valid":       {cluster + "}" + good, nil, false},
		"value":       {cluster + "}" + guest + "a}\nspec: {vmid: 201" + source + ", timezone: Etc/UTC}" + good, map[string]string{"Container/a": "timezone"}, false},
		"first_value": {cluster + "}" + guest + "a}\nspec: {vmid: 201" + source + ", timezone: Etc/UTC, tty: 99}" + good, map[string]string{"Container/a": "timezone"}, false},
		"default_of_the_cluster": {
			cluster + ", defaults: {container: {timezone: Etc/UTC}}}" + guest + "a}\nspec: {vmid: 201" + source + ", timezone: UTC}" + good,
			map[string]string{"Container/b": "timezone"},
			false,
		},
		"dependency":       {cluster + "}" + guest + "a}\nspec: {vmid: 201" + source + ", dependsOn: [Container/c]}" + good, map[string]string{"Container/a": "dependsOn[0]"}, false},
		"vmid":             {cluster + "}" + guest + "a}\nspec: {vmid: 1" + source + "}" + good, nil, true},
		"vmid_of_another":  {cluster + "}" + guest + "a}\nspec: {vmid: 202" + source + "}" + good, nil, true},
		"value_and_vmid":   {cluster + "}" + guest + "a}\nspec: {vmid: 1" + source + ", timezone: Etc/UTC}" + good, nil, true},
		"name":             {cluster + "}" + guest + "A_}\nspec: {vmid: 201" + source + "}" + good, nil, true},
		"class":            {cluster + "}" + guest + "a}\nspec: {class: [x], vmid: 201" + source + "}" + good, nil, true},
		"unknown_kind":     {cluster + "}" + good + "\n---\n" + head + "kind: Network\nmetadata: {name: a}\n", nil, true},
		"cluster":          {cluster + ", guards: {approvals: 99}}" + good, nil, true},
		"no_cluster":       {strings.TrimPrefix(good, "\n---\n"), nil, true},
		"cluster_and_more": {cluster + ", guards: {approvals: 99}}" + guest + "a}\nspec: {vmid: 201" + source + ", timezone: Etc/UTC}", nil, true},
		"shared_by_a_range": {
			cluster + "}" + set + "range: {from: 1, to: 2}, each: {name: \"s-${n}\", vmid: \"${n+210}\"}, container: {timezone: Etc/UTC" + source + "}}" + good,
			map[string]string{"Container/s-1": "timezone", "Container/s-2": "timezone"},
			false,
		},
		"shared_by_rows": {
			cluster + "}" + set + "members: [{name: s-1, vmid: 211}, {name: s-2, vmid: 212, timezone: UTC}], container: {timezone: Etc/UTC" + source + "}}" + good,
			map[string]string{"Container/s-1": "timezone"},
			false,
		},
		"row": {
			cluster + "}" + set + "members: [{name: s-1, vmid: 211, new: 1}, {name: s-2, vmid: 212}], container: {" + strings.TrimPrefix(source, ", ") + "}}" + good,
			map[string]string{"Container/s-1": "new"},
			false,
		},
		"name_of_a_row":  {cluster + "}" + set + "members: [{name: 5, vmid: 211}], container: {" + strings.TrimPrefix(source, ", ") + "}}" + good, nil, true},
		"each":           {cluster + "}" + set + "range: {from: 1, to: 2}, each: {name: s}, container: {" + strings.TrimPrefix(source, ", ") + "}}" + good, nil, true},
		"field_of_a_set": {cluster + "}" + set + "new: 1, members: [{name: s-1, vmid: 211}], container: {" + strings.TrimPrefix(source, ", ") + "}}" + good, nil, true},
		"not_yaml":       {cluster + "}" + good + "\n---\n{", nil, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			files := []File{{Path: "all.yaml", Data: []byte(test.text)}}
			set, err := ParseAccepted(files)
			if (err != nil) != test.refused {
				t.Fatalf("got error %v, want one: %t", err, test.refused)
			}
			if _, strict := Parse(files); (strict == nil) != (err == nil && len(test.invalid) == 0) {
				t.Errorf("Parse: got %v, want an error for every problem", strict)
			}
			if err != nil {
				return
			}
			guests, err := set.Lower(nil)
			if err != nil {
				t.Fatal(err)
			}
			found := 0
			for _, d := range guests {
				field := ""
				if d.Invalid != nil {
					field = d.Invalid.Field
					found++
				}
				if field != test.invalid[d.Label()] || d.Name == "" || d.VMID == 0 {
					t.Errorf("got %s with vmid %d, invalid because of %q, want %q", d.Label(), d.VMID, field, test.invalid[d.Label()])
				}
			}
			if found != len(test.invalid) {
				t.Errorf("got %d invalid guests, want %d: a guest that is not there would be destroyed", found, len(test.invalid))
			}
		})
	}
}

// TestReadAsAccepted reads revisions with what earlier releases accepted and this one refuses. In a revision that was accepted it has the meaning that it had, and
// a warning at its place; so has a tree between two revisions. A new revision is refused at this place.
func TestReadAsAccepted(t *testing.T) {
	t.Parallel()
	head := func(kind, name string) string {
		return "apiVersion: proxmox.gitops/v1alpha1\nkind: " + kind + "\nmetadata: {name: " + name + "}\n"
	}
	const (
		cluster = "apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: home}\nspec: {vmids: {from: 200, to: 299}}\n---\n"
		image   = "apiVersion: proxmox.gitops/v1alpha1\nkind: Image\nmetadata: {name: haos}\n" +
			"spec: {url: \"https://images.example/haos.qcow2.gz\", checksum: \"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0bc822cd15d6c15b0f00a0\", storage: local, content: import, decompression: gz}\n"
	)
	tests := map[string]struct {
		text  string
		place string // of the problem
		want  func(Set) bool
	}{
		"key_hidden_in_a_guest": {
			cluster + head("VirtualMachine", "web") + "spec:\n  vmid: 220\n  node: pve1\n  source: {blank: {}}\n  memory: {size: 1Gi} # one is enough \u2028  description: hidden\n",
			"all.yaml:13:39: ",
			func(s Set) bool {
				return len(s.Guests) == 1 && slices.ContainsFunc(s.Guests[0].desired.Intents, func(i guest.Intent) bool {
					return i.Key == "description" && i.Text == "hidden" && i.Origin == guest.Origin{File: "all.yaml", Line: 13, Column: 55}
				})
			},
		},
		"key_hidden_in_the_cluster": {
			"apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: home} # no range\u0085spec: {vmids: {from: 200, to: 299}}\n", "all.yaml:3:34: ",
			func(s Set) bool { return s.Cluster.Name == "home" && s.Cluster.VMIDs.From == 200 },
		},
		"key_hidden_in_an_image": {
			cluster + head("Image", "iso") + "spec:\n  url: https://images.example/a.iso\n  checksum: sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0bc822cd15d6c15b0f00a0\n  storage: local\n  content: iso # \u2029  prune: true\n",
			"all.yaml:13:18: ",
			func(s Set) bool { return len(s.Images) == 1 && s.Images[0].Prune },
		},
		"key_hidden_in_an_object": {
			cluster + head("Pool", "media") + "spec: # \r  comment: films\n", "all.yaml:9:9: ",
			func(s Set) bool { return len(s.Objects) == 1 && s.Objects[0].Keys[0].Text == "films" },
		},
		"key_hidden_in_a_policy": {
			cluster + head("Policy", "two") + "spec:\n  when: \"true\"\n  message: no # \u2028  result: warn\n", "all.yaml:11:17: ",
			func(s Set) bool {
				return len(s.Policies) == 1 && s.Policies[0].Result == policy.Warn && s.Policies[0].Mistake == "" && len(s.Mistakes) == 0
			},
		},
		"schedule_of_no_day": {
			cluster + head("BackupJob", "nightly") + "spec: {schedule: \"02-30 01:00\", storage: local, guests: {all: true}}\n", "all.yaml:9:18: BackupJob nightly: schedule: ",
			func(s Set) bool { return len(s.Objects) == 1 },
		},
		"compressed_disk_image": {
			cluster + strings.NewReplacer("qcow2.gz", "RAW.XZ", "decompression: gz", "format: raw").Replace(image), "all.yaml:9:13: Image haos: url: ",
			func(s Set) bool { return len(s.Images) == 1 && s.Images[0].Format == "raw" },
		},
		"compressed_iso": {
			cluster + strings.NewReplacer("qcow2.gz", "iso.zst", "decompression: gz", "format: iso", "content: import", "content: iso").Replace(image), "all.yaml:9:13: Image haos: url: ",
			func(s Set) bool { return len(s.Images) == 1 && s.Images[0].Format == "iso" },
		},
		"iso_of_another_compression": {
			cluster + strings.NewReplacer("qcow2.gz", "iso.zst", "content: import", "content: iso, format: iso").Replace(image), "all.yaml:9:195: Image haos: decompression: ",
			func(s Set) bool { return len(s.Images) == 1 && s.Images[0].Decompression == "gz" },
		},
		"decompressed_disk_image": {cluster + image, "all.yaml:9:186: Image haos: decompression: ", func(s Set) bool { return len(s.Images) == 1 && s.Images[0].Decompression == "gz" }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := []File{{Path: "all.yaml", Data: []byte(test.text)}}
			if _, err := Parse(files); err == nil || !strings.HasPrefix(err.Error(), test.place) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one problem at %s", err, test.place)
			}
			for name, parse := range map[string]func([]File) (Set, error){"accepted": ParseAccepted, "earlier": ParseEarlier} {
				set, err := parse(files)
				if err != nil || !test.want(set) {
					t.Errorf("%s: got error %v and %+v, want it read as it was accepted", name, err, set)
				}
				if name == "accepted" && (len(set.Warnings) != 1 || !strings.HasPrefix(set.Warnings[0].String(), test.place+"accepted before, refused in a new revision: ")) {
					t.Errorf("got warnings %v, want one at %s", set.Warnings, test.place)
				}
			}
		})
	}
}

// TestInvisibleCharactersInFilesOfSOPS gives a set the file of SOPS that a password is in. With a character that people do not see, a new revision is refused at its
// place. In a revision in force there is a warning, and no guest is blocked by it.
func TestInvisibleCharactersInFilesOfSOPS(t *testing.T) {
	t.Parallel()
	sops, err := os.ReadFile("../encrypted/testdata/suffix.sops.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files := []File{{Path: "all.yaml", Data: []byte("apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: home}\n---\n" +
		"apiVersion: proxmox.gitops/v1alpha1\nkind: Container\nmetadata: {name: dns-1}\nspec: {vmid: 210, node: pve1, passwordFrom: {sops: {file: web.sops.yaml, key: web.password}}}\n---\n" +
		"apiVersion: proxmox.gitops/v1alpha1\nkind: Container\nmetadata: {name: dns-2}\nspec: {vmid: 211, node: pve1, passwordFrom: {sops: {file: web.sops.yaml, key: web.password}}}\n")}}
	const place = "web.sops.yaml:1:9: "
	content := map[string]EncryptedFile{"web.sops.yaml": {Data: []byte("# hides \u2028#\n" + string(sops))}}
	set, err := Parse(files)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := set.WithEncrypted(content); err == nil || !strings.HasPrefix(err.Error(), place+"got the line separator U+2028") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want one problem at %s", err, place)
	}
	for name, parse := range map[string]func([]File) (Set, error){"accepted": ParseAccepted, "earlier": ParseEarlier} {
		set, err := parse(files)
		if err != nil {
			t.Fatal(err)
		}
		set, err = set.WithEncrypted(content)
		if err != nil || len(set.Secrets) > 0 || len(set.Warnings) != 1 || !strings.HasPrefix(set.Warnings[0].String(), place+"accepted before, refused in a new revision: ") {
			t.Errorf("%s: got %v, warnings %v and problems %v of passwords, want one warning at %s", name, err, set.Warnings, set.Secrets, place)
		}
	}
}
