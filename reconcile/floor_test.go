package reconcile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// refused waits for a refusal and returns it.
func (l *lab) refused() report.Refused {
	l.Helper()
	eventually(l, "a refusal", func() bool { return l.engine.Report().Source.Refused != nil })
	return *l.engine.Report().Source.Refused
}

// rollback sets the lab's repository back to its first commit after the agent accepted the second commit.
func rollback(l *lab) (second string) {
	l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 1Gi}")
	first := l.push("first", alice)
	stop := l.start()
	l.converge()
	l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}")
	second = l.push("second", alice)
	l.converge()
	stop()
	l.repo.SetMain(first)
	l.repo.Tip = first
	return second
}

func TestFloorIsWrittenOncePerRevision(t *testing.T) {
	runLab(t, []labOption{defaultPoll}, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201)
		tip := l.push("first", alice)
		defer l.start()()
		l.converge()
		time.Sleep(time.Hour)
		comment, found := l.sim.PoolComment("gitops-agent")
		if !found || !strings.Contains(comment, " 1 "+tip+" ") {
			t.Errorf("got pool comment %q, want sequence 1 and %s", comment, tip)
		}
		routes := l.sim.Counters().Routes
		if got := routes["PUT /pools"] + routes["POST /pools"]; got != 2 {
			t.Errorf("got %d writes of pools, want 2: an attempt to change the pool and its creation", got)
		}
	})
}

func TestLostStateDoesNotRollBack(t *testing.T) {
	runLab(t, []labOption{defaultPoll}, func(t *testing.T, l *lab) {
		second := rollback(l)
		l.state = t.TempDir()
		defer l.start()()
		if r := l.refused(); r.Reason != "incomplete-history" && r.Reason != "not-descendant" {
			t.Errorf("got reason %s, want a reason that means that it does not descend from %s", r.Reason, second)
		}
		time.Sleep(time.Hour)
		if got := l.sim.Value(201, "memory"); got != "2048" {
			t.Errorf("got memory %s after a rollback of repository and state, want 2048", got)
		}
		l.repo.SetMain(second)
		l.repo.Tip = second
		eventually(t, "the newest head", func() bool { a := l.engine.Report().Source.Accepted; return a != nil && a.Commit == second })
	})
}

func TestOlderStateDoesNotRollBack(t *testing.T) {
	runLab(t, []labOption{defaultPoll}, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 1Gi}")
		first := l.push("first", alice)
		l.once()
		backup := filepath.Join(t.TempDir(), "backup")
		l.ok(os.CopyFS(backup, os.DirFS(l.state)))
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}")
		second := l.push("second", alice)
		l.once()
		l.state = backup
		l.opts.Note = intake.RewriteNote{Dir: backup}
		l.repo.SetMain(first)
		defer l.start()()
		eventually(t, "writes to stop", func() bool {
			w := l.engine.Report().Writes
			return !w.Allowed && w.Reason == reason.StopUnverified
		})
		l.ok(l.sim.Edit(201, "memory", "4096"))
		time.Sleep(time.Hour)
		if got := l.sim.Value(201, "memory"); got != "4096" {
			t.Errorf("got memory %s written by an older state, want it unchanged", got)
		}
		l.repo.SetMain(second)
		l.repo.Tip = second
		l.converge()
	})
}

func TestEditedFloor(t *testing.T) {
	t.Parallel()
	t.Run("with_state_it_is_corrected", func(t *testing.T) {
		runLab(t, []labOption{defaultPoll}, func(t *testing.T, l *lab) {
			l.files["web.yaml"] = vmYAML("web-1", 201)
			l.push("first", alice)
			l.once()
			l.ok(l.cluster.SetPoolComment(t.Context(), "gitops-agent", "do not touch"))
			defer l.start()()
			eventually(t, "the floor", func() bool {
				comment, _ := l.sim.PoolComment("gitops-agent")
				return strings.Contains(comment, l.repo.Tip)
			})
			l.converge()
		})
	})
	t.Run("without_state_nothing_is_accepted", func(t *testing.T) {
		runLab(t, []labOption{defaultPoll}, func(t *testing.T, l *lab) {
			l.sim.AddPool("gitops-agent", "do not touch")
			l.files["web.yaml"] = vmYAML("web-1", 201)
			l.push("first", alice)
			defer l.start()()
			eventually(t, "the reason", func() bool {
				w := l.engine.Report().Writes
				return w.Reason == reason.StopUnchecked && strings.Contains(w.Message, "gitops-agent")
			})
			time.Sleep(time.Hour)
			if got := l.sim.Effects(201, pvesim.Cloned); got != 0 {
				t.Errorf("got %d clones below an unreadable floor, want none", got)
			}
		})
	})
	t.Run("raised_by_another_client_stops", func(t *testing.T) {
		runLab(t, []labOption{defaultPoll}, func(t *testing.T, l *lab) {
			l.files["web.yaml"] = vmYAML("web-1", 201)
			l.push("first", alice)
			l.once()
			l.ok(l.cluster.SetPoolComment(t.Context(), "gitops-agent",
				"gitops-agent floor 99 "+strings.Repeat("a", 40)+" 2026-03-01T12:00:00Z"))
			defer l.start()()
			eventually(t, "writes to stop", func() bool { return l.engine.Report().Writes.Reason == reason.StopUnverified })
		})
	})
}

