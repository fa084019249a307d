package reconcile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// loseState replaces the state directory by an empty one.
func (l *lab) loseState() {
	l.Helper()
	l.ok(os.RemoveAll(l.state))
	l.ok(os.MkdirAll(l.state, 0o700))
}

// copyState returns a copy of the state directory.
func (l *lab) copyState() string {
	l.Helper()
	dir := filepath.Join(l.TempDir(), "state")
	l.ok(os.CopyFS(dir, os.DirFS(l.state)))
	l.ok(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o700)
		}
		return err
	}))
	return dir
}

// restoreState replaces the state directory by a copy that was made earlier.
func (l *lab) restoreState(from string) {
	l.Helper()
	l.ok(os.RemoveAll(l.state))
	l.ok(os.Rename(from, l.state))
}

// TestIncidentLostStateAndRenameCreatesGuestTwice loses the state directory of an agent that made a guest without a vmid in its manifest, or gets
// an older copy of it, and somebody renames the guest, in Proxmox or in git. The agent creates no second guest, and names the first one.
func TestIncidentLostStateAndRenameCreatesGuestTwice(t *testing.T) {
	t.Parallel()
	machine := withoutVMID(vmYAML("auto", 299, "state: running"))
	container := strings.Replace(strings.Replace(dnsYAML(), "  vmid: 210\n", "", 1), "dns-1", "auto", 1)
	tests := map[string]struct {
		manifest string
		inGit    bool
		inPVE    bool
		older    bool // an older copy of the state remains
	}{
		"machine_in_proxmox":       {machine, false, true, false},
		"machine_in_git":           {machine, true, false, false},
		"machine_in_both":          {machine, true, true, false},
		"machine_in_proxmox_older": {machine, false, true, true},
		"container_in_proxmox":     {container, false, true, false},
		"container_in_git_older":   {container, true, false, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithWire(t, pvesim.Options{}, func(t *testing.T, l *lab, w *wire) {
				l.files["keep.yaml"] = vmYAML("keep-1", 250)
				l.push("one guest", alice)
				l.once()
				older := l.copyState()
				l.files["auto.yaml"] = test.manifest
				l.push("another guest", alice)
				stop := l.start()
				l.converge()
				marker := l.marker(200)
				stop()
				l.loseState()
				if test.older {
					l.restoreState(older)
				}
				key := "name"
				if test.manifest == container {
					key = "hostname"
				}
				if test.inPVE {
					l.ok(l.sim.Edit(200, key, "renamed-by-hand"))
				}
				if test.inGit {
					l.files["auto.yaml"] = strings.Replace(test.manifest, "name: auto", "name: renamed-in-git", 1)
				}
				l.push("another name", alice)
				w.reset()
				defer l.start()()
				l.waitForCondition(0, string(plan.Blocked), string(reason.NotManaged), "200", marker)
				time.Sleep(time.Hour)
				w.wantNoWrites(t)
				if got := len(l.sim.Guests()); got != 3 {
					t.Errorf("got %d guests, want the two and the template", got)
				}
				label := map[bool]string{true: "VirtualMachine/", false: "Container/"}[strings.HasPrefix(name, "machine")] + map[bool]string{true: "renamed-in-git", false: "auto"}[test.inGit]
				l.cure(reason.MeantRenamed, l.saysOf(label), func(values []string) {
					l.files["auto.yaml"] = strings.Replace(l.files["auto.yaml"], "spec:\n", "spec:\n  vmid: "+values[0]+"\n", 1)
					l.push("that guest", alice)
					l.ok(l.sim.Edit(200, key, label[strings.Index(label, "/")+1:]))
					l.cure(reason.ClaimLost, l.saysOf(label), func(values []string) { l.approve(values[0]) })
				})
				l.converge()
			})
		})
	}
}

// TestCopyOfAGuestBlocksNoCreate creates a guest without a vmid in its manifest while a copy of another guest, made by hand, has a vmid of the
// range and the marker of its original.
func TestCopyOfAGuestBlocksNoCreate(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		_, err := l.sim.AddVM(pvesim.Guest{VMID: 230, Config: "name: copy-of-web\ntags: " + l.marker(201) + "\n"})
		l.ok(err)
		time.Sleep(time.Minute)
		l.files["auto.yaml"] = withoutVMID(vmYAML("auto", 299))
		l.push("a guest without a vmid", alice)
		eventually(l, "the new guest", func() bool { return l.sim.Config(200) != "" })
		eventually(l, "the guests in sync", func() bool { return l.guest(l.engine.Report(), 200).Sync == report.Synced })
	})
}

