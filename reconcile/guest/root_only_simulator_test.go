package guest_test

import (
	"strings"
	"testing"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// TestRootOnlyAgreesWithTheSimulator writes a value of every key with a token. What the table leaves to root@pam is refused for that reason.
func TestRootOnlyAgreesWithTheSimulator(t *testing.T) {
	t.Parallel()
	refused := 0
	simulate(t, func(l lab) {
		if err := l.sim.AddVolume("local:snippets/hook.sh", 1024); err != nil {
			t.Fatal(err)
		}
		for _, sample := range guest.WrittenSamples() {
			vmid := l.renew(sample.Kind)
			d := guest.Desired{Ref: guest.Ref{Kind: sample.Kind, VMID: vmid}, Intents: []guest.Intent{sample.Intent}}
			for _, change := range guest.Diff(d, l.observe(sample.Kind, vmid)) {
				if !change.RootOnly {
					continue
				}
				refused++
				l.isRefused(sample.Kind, vmid, change)
			}
		}
	})
	if refused < 30 {
		t.Errorf("values of root@pam: got %d, want at least 30", refused)
	}
}

// isRefused checks that the simulator refuses a change of a token because only root@pam may make it.
func (l lab) isRefused(kind guest.Kind, vmid int, change guest.Change) {
	l.Helper()
	call := cluster.Call{Params: map[string]string{change.Key: change.RootValue}}
	if change.RootValue == "" {
		call = cluster.Call{Delete: []string{change.Key}}
	}
	if refusal := l.write(kind, vmid, call); !strings.Contains(refusal, "root") {
		l.Errorf("%s %s=%q with a token: got refusal %q, want one that names root", kind, change.Key, change.RootValue, refusal)
	}
}

// TestFeaturesArePartlyWrittenOnTheSimulator brings containers from each text of features to each wanted one. The token writes what it may, the rest is one
// change of root@pam, and after both the container is as wanted.
func TestFeaturesArePartlyWrittenOnTheSimulator(t *testing.T) {
	t.Parallel()
	texts := []string{
		"", "nesting=1", "nesting=0", "keyctl=1", "keyctl=0", "keyctl=1,nesting=1", "fuse=1,keyctl=0", "fuse=1,nesting=0", "mount=nfs", "mount=cifs;nfs,nesting=1",
	}
	wishes := []guest.Intent{{Key: "features", Verb: guest.Absent}}
	for _, text := range texts[1:] {
		sub := map[string]string{}
		for part := range strings.SplitSeq(text, ",") {
			name, value, _ := strings.Cut(part, "=")
			sub[name] = value
		}
		wishes = append(wishes, guest.Intent{Key: "features", Verb: guest.Want, Text: text}, guest.Intent{Key: "features", Verb: guest.Want, Sub: sub})
	}
	partly := 0
	for _, status := range []guest.Status{guest.StatusStopped, guest.StatusRunning} {
		for _, privileged := range []string{"0", "1"} {
			simulate(t, func(l lab) {
				for _, from := range texts {
					for _, want := range wishes {
						config := "memory: 512\nrootfs: local:1\nunprivileged: " + map[string]string{"0": "1", "1": "0"}[privileged] + "\n"
						if from != "" {
							config += "features: " + from + "\n"
						}
						_ = l.sim.RemoveGuest(labCT) // which the first time is not there
						if _, err := l.sim.AddCT(pvesim.Guest{VMID: labCT, Config: config, Running: status == guest.StatusRunning}); err != nil {
							t.Fatal(err)
						}
						l.status = status
						if l.writeFeatures(guest.Desired{Ref: guest.Ref{Kind: guest.Container, VMID: labCT}, Intents: []guest.Intent{want}}, privileged == "1") {
							partly++
						}
					}
				}
			})
		}
	}
	if partly == 0 {
		t.Error("changes of which a token writes a part: got none")
	}
}

// writeFeatures makes the changes of a container, first those of the token, and reports whether there were both.
func (l lab) writeFeatures(d guest.Desired, privileged bool) bool {
	l.Helper()
	before := l.observe(d.Kind, d.VMID)
	what := d.Intents[0].Text + " from " + before.Keys["features"].Text
	written, left := 0, 0
	for _, change := range guest.Diff(d, before) {
		switch {
		case change.RootOnly:
			left++
		case privileged:
			l.Errorf("%s in a privileged container: got %+v, want nothing to write", what, change)
		default:
			written++
			if refusal := l.carryOut(guest.WrittenSample{Kind: d.Kind}, d.VMID, change); refusal != "" {
				l.Errorf("%s: write %q: got refusal %q", what, change.Value, refusal)
			}
		}
	}
	rest := guest.Diff(d, l.observe(d.Kind, d.VMID))
	for _, change := range rest {
		switch {
		case change.Waits && l.status == guest.StatusRunning:
		case !change.RootOnly || left != 1:
			l.Errorf("%s: got %+v left after %d written changes, want only what root@pam has to write", what, change, written)
		default:
			l.isRefused(d.Kind, d.VMID, change)
			if problem := l.writeAsRoot(d.Kind, d.VMID, change.Key, change.RootValue); problem != "" {
				l.Error(problem)
			}
		}
	}
	for _, change := range guest.Diff(d, l.observe(d.Kind, d.VMID)) {
		if !change.Waits {
			l.Errorf("%s: got %+v after the command of root, want nothing", what, change)
		}
	}
	return written > 0 && left > 0
}
