package manifest_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest"
)

var adoptOptions = manifest.AdoptOptions{Cluster: "home", Name: "erp"}

// failer is a test, or one of the many cases of a property.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// wanted returns what an adopted manifest comes to in a source of its own.
func wanted(t failer, data []byte) guest.Desired {
	t.Helper()
	set, err := manifest.Parse([]manifest.File{{Path: "erp.yaml", Data: data}, {Path: "cluster.yaml", Data: []byte(clusterManifest)}})
	if err != nil {
		t.Fatalf("got %v, want no problems in\n%s", err, data)
	}
	desired, err := set.Lower(nil)
	if err != nil || len(desired) != 1 {
		t.Fatalf("got %d guests and %v, want one", len(desired), err)
	}
	return desired[0]
}

// TestAdoptedPlansEmpty: an adopted manifest differs from its guest in the mark of ownership alone; whatever it pins is noticed when it
// goes; and whatever it does not pin is told, but for what is Proxmox's own.
func TestAdoptedPlansEmpty(t *testing.T) {
	t.Parallel()
	for _, kind := range []guest.Kind{guest.VirtualMachine, guest.Container} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) { checkAdopted(t, drawLive(t, kind), drawOptions(t)) })
		})
	}
}

// drawOptions draws whether the environment is pinned.
func drawOptions(t *rapid.T) manifest.AdoptOptions {
	out := adoptOptions
	out.Env = rapid.Bool().Draw(t, "env")
	return out
}

func checkAdopted(t *rapid.T, o guest.Observed, opts manifest.AdoptOptions) {
	t.Helper()
	a, err := manifest.Adopt(o, opts)
	if err != nil {
		t.Fatalf("adopt: %v", err)
	}
	d := wanted(t, a.Data)
	if changes := guest.Diff(d, o); len(changes) > 0 {
		t.Fatalf("got changes %+v, want none, in\n%s", changes, a.Data)
	}
	d.Marker = "gitops-00000001"
	if changes := guest.Diff(d, o); len(changes) != 1 || changes[0].Key != "tags" {
		t.Fatalf("owned: got changes %+v, want the mark of ownership alone, in\n%s", changes, a.Data)
	}
	d.Marker = ""
	told := map[string]bool{}
	for _, left := range a.Left {
		key, _, _ := strings.Cut(left.Key, ".")
		told[key] = true
		if !strings.Contains(string(a.Data), "\n#   "+left.Key+": "+left.Reason+"\n") {
			t.Fatalf("got no comment that %s is left out, want one in\n%s", left.Key, a.Data)
		}
	}
	for key, value := range o.Keys {
		pinned := slices.Contains(a.Pinned, key)
		if !pinned && !told[key] && !ownBusiness(key, value) {
			t.Fatalf("%s=%q: got it neither pinned nor told, in\n%s", key, value.Text, a.Data)
		}
		if pinned && !noticed(d, o, key) {
			t.Fatalf("%s=%q: got no change when it goes, want one, in\n%s", key, value.Text, a.Data)
		}
	}
}

// ownBusiness reports whether only Proxmox writes a key, or whether the key has only generated values.
func ownBusiness(key string, value guest.Value) bool {
	return slices.Contains([]string{"vmgenid", "meta", "parent", "digest", "lock", "vmstate", "snaptime", "snapstate", "runningmachine", "runningcpu", "template"}, key) || strings.HasPrefix(key, "unused") ||
		key == "smbios1" && !strings.Contains(value.Text, ",") || key == "tags" && strings.HasPrefix(value.Text, "gitops-") && !strings.Contains(value.Text, ";")
}

// noticed reports whether the loss of a key is a change, or is none because the key said what holds without it.
func noticed(d guest.Desired, o guest.Observed, key string) bool {
	lost := o
	lost.Keys = maps.Clone(o.Keys)
	delete(lost.Keys, key)
	if len(guest.Diff(d, lost)) > len(guest.Diff(d, o)) {
		return true
	}
	absent := guest.Desired{Ref: o.Ref, Intents: []guest.Intent{{Key: key, Verb: guest.Absent}}}
	return len(guest.Diff(absent, o)) == 0
}

