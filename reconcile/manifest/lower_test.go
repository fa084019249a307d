package manifest_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest"
)

// describe returns all of a Desired as lines to read: what the guest is, then its intents with the lines that asked for them.
func describe(d guest.Desired) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s from %s\n", d.Ref, d.Origin)
	for _, part := range []struct{ name, value string }{
		{"node", strings.TrimSpace(d.Node + describeNodes(d))},
		{"pool", d.Pool},
		{"state", string(d.State)},
		{"ha", describeHA(d.HA)},
		{"secrets", describeSecrets(d.Secrets)},
		{"source", describeSource(d.Source)},
		{"lifecycle", fmt.Sprintf("%s %s %s %q %s", d.Lifecycle.Destroy, d.Lifecycle.Recreate, d.Lifecycle.RebootPolicy, d.Lifecycle.Window, d.Lifecycle.ShutdownTimeout)},
		{"depends on", strings.Join(d.DependsOn, ", ")},
		{"ignores", strings.Join(d.Ignore, ", ")},
		{"starts without", strings.Join(d.StartWithout, ", ")},
	} {
		if part.value != "" {
			fmt.Fprintf(&b, "  %s: %s\n", part.name, part.value)
		}
	}
	if p := d.Placement; p != nil {
		fmt.Fprintf(&b, "  placement: %s, apart by %v, of %v\n", p.Prefer, p.AntiAffinity, p.Nodes)
	}
	if d.Health != (guest.Health{}) {
		fmt.Fprintf(&b, "  health: %+v\n", d.Health)
	}
	if d.Rollout.Name != "" {
		fmt.Fprintf(&b, "  rollout: %s, set at %s\n", d.Rollout, d.SetAt(guest.GuardRollout))
	}
	if d.Backup {
		fmt.Fprintf(&b, "  backup required, set at %s\n", d.SetAt(guest.GuardBackup))
	}
	if d.Suspend != nil {
		fmt.Fprintf(&b, "  suspended: %s, %s, until %s\n", d.Suspend.Reason, d.Suspend.Author, d.Suspend.Until)
	}
	if s := d.Snapshots; s != nil {
		fmt.Fprintf(&b, "  snapshots from %s: %s, next %s, keeps %d\n", s.Origin, s.Text, s.Times.Next(time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)).UTC().Format(time.RFC3339), s.Keep)
	}
	if d.Firewall != nil {
		b.WriteString(describeFirewall(*d.Firewall))
	}
	fmt.Fprintf(&b, "  adopt %t, observe %t, wave %d", d.Adopt, d.Observe, d.Wave)
	for _, on := range []struct {
		name string
		set  bool
	}{{"template", d.Template}, {"refresh", d.Refresh}, {"force stop", d.Lifecycle.ForceStop}} {
		if on.set {
			b.WriteString(", " + on.name)
		}
	}
	b.WriteString("\n")
	for _, in := range d.Intents {
		fmt.Fprintf(&b, "  %-26s %s\n", fmt.Sprintf("%s:%d", in.Origin.File, in.Origin.Line), describeIntent(in))
	}
	return b.String()
}

func describeFirewall(f guest.FirewallWanted) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  firewall from %s: %v, others stay %t\n", f.Origin, f.Options, f.KeepOthers)
	if f.Guarded {
		b.WriteString("    guarded\n")
	}
	for i, r := range f.Rules {
		fmt.Fprintf(&b, "    rule %s: %s\n", f.RuleOrigins[i], r)
	}
	for _, a := range f.Aliases {
		fmt.Fprintf(&b, "    alias %s: %s\n", a.Name, a)
	}
	for _, s := range f.Sets {
		fmt.Fprintf(&b, "    set %s: %s\n", s.Name, s)
	}
	return b.String()
}

// describeNodes leaves out what a lone node without any migration comes to.
func describeNodes(d guest.Desired) string {
	if d.Migrate == guest.MigrateDeny && len(d.Nodes) <= 1 {
		return ""
	}
	return fmt.Sprintf(" of %s, migrate %s", strings.Join(d.Nodes, " "), d.Migrate)
}

