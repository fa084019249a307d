package reconcile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/journal"
	"gitops-agent/verify"
)

// TestOlderStateDoesNotRestoreASpentApproval restores a backup of the state from before an approval was spent. The floor in the cluster shows that
// the backup is old, so an approval that the backup contains as unspent must not release a step.
func TestOlderStateDoesNotRestoreASpentApproval(t *testing.T) {
	runLabWithProbe(t, []labOption{defaultPoll}, func(t *testing.T, l *lab, _ *probe) {
		l.files["web.yaml"] = webOnBridge("vmbr0")
		l.push("one guest", alice)
		stop := l.start()
		l.converge()
		old := l.sim.Value(201, "net0")
		l.files["web.yaml"] = webOnBridge("vmbr1")
		l.push("another bridge", alice)
		digest := l.digestOfHold(201)
		l.sim.StopNode("pve1")
		time.Sleep(2 * time.Minute)
		l.approve(digest)
		time.Sleep(2 * time.Minute)
		stop()
		backup := filepath.Join(t.TempDir(), "backup")
		l.ok(os.CopyFS(backup, os.DirFS(l.state)))
		l.sim.StartNode("pve1")
		time.Sleep(20 * time.Second)
		if !l.sim.Running(201) {
			l.ok(l.sim.SetRunning(201, true))
		}
		stop = l.start()
		eventually(t, "the approved change", l.moved)
		l.push("a later commit", alice)
		l.converge()
		stop()
		l.ok(l.sim.Edit(201, "net0", old))
		l.state, l.opts.Note = backup, intake.RewriteNote{Dir: backup}
		defer l.start()()
		eventually(t, "the older state to be brought up", func() bool {
			a := l.engine.Report().Source.Accepted
			return a != nil && a.Commit == l.repo.Tip && l.engine.Report().Writes.Allowed
		})
		time.Sleep(10 * time.Minute)
		if l.moved() {
			t.Error("got a spent approval that ran a second time, want it to need a new signature")
		}
	})
}

// TestSpentApprovalIsNotReplayed spends an approval and repeats it in every way. The same signed payload under another commit id has the same key.
func TestSpentApprovalIsNotReplayed(t *testing.T) {
	t.Parallel()
	ways := map[string]func(l *lab, raw []byte){
		"after_a_restart": func(*lab, []byte) {},
		"after_compaction": func(l *lab, _ []byte) {
			l.open()
			for range 400 { // segments are small here, so that they are compacted
				l.ok(l.journal.Append(l.Context(), journal.Event{Name: "filler", Message: strings.Repeat("x", 1000)}))
			}
			l.close()
		},
		"under_another_commit_id": func(l *lab, raw []byte) {
			again, err := l.sig.SignCommit(payloadOf(raw), olga, sigtest.SignOptions{At: time.Now()})
			l.ok(err)
			id := l.repo.Place(again, sigtest.ObjectID("commit", again))
			l.ok(l.opts.Note.Write(gitsource.ID(id)))
		},
	}
	for name, comeBack := range ways {
		t.Run(name, func(t *testing.T) {
			runLabWithProbe(t, []labOption{defaultPoll}, func(t *testing.T, l *lab, _ *probe) {
				l.segment = 64 << 10
				l.files["web.yaml"] = webOnBridge("vmbr0")
				l.push("one guest", alice)
				stop := l.start()
				l.converge()
				old := l.sim.Value(201, "net0")
				l.files["web.yaml"] = webOnBridge("vmbr1")
				l.push("another bridge", alice)
				l.approve(l.digestOfHold(201))
				approval := []byte(l.repo.Git(nil, "cat-file", "commit", l.repo.Tip))
				eventually(t, "the approved change", l.moved)
				l.converge()
				stop()
				comeBack(l, approval)
				l.ok(l.sim.Edit(201, "net0", old))
				defer l.start()()
				time.Sleep(10 * time.Minute)
				if l.moved() {
					t.Error("got a spent approval that ran a second time, want it spent for good")
				}
				if held := l.digestOfHold(201); held == "" {
					t.Error("got no held step, want the change to wait for a new signature")
				}
			})
		})
	}
}

// payloadOf returns the bytes that a commit's signature covers: the object without its gpgsig header.
func payloadOf(raw []byte) []byte {
	var payload strings.Builder
	inSignature, inHeader := false, true
	for line := range strings.Lines(string(raw)) {
		inSignature = inHeader && (strings.HasPrefix(line, "gpgsig ") || inSignature && strings.HasPrefix(line, " "))
		inHeader = inHeader && line != "\n"
		if !inSignature {
			payload.WriteString(line)
		}
	}
	return []byte(payload.String())
}

// TestMissingPoolWithMissingStateNeedsTheAnchor deletes the state and the floor. Only the commit that the config names is left.
func TestMissingPoolWithMissingStateNeedsTheAnchor(t *testing.T) {
	runLab(t, []labOption{defaultPoll}, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201)
		first := l.push("first", alice)
		anchored := func(anchor string) {
			root, err := l.sig.TrustedRoot()
			l.ok(err)
			policy, err := verify.NewPolicy(verify.Options{
				TrustedRoot: root, Branch: "main", Binding: verify.BindingNone, Anchor: gitsource.ID(anchor),
				Signers: []verify.Signer{{Name: "alice", Issuer: alice.Issuer, Subject: alice.Subject, May: []verify.Role{verify.RoleChange}}},
			})
			l.ok(err)
			l.policy.Store(policy)
		}
		anchored("1234567890123456789012345678901234567890")
		stop := l.start()
		if r := l.refused(); r.Reason != "missing-anchor" {
			t.Errorf("got reason %s without pool, state and anchor, want missing-anchor", r.Reason)
		}
		stop()
		anchored(first)
		defer l.start()()
		l.converge()
	})
}