// TestEveryFieldCanBeRaised: a field that has a live value behind it is among those that adopted manifests set, or is named here.
func TestEveryFieldCanBeRaised(t *testing.T) {
	t.Parallel()
	for kind, without := range fieldsNotRaised {
		set := map[string]bool{}
		for key, texts := range textsOf(kind) {
			for _, text := range texts {
				texts := map[string]string{key: text}
				if kind == guest.Container && key != "unprivileged" {
					texts["unprivileged"] = "1" // nesting is root@pam's business elsewhere
				}
				collectFields(t, liveGuest(kind, texts), set)
			}
		}
		template := liveGuest(kind, nil)
		template.Template, template.HA, template.Resource = true, true, &guest.HA{State: "started", MaxRestart: 1, MaxRelocate: 1, NoFailback: true}
		collectFields(t, template, set)
		walled := liveGuest(kind, nil)
		walled.Firewall = everyFirewallField()
		collectFields(t, walled, set)
		for _, pattern := range manifest.FieldPatterns(string(kind)) {
			named := slices.Contains(without, pattern)
			raised := slices.ContainsFunc(slices.Collect(maps.Keys(set)), func(path string) bool { return manifest.MatchesField(pattern, path) })
			if raised == named {
				t.Errorf("%s %s: got it set by adopted manifests: %t, and among the fields without a way back: %t, want one of both", kind, pattern, raised, named)
			}
		}
		for _, pattern := range without {
			if !slices.Contains(manifest.FieldPatterns(string(kind)), pattern) {
				t.Errorf("%s %s: got no such field, want it taken off the list", kind, pattern)
			}
		}
	}
}

func collectFields(t *testing.T, o guest.Observed, into map[string]bool) {
	t.Helper()
	a, err := manifest.Adopt(o, withEnv)
	if err != nil {
		t.Fatalf("adopt %v: %v", o.Keys, err)
	}
	for _, path := range manifest.SpecFields(a.Data) {
		into[path] = true
	}
}

// TestAdopt shows what manifests of two whole guests look like.
func TestAdopt(t *testing.T) {
	t.Parallel()
	for _, kind := range []guest.Kind{guest.VirtualMachine, guest.Container} {
		texts := map[string]string{}
		for key, all := range textsOf(kind) {
			texts[key] = all[len(all)-1]
		}
		o := liveGuest(kind, texts)
		waiting := "3"
		o.Keys["cores"] = guest.Value{Text: "2", Set: true, Pending: &waiting}
		a, err := manifest.Adopt(o, adoptOptions)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "testdata/adopt/"+strings.ToLower(string(kind))+".yaml", a.Data)
	}
}

func TestAdoptRefusesLockedGuests(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"create":    "was only partly created (locked: create)",
		"clone":     "was only partly created (locked: clone)",
		"suspended": "is hibernated (locked: suspended)",
		"backup":    "is locked (backup)",
	}
	for lock, want := range tests {
		o := liveGuest(guest.VirtualMachine, nil)
		o.Lock = lock
		_, err := manifest.Adopt(o, adoptOptions)
		var refused *manifest.AdoptError
		if !errors.As(err, &refused) || refused.Error() != want || refused.Hint == "" {
			t.Errorf("%s: got %v, want %q and what to do", lock, err, want)
		}
	}
}

// TestAdoptPrintsNoSecrets: neither secrets nor what may hold some are in the manifest.
func TestAdoptPrintsNoSecrets(t *testing.T) {
	t.Parallel()
	o := liveGuest(guest.Container, map[string]string{"env": "A=1\x00TOKEN=hunter2", "future-key": "hunter2"})
	o.Keys["lxc"] = guest.Value{Text: "hunter2", Set: true}
	a, err := manifest.Adopt(o, adoptOptions)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(a.Data), "hunter2") {
		t.Errorf("got the secret in\n%s", a.Data)
	}
}

// TestAdoptPinsTheEnvironmentIfAsked: with the option the whole environment is pinned, or the reason is reported.
func TestAdoptPinsTheEnvironmentIfAsked(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ env, want string }{
		"some":    {"LANG=C.UTF-8\x00TOKEN=a,b=c", "\n  env: {LANG: C.UTF-8, TOKEN: 'a,b=c'}\n"},
		"twice":   {"A=1\x00A=2", "\n#   env: a manifest accepts variables of letters, digits and _, each once\n"},
		"oddName": {"A.B=1", "\n#   env: a manifest accepts variables of letters, digits and _, each once\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a, err := manifest.Adopt(liveGuest(guest.Container, map[string]string{"env": test.env}), withEnv)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(a.Data), test.want) {
				t.Errorf("got no %q, want it in\n%s", test.want, a.Data)
			}
		})
	}
}

// TestAdoptCommentsCannotEnd: text from the cluster stays in the comment that it is put into.
func TestAdoptCommentsCannotEnd(t *testing.T) {
	t.Parallel()
	o := liveGuest(guest.VirtualMachine, map[string]string{"x\nspec: {vmid: 100}": "1"})
	o.Node = "pve1"
	a, err := manifest.Adopt(o, manifest.AdoptOptions{Cluster: "home\nkind: Cluster", Name: "erp"})
	if err != nil {
		t.Fatal(err)
	}
	if got := wanted(t, a.Data).VMID; got != 105 {
		t.Errorf("got vmid %d, want 105", got)
	}
}