func describeHA(h *guest.HAWanted) string {
	switch {
	case h == nil:
		return ""
	case h.Absent:
		return "absent"
	}
	parts := []string{h.State}
	for _, limit := range []struct {
		name string
		most *int
	}{{"restart", h.MaxRestart}, {"relocate", h.MaxRelocate}} {
		if limit.most != nil {
			parts = append(parts, fmt.Sprintf("%s %d", limit.name, *limit.most))
		}
	}
	if h.Failback != nil {
		parts = append(parts, fmt.Sprintf("failback %t", *h.Failback))
	}
	return fmt.Sprintf("%s (line %d)", strings.Join(parts, " "), h.Origin.Line)
}

func describeSecrets(secrets []guest.Secret) string {
	var out []string
	for _, s := range secrets {
		out = append(out, fmt.Sprintf("%s from %s (line %d)", s.Key, s.File, s.Origin.Line))
	}
	return strings.Join(out, ", ")
}

func describeSource(s guest.Source) string {
	switch {
	case s.Clone != nil:
		return fmt.Sprintf("clone %+v", *s.Clone)
	case s.Image != nil:
		return fmt.Sprintf("image %+v", *s.Image)
	case s.Template != nil:
		return fmt.Sprintf("template %+v", *s.Template)
	case s.ISO != nil:
		return fmt.Sprintf("iso %+v", *s.ISO)
	case s.Backup != nil:
		return fmt.Sprintf("backup %+v", *s.Backup)
	case s.Blank:
		return "blank"
	default:
		return ""
	}
}

func describeIntent(in guest.Intent) string {
	switch {
	case in.Verb == guest.Absent:
		return in.Key + " absent"
	case in.Sub == nil:
		return fmt.Sprintf("%s = %q", in.Key, in.Text)
	default:
		var subs []string
		for _, name := range slices.Sorted(maps.Keys(in.Sub)) {
			subs = append(subs, name+"="+in.Sub[name])
		}
		return in.Key + " {" + strings.Join(subs, " ") + "}"
	}
}

// TestLower holds what manifests come to against expected text.
func TestLower(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob(filepath.Join("testdata", "lower", "*.txtar"))
	if err != nil || len(names) == 0 {
		t.Fatalf("got %d inputs and error %v, want some", len(names), err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, d := range lowered(t, archived(archive)) {
				got.WriteString(describe(d))
			}
			want := &archive.Files[len(archive.Files)-1]
			if *update {
				want.Data = []byte(got.String())
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(want.Data), got.String()); diff != "" {
				t.Errorf("got another result (-want +got):\n%s", diff)
			}
		})
	}
}

// lowerInputs returns the manifests of testdata/lower, which use every field.
func lowerInputs(t *testing.T) []manifest.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", "lower", "*.txtar"))
	if err != nil || len(names) == 0 {
		t.Fatalf("got %d inputs and error %v, want some", len(names), err)
	}
	var out []manifest.File
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, manifest.File{Path: name, Data: archive.Files[0].Data})
	}
	return out
}