func TestRewriteNeedsANote(t *testing.T) {
	runLab(t, []labOption{defaultPoll}, func(t *testing.T, l *lab) {
		rollback(l)
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 3Gi}")
		rewritten := l.push("another second", alice)
		defer l.start()()
		if r := l.refused(); r.Reason != "not-descendant" {
			t.Errorf("got reason %s for rewritten history, want not-descendant", r.Reason)
		}
		l.ok(l.opts.Note.Write(gitsource.ID(strings.Repeat("b", 40))))
		time.Sleep(10 * time.Minute)
		if got := l.sim.Value(201, "memory"); got != "2048" {
			t.Fatalf("got memory %s by a note for another commit, want 2048", got)
		}
		l.ok(l.opts.Note.Write(gitsource.ID(rewritten)))
		l.converge()
		if _, err := os.Stat(filepath.Join(l.state, "allow-rewrite")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("got the note still there (%v), want it removed", err)
		}
	})
}

func TestRewriteNoteDoesNotReplaceASignature(t *testing.T) {
	runLab(t, []labOption{defaultPoll}, func(t *testing.T, l *lab) {
		rollback(l)
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 3Gi}")
		spec := sigtest.CommitSpec{Tree: l.repo.Tree(), Parents: []string{l.repo.Tip}, Message: "not signed"}
		raw := spec.Payload(time.Now())
		id := l.repo.Place(raw, sigtest.ObjectID("commit", raw))
		l.ok(l.opts.Note.Write(gitsource.ID(id)))
		defer l.start()()
		if r := l.refused(); r.Reason != "unsigned" {
			t.Errorf("got reason %s, want unsigned", r.Reason)
		}
	})
}

func TestGuestScope(t *testing.T) {
	t.Parallel()
	class := "apiVersion: proxmox.gitops/v1alpha1\nkind: GuestClass\nmetadata: {name: small}\nspec: {virtualMachine: {memory: {size: 1Gi}}}\n"
	tests := map[string]struct {
		change func(files map[string]string)
		within bool
	}{
		"own_guest":             {func(f map[string]string) { f["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}", "class: small") }, true},
		"new_guest_of_scope":    {func(f map[string]string) { f["web2.yaml"] = vmYAML("web-2", 203) }, true},
		"moved_lines_of_others": {func(f map[string]string) { f["db.yaml"] = "# a comment\n" + f["db.yaml"] }, true},
		"other_guest":           {func(f map[string]string) { f["db.yaml"] = vmYAML("db-1", 202, "memory: {size: 2Gi}") }, false},
		"class_of_both":         {func(f map[string]string) { f["class.yaml"] = strings.Replace(class, "1Gi", "2Gi", 1) }, false},
		"removed_other":         {func(f map[string]string) { delete(f, "db.yaml") }, false},
		"renamed_other":         {func(f map[string]string) { f["db.yaml"] = vmYAML("web-db", 202, "class: small") }, false},
		"cluster":               {func(f map[string]string) { f["cluster.yaml"] += "  guards: {maxDestroysPerDay: 9}\n" }, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, []labOption{defaultPoll}, func(t *testing.T, l *lab) {
				l.files["class.yaml"] = class
				l.files["web.yaml"] = vmYAML("web-1", 201, "class: small")
				l.files["db.yaml"] = vmYAML("db-1", 202, "class: small")
				l.push("by alice, who may change everything", alice)
				defer l.start()()
				l.converge()
				test.change(l.files)
				l.push("by wanda", wanda)
				if test.within {
					l.converge()
					return
				}
				if r := l.refused(); r.Reason != report.RefusedScope {
					t.Errorf("got reason %s, want %s", r.Reason, report.RefusedScope)
				}
			})
		})
	}
}

// TestEmptyCommitDoesNotRestoreARemovedSigner removes alice from the policy. Olga may approve: an empty commit by olga does not sign the tree of
// alice's commit.
func TestEmptyCommitDoesNotRestoreARemovedSigner(t *testing.T) {
	runLab(t, []labOption{defaultPoll}, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 1Gi}")
		l.push("first", alice)
		l.once()
		l.trust(olga, wanda)
		defer l.start()()
		stopped := func() bool { return l.engine.Report().Writes.Reason == reason.StopUnverified }
		eventually(t, "writes to stop", stopped)
		empty := l.push("nothing new", olga)
		eventually(t, "the empty commit to be refused", func() bool { return l.refused().Commit == empty })
		if r := l.refused(); r.Reason != "missing-role" {
			t.Errorf("got reason %s, want missing-role", r.Reason)
		}
		if !stopped() {
			t.Error("got writes allowed by an empty commit of a user who may not change, want them stopped")
		}
	})
}