// TestAdoptLeavesUnknownSubKeys: unknown sub-keys of a newer Proxmox do not prevent pinning the known ones.
func TestAdoptLeavesUnknownSubKeys(t *testing.T) {
	t.Parallel()
	a, err := manifest.Adopt(liveGuest(guest.VirtualMachine, map[string]string{
		"net0":  "virtio=BC:24:11:00:00:AA,bridge=vmbr0,future=1",
		"scsi0": "local-lvm:vm-105-disk-0,future=1,size=1G",
		"sata0": "local-lvm:vm-105-disk-1,cache=none,cache=unsafe,size=1G",
		"sata1": "local-lvm:vm-105-disk-2,iothread=1,ro=1,size=1G", // two problems at once
	}), adoptOptions)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range a.Left {
		got = append(got, l.Key+": "+l.Reason)
	}
	want := []string{
		"net0.future: this agent does not know it",
		"sata0.cache: its text contains it twice",
		"sata1: a manifest accepts a scsi or virtio slot",
		"scsi0.future: this agent does not know it",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("got other keys left out (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"net0", "node", "pool", "sata0", "scsi0"}, a.Pinned); diff != "" {
		t.Errorf("got other keys pinned (-want +got):\n%s", diff)
	}
}

// TestAdoptPrivilegedContainer: a container is privileged where nothing says otherwise, and a new one is not. Made anew it must not
// become another one.
func TestAdoptPrivilegedContainer(t *testing.T) {
	t.Parallel()
	a, err := manifest.Adopt(liveGuest(guest.Container, map[string]string{"hostname": "old", "memory": "512", "rootfs": "local:105/vm-105-disk-0.raw,size=8G"}), adoptOptions)
	if err != nil {
		t.Fatal(err)
	}
	params, err := guest.CreateParams(wanted(t, withSource(t, a.Data)))
	if err != nil {
		t.Fatal(err)
	}
	if params["unprivileged"] != "0" || params["swap"] != "0" {
		t.Errorf("got unprivileged %q and swap %q, want 0 of both, from\n%s", params["unprivileged"], params["swap"], a.Data)
	}
}

func TestAdoptName(t *testing.T) {
	t.Parallel()
	taken := map[string]bool{"VirtualMachine/web": true, "VirtualMachine/db": true, "VirtualMachine/db-105": true}
	got := map[string]string{}
	for _, name := range []string{"erp", "ERP-2", "Web", "db", "", "not a name"} {
		o := guest.Observed{Ref: guest.Ref{Kind: guest.VirtualMachine, Name: name, VMID: 105}}
		got[name] = manifest.AdoptName(o, taken)
	}
	want := map[string]string{"erp": "erp", "ERP-2": "erp-2", "Web": "web-105", "db": "db-105-2", "": "vm-105", "not a name": "vm-105"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("got other names (-want +got):\n%s", diff)
	}
}

// FuzzAdopt: whatever text a key has, the guest can be adopted, and its manifest differs from it in nothing.
func FuzzAdopt(f *testing.F) {
	for _, kind := range []guest.Kind{guest.VirtualMachine, guest.Container} {
		for key, texts := range textsOf(kind) {
			f.Add(kind == guest.Container, key, texts[0], texts[len(texts)-1])
		}
	}
	f.Add(false, "scsi0", "local-lvm:vm-1-disk-0,file=a:b,cache=none,cache=unsafe,size=1G", "")
	f.Add(false, "net0", "virtio=BC:24:11:00:00:AA,bridge=vmbr0,future=1,bridge=vmbr1", "")
	f.Add(false, "\u0083\uffff", "0", "0")
	f.Add(false, "usb0", "mapping=stick,usb3?1", "spice")
	f.Fuzz(func(t *testing.T, container bool, key, text, next string) {
		kind := guest.VirtualMachine
		if container {
			kind = guest.Container
		}
		for _, pending := range []*string{nil, &next} {
			o := liveGuest(kind, map[string]string{key: text})
			value := o.Keys[key]
			value.Pending = pending
			o.Keys[key] = value
			a, err := manifest.Adopt(o, adoptOptions)
			if err != nil {
				t.Fatalf("adopt %s=%q: %v", key, text, err)
			}
			if changes := guest.Diff(wanted(t, a.Data), o); len(changes) > 0 {
				t.Fatalf("%s=%q: got changes %+v, want none, in\n%s", key, text, changes, a.Data)
			}
		}
	})
}