// lowered returns what files without a problem come to.
func lowered(t *testing.T, files []manifest.File) []guest.Desired {
	t.Helper()
	set, err := manifest.Parse(files)
	if err != nil {
		t.Fatal(err)
	}
	out, err := set.Lower(nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestLowerAssignsVMIDs(t *testing.T) {
	t.Parallel()
	files := []manifest.File{{Path: "all.yaml", Data: []byte(clusterManifest + vm("web-1", "vmid: 201") + vm("web-2", "wave: 1") + vm("web-3", "wave: 2"))}}
	set, err := manifest.Parse(files)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		assigned map[string]int
		want     []int
		err      string
	}{
		"none":     {nil, []int{201, 0, 0}, ""},
		"one":      {map[string]int{"VirtualMachine/web-3": 203}, []int{201, 0, 203}, ""},
		"explicit": {map[string]int{"VirtualMachine/web-1": 999}, []int{201, 0, 0}, ""},
		"gone":     {map[string]int{"VirtualMachine/web-9": 201}, []int{201, 0, 0}, ""},
		"taken":    {map[string]int{"VirtualMachine/web-2": 201}, nil, "all.yaml:12:1: VirtualMachine web-2: vmid: was assigned 201, which VirtualMachine/web-1 has"},
		"twice":    {map[string]int{"VirtualMachine/web-2": 205, "VirtualMachine/web-3": 205}, nil, "VirtualMachine web-3: vmid: was assigned 205, which VirtualMachine/web-2 has"},
		"invalid":  {map[string]int{"VirtualMachine/web-2": 99}, nil, "was assigned 99, want 100 to 999999999"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			desired, err := set.Lower(test.assigned)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("got error %v, want %q in it", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []int
			for _, d := range desired {
				got = append(got, d.VMID)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("got other vmids (-want +got):\n%s", diff)
			}
		})
	}
}

// vm returns the document of a virtual machine.
func vm(name, spec string) string {
	return "---\napiVersion: proxmox.gitops/v1alpha1\nkind: VirtualMachine\nmetadata: {name: " + name + "}\nspec:\n  " + spec + "\n"
}

// TestLowerReturnsNativeText holds every text that any field lowers to against the key table.
func TestLowerReturnsNativeText(t *testing.T) {
	t.Parallel()
	for _, file := range lowerInputs(t) {
		files := archived(&txtar.Archive{Files: []txtar.File{{Name: "web.yaml", Data: file.Data}}})
		if strings.Contains(string(file.Data), "kind: Cluster") {
			files = files[1:]
		}
		for _, d := range lowered(t, files) {
			for _, in := range d.Intents {
				if in.Sub != nil || in.Verb == guest.Absent {
					continue
				}
				if err := guest.Check(d.Kind, in.Key, in.Text); err != nil {
					t.Errorf("%s: %s = %q: got %v, want native text", d.Label(), in.Key, in.Text, err)
				}
			}
		}
	}
}

// TestLowerReturnsCreatable makes guests of every kind of source on paper: the key table must know what to do with all that they
// want.
func TestLowerReturnsCreatable(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile(filepath.Join("testdata", "lower", "sources.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	desired := lowered(t, archived(archive))
	for name := range exampleTrees {
		desired = append(desired, lowered(t, exampleTree(t, name))...)
	}
	made := map[string]bool{}
	for _, d := range desired {
		if d.Source.Clone != nil || d.Source.Backup != nil || d.Source == (guest.Source{}) {
			continue
		}
		params, err := guest.CreateParams(d)
		if err != nil || len(params) < 3 {
			t.Errorf("%s: got parameters %v and error %v, want parameters", d.Label(), params, err)
		}
		source, _, _ := strings.Cut(describeSource(d.Source), " ")
		made[source] = true
	}
	if diff := cmp.Diff(map[string]bool{"blank": true, "image": true, "iso": true, "template": true}, made); diff != "" {
		t.Errorf("got other kinds of source (-want +got):\n%s", diff)
	}
}

// TestLowerPinsClusterGuards reads the guards of a Cluster, and their defaults.
func TestLowerPinsClusterGuards(t *testing.T) {
	t.Parallel()
	silent := "apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: home}\n"
	tests := map[string]struct {
		data string
		want manifest.Cluster
	}{
		"silent": {silent, manifest.Cluster{Name: "home", Guards: manifest.Guards{MaxDestroysPerDay: 3, Approvals: 1}}},
		"said": {silent + "spec: {vmids: {from: 200, to: 299}, guards: {maxDestroysPerDay: 0, approvals: 2}}\n", manifest.Cluster{
			Name: "home", VMIDs: manifest.Range{From: 200, To: 299}, Guards: manifest.Guards{MaxDestroysPerDay: 0, Approvals: 2},
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			set, err := manifest.Parse([]manifest.File{{Path: "cluster.yaml", Data: []byte(test.data)}})
			if err != nil {
				t.Fatal(err)
			}
			test.want.Origin = guest.Origin{File: "cluster.yaml", Line: 1, Column: 1}
			if diff := cmp.Diff(test.want, set.Cluster); diff != "" {
				t.Errorf("got another cluster (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLowerCoversEveryField: a field that no input of testdata/lower sets is one whose lowering nothing holds.
func TestLowerCoversEveryField(t *testing.T) {
	t.Parallel()
	var guests []manifest.Guest
	names, err := filepath.Glob(filepath.Join("testdata", "lower", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		set, err := manifest.Parse(archived(archive))
		if err != nil {
			t.Fatal(err)
		}
		guests = append(guests, set.Guests...)
	}
	for _, kind := range []guest.Kind{guest.VirtualMachine, guest.Container} {
		if unused := manifest.Unused(kind, guests); len(unused) > 0 {
			t.Errorf("%s: got no input that sets %s, want one", kind, strings.Join(unused, ", "))
		}
	}
}