// TestIncidentLostStateAndTagsCreatesGuestTwice loses the state directory of an agent that made a guest without a vmid in its manifest, and somebody
// removes the tags of the guest. The agent creates no second guest beside it, and owns it after a user followed the hint. A guest of another name
// in the range, and a namesake of the other kind, delay nothing.
func TestIncidentLostStateAndTagsCreatesGuestTwice(t *testing.T) {
	t.Parallel()
	machine, container := withoutVMID(vmYAML("auto", 299)), strings.Replace(strings.Replace(dnsYAML(), "  vmid: 210\n", "", 1), "dns-1", "auto", 1)
	tests := map[string]struct{ manifest, other string }{
		"machine":   {machine, container},
		"container": {container, machine},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.files["auto.yaml"] = test.manifest
				l.push("one guest", alice)
				stop := l.start()
				l.converge()
				stop()
				l.loseState()
				l.ok(l.sim.Edit(200, "tags", ""))
				guests := len(l.sim.Guests())
				defer l.start()()
				l.waitForCondition(0, string(plan.Blocked), string(reason.NotManaged), "200 has this name", "no marker")
				if got := len(l.sim.Guests()); got != guests {
					t.Fatalf("got %d guests, want %d", got, guests)
				}
				if hint := l.hintOf(0, plan.Blocked); !strings.Contains(hint, "spec.vmid: 200 and spec.adopt: ifUnmanaged") {
					t.Errorf("got hint %q, want the way to adopt 200", hint)
				}
				l.files["auto.yaml"] = strings.Replace(test.manifest, "spec:\n", "spec:\n  vmid: 200\n  adopt: ifUnmanaged\n", 1)
				l.push("it is ours", alice)
				l.converge()
				l.files["auto.yaml"] = test.manifest
				l.files["other.yaml"] = test.other
				l.files["new.yaml"] = withoutVMID(vmYAML("new-1", 299))
				l.push("as before, and two new guests", alice)
				l.converge()
				if got := len(l.sim.Guests()); got != guests+2 {
					t.Errorf("got %d guests, want %d", got, guests+2)
				}
			})
		})
	}
}

// TestIncidentLostStateTagsAndNameCreatesMachineTwice loses the state directory of an agent that made a machine without a vmid in its manifest, and somebody
// removes its tags and renames it. Its uuid, which the manifest names, still shows that it exists. Other machines delay nothing.
func TestIncidentLostStateTagsAndNameCreatesMachineTwice(t *testing.T) {
	const uuid = "b0a6fd2c-5dd7-4d0c-8a4c-6a1d52a2a9b1"
	runLab(t, nil, func(t *testing.T, l *lab) {
		manifest := withoutVMID(vmYAML("auto", 299, "raw: {smbios1: uuid="+uuid+"}"))
		l.files["auto.yaml"] = manifest
		l.push("one machine", alice)
		stop := l.start()
		l.converge()
		stop()
		l.loseState()
		l.ok(l.sim.Edit(200, "tags", ""))
		l.ok(l.sim.Edit(200, "name", "renamed"))
		guests := len(l.sim.Guests())
		l.files["new.yaml"] = withoutVMID(vmYAML("new-1", 299, "raw: {smbios1: uuid=3f2f2b0e-95a3-4f3c-9a53-0f8b1a3de7c2}"))
		l.push("and a new one", alice)
		defer l.start()()
		l.waitForCondition(0, string(plan.Blocked), string(reason.NotManaged), "200 has the SMBIOS uuid")
		eventually(l, "the new machine", func() bool { return len(l.sim.Guests()) == guests+1 })
		time.Sleep(10 * time.Minute)
		if got := len(l.sim.Guests()); got != guests+1 {
			t.Fatalf("got %d guests, want %d", got, guests+1)
		}
		if hint := l.hintOf(0, plan.Blocked); !strings.Contains(hint, "spec.vmid: 200 and spec.adopt: ifUnmanaged") {
			t.Errorf("got hint %q, want the way to adopt 200", hint)
		}
		l.files["auto.yaml"] = strings.Replace(manifest, "spec:\n", "spec:\n  vmid: 200\n  adopt: ifUnmanaged\n", 1)
		l.push("it is ours", alice)
		l.converge()
		if got := len(l.sim.Guests()); got != guests+1 {
			t.Errorf("got %d guests, want %d", got, guests+1)
		}
	})
}
