package reconcile_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/internal/evidence"
	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
)

// pushOnline changes the cores of the guest 201 and pushes the change, signed in gitsign's online mode.
func (l *lab) pushOnline(cores string, opts sigtest.SignOptions) (string, *sigtest.Online) {
	l.Helper()
	l.files["web.yaml"] = vmYAML("web-1", 201, "cpu: {cores: "+cores+"}")
	return l.repo.PushOnline(l.sig, alice, "cores "+cores, opts)
}

// evidenceLab is a lab with a guest that was pushed with a log entry.
func evidenceLab(t *testing.T) *lab {
	t.Helper()
	l := newLab(t, newSim(t, pvesim.Options{}))
	l.files["cluster.yaml"] = clusterYAML
	l.files["web.yaml"] = vmYAML("web-1", 201, "cpu: {cores: 1}")
	l.push("offline", alice)
	if r := l.once(); !r.Converged {
		t.Fatalf("got %+v, want it converged", r.Source)
	}
	return l
}

func (l *lab) bundle(o *sigtest.Online) []byte {
	l.Helper()
	text, err := o.Bundle()
	l.ok(err)
	return text
}

func (l *lab) note(about string, text []byte) { l.repo.Note(evidence.NotesRef, about, text) }

// storedNotes reports whether the agent's repository has notes.
func (l *lab) storedNotes() bool {
	repo, err := gitsource.OpenRepository(filepath.Join(l.state, "repository"))
	l.ok(err)
	_, err = repo.Notes(l.Context(), evidence.NotesRef)
	return err == nil
}

func (l *lab) wantCores(want string) {
	l.Helper()
	if got := l.sim.Value(201, "cores"); got != want {
		l.Errorf("got %s cores, want %s", got, want)
	}
}

// wantInForce expects a commit in force, with or without another one that waits or is refused.
func (l *lab) wantInForce(r report.Report, commit, waiting, refused string) {
	l.Helper()
	got := [3]string{}
	if r.Source.Accepted != nil {
		got[0] = r.Source.Accepted.Commit
	}
	if w := r.Source.Waiting; w != nil {
		got[1] = w.Reason
	}
	if f := r.Source.Refused; f != nil {
		got[2] = f.Reason
	}
	if want := [3]string{commit, waiting, refused}; got != want || !r.Writes.Allowed {
		l.Errorf("got %q and writes %+v, want %q and writes", got, r.Writes, want)
	}
}

// TestOnlineModeWithNotes: a commit of the online mode waits for its evidence, comes into force with it, and stays in force whatever happens to the notes.
func TestOnlineModeWithNotes(t *testing.T) {
	t.Parallel()
	l := evidenceLab(t)
	before := l.repo.Tip
	tip, logged := l.pushOnline("2", sigtest.SignOptions{})
	r := l.once()
	l.wantInForce(r, before, "evidence-missing", "")
	l.wantCores("1")
	if w := r.Source.Waiting; r.Converged || w.Commit != tip || !strings.Contains(w.Problem, "the remote has no notes") || !strings.Contains(w.Hint, "evidence fetch") {
		t.Errorf("got %+v, want it to wait for the notes, with the remedy", w)
	}

	l.note(tip, l.bundle(logged))
	r = l.once()
	l.wantInForce(r, tip, "", "")
	l.wantCores("2")
	state, err := journal.ReadState(filepath.Join(l.state, "journal"))
	l.ok(err)
	if want := (journal.Evidence{Commit: tip, Bundle: string(l.bundle(logged))}); state.Evidence == nil || *state.Evidence != want {
		t.Errorf("got evidence %+v in the journal, want %+v", state.Evidence, want)
	}

	for name, change := range map[string]func(){
		"replaced": func() { l.note(tip, []byte("{}")) },
		"removed":  func() { l.repo.Git(nil, "update-ref", "-d", evidence.NotesRef) },
		"lost":     func() { l.ok(os.RemoveAll(filepath.Join(l.state, "repository"))) },
		"another": func() {
			again := *logged
			l.ok(l.sig.AddOnline(&again, time.Now().Add(-time.Minute)))
			l.note(tip, l.bundle(&again))
		},
	} {
		change()
		l.trust(alice, olga) // the policy changes too
		r := l.once()
		l.wantInForce(r, tip, "", "")
		if !r.Converged {
			t.Errorf("%s: got %+v, want it converged", name, r.Source)
		}
	}

	l.files["web.yaml"] = vmYAML("web-1", 201, "cpu: {cores: 3}")
	l.push("offline again", alice)
	l.wantInForce(l.once(), l.repo.Tip, "", "")
	l.wantCores("3")
	if state, err = journal.ReadState(filepath.Join(l.state, "journal")); err != nil || state.Evidence != nil {
		t.Errorf("got evidence %+v, %v of a commit with a log entry, want none", state.Evidence, err)
	}
}

// TestEarliestTimeCounts: of several entries in the notes, the revision has the time of the earliest.
func TestEarliestTimeCounts(t *testing.T) {
	t.Parallel()
	l := evidenceLab(t)
	signed := time.Now().Add(-time.Minute).Truncate(time.Second)
	tip, logged := l.pushOnline("2", sigtest.SignOptions{At: signed, LoggedAt: signed.Add(time.Second)})
	again := *logged
	l.ok(l.sig.AddOnline(&again, signed.Add(30*time.Second)))
	l.note(tip, bytes.Join([][]byte{[]byte("{}"), l.bundle(&again), l.bundle(logged)}, []byte("\n")))
	r := l.once()
	l.wantInForce(r, tip, "", "")
	if got, want := r.Source.Accepted.ProvenTime, signed.Add(time.Second); !got.Equal(want) {
		t.Errorf("got the proven time %s, want %s", got, want)
	}
}

// TestNotesAreNotFetchedInVain: commits with a log entry need no notes, so the agent does not fetch them.
func TestNotesAreNotFetchedInVain(t *testing.T) {
	t.Parallel()
	l := evidenceLab(t)
	l.note(l.repo.Tip, []byte("{}"))
	l.files["web.yaml"] = vmYAML("web-1", 201, "cpu: {cores: 2}")
	l.push("offline", alice)
	l.wantInForce(l.once(), l.repo.Tip, "", "")
	if l.storedNotes() {
		t.Error("got notes, want none while no commit needs them")
	}
	tip, logged := l.pushOnline("3", sigtest.SignOptions{})
	l.note(tip, l.bundle(logged))
	l.wantInForce(l.once(), tip, "", "")
	if !l.storedNotes() {
		t.Error("got no notes, want those that the commit needed")
	}
}

// TestHostileNotes: whatever the notes are, a commit of the online mode is not accepted without its right evidence, and a commit with a log entry is
// accepted.
func TestHostileNotes(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		notes                    func(l *lab, tip string, logged *sigtest.Online)
		waiting, refused, detail string
	}{
		"no_notes":       {notes: func(*lab, string, *sigtest.Online) {}, waiting: "evidence-missing"},
		"another_object": {notes: func(l *lab, tip string, o *sigtest.Online) { l.note(tip+"^", l.bundle(o)) }, waiting: "evidence-missing"},
		"empty":          {notes: func(l *lab, tip string, _ *sigtest.Online) { l.note(tip, nil) }, waiting: "evidence-missing"},
		"text":           {notes: func(l *lab, tip string, _ *sigtest.Online) { l.note(tip, []byte("evidence")) }, refused: "bad-evidence"},
		"huge_note": {notes: func(l *lab, tip string, o *sigtest.Online) {
			l.note(tip, append(bytes.Repeat([]byte("\n"), 70<<10), l.bundle(o)...))
		}, refused: "bad-evidence"},
		"many_bundles": {notes: func(l *lab, tip string, o *sigtest.Online) {
			l.note(tip, append(bytes.Repeat([]byte("{}\n"), 8), l.bundle(o)...))
		}, refused: "bad-evidence"},
		"altered":   {notes: func(l *lab, tip string, o *sigtest.Online) { o.Entry.IntegratedTime--; l.note(tip, l.bundle(o)) }, refused: "bad-log-entry"},
		"signature": {notes: func(l *lab, tip string, o *sigtest.Online) { o.Signature[9] ^= 1; l.note(tip, l.bundle(o)) }, refused: "bad-signature"},
		"foreign_log": {notes: func(l *lab, tip string, o *sigtest.Online) {
			other, err := sigtest.New(sigtest.Options{Name: "other", CAKey: sigtest.P256})
			l.ok(err)
			l.ok(other.AddOnline(o, time.Now()))
			l.note(tip, l.bundle(o))
		}, refused: "untrusted-log"},
		"swapped": {notes: func(l *lab, tip string, _ *sigtest.Online) {
			_, other, err := l.sig.CommitOnline(sigtest.CommitSpec{Message: "another"}, alice, sigtest.SignOptions{})
			l.ok(err)
			l.note(tip, l.bundle(other))
		}, refused: "bad-evidence"},
		"branch_as_notes": {notes: func(l *lab, tip string, _ *sigtest.Online) { l.repo.Git(nil, "update-ref", evidence.NotesRef, tip) }, waiting: "evidence-missing"},
		"tree_as_notes": {notes: func(l *lab, tip string, _ *sigtest.Online) {
			l.repo.Git(nil, "update-ref", evidence.NotesRef, tip+"^{tree}")
		}, waiting: "evidence-missing", detail: "fetch notes"},
		"missing_objects": {notes: func(l *lab, tip string, o *sigtest.Online) {
			l.note(tip, l.bundle(o))
			blob := strings.TrimSpace(l.repo.Git(nil, "rev-parse", evidence.NotesRef+":"+tip))
			l.ok(os.Remove(filepath.Join(l.repo.Dir, "objects", blob[:2], blob[2:])))
		}, waiting: "evidence-missing", detail: "fetch notes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := evidenceLab(t)
			before := l.repo.Tip
			tip, logged := l.pushOnline("2", sigtest.SignOptions{})
			right := l.bundle(logged)
			row.notes(l, tip, logged)
			r := l.once()
			l.wantInForce(r, before, row.waiting, row.refused)
			l.wantCores("1")
			if row.detail != "" && !strings.Contains(r.Source.Waiting.Problem, row.detail) {
				t.Errorf("got %q, want %q", r.Source.Waiting.Problem, row.detail)
			}

			l.repo.SetMain(before) // a commit that needs no notes
			l.repo.Tip = before
			l.files["web.yaml"] = vmYAML("web-1", 201, "cpu: {cores: 4}")
			offline := l.push("offline", alice)
			l.wantInForce(l.once(), offline, "", "")
			l.wantCores("4")

			again, logged := l.pushOnline("5", sigtest.SignOptions{}) // the right notes help
			l.repo.Git(nil, "update-ref", "-d", evidence.NotesRef)
			l.note(again, l.bundle(logged))
			l.note(tip, right)
			l.wantInForce(l.once(), again, "", "")
			l.wantCores("5")
		})
	}
}

// TestWaitingGoesOn: a running agent reports the wait once, keeps its beginning, and accepts the revision when the notes come.
func TestWaitingGoesOn(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		events := &eventLog{}
		l.opts.Logger = slog.New(events)
		l.files["web.yaml"] = vmYAML("web-1", 201, "cpu: {cores: 1}")
		l.push("offline", alice)
		stop := l.start()
		defer stop()
		time.Sleep(5 * time.Minute)
		tip, logged := l.pushOnline("2", sigtest.SignOptions{})
		time.Sleep(20 * time.Minute)
		first := l.engine.Report().Source.Waiting
		time.Sleep(time.Hour)
		last := l.engine.Report().Source.Waiting
		if first == nil || last == nil || !first.Since.Equal(last.Since) || l.engine.Report().Converged {
			t.Fatalf("got %+v and later %+v, want one wait", first, last)
		}
		if lines := events.of("revision.waiting"); len(lines) != 1 || lines[0].attrs["commit"] != tip {
			t.Errorf("got %+v, want one line", lines)
		}
		l.note(tip, l.bundle(logged))
		time.Sleep(20 * time.Minute)
		r := l.engine.Report()
		l.wantInForce(r, tip, "", "")
		if !r.Converged {
			t.Errorf("got %+v, want it converged", r.Source)
		}
	})
}

// askLog lets the agent ask a log. The function returns the number of requests since it was called last.
func (l *lab) askLog() (requests func() int64) {
	l.Helper()
	var count atomic.Int64
	serve := sigtest.RekorServer(func() (*sigtest.Sigstore, error) { return l.sig, nil })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		count.Add(1)
		serve.ServeHTTP(w, r)
	}))
	l.Cleanup(server.Close)
	l.log = &evidence.Client{URL: server.URL}
	return func() int64 { return count.Swap(0) }
}

// TestOnlineModeWithLog: with trust.rekor_url the agent asks the log, but only about commits that nothing else can prove.
func TestOnlineModeWithLog(t *testing.T) {
	t.Parallel()
	l := evidenceLab(t)
	requests := l.askLog()
	l.files["web.yaml"] = vmYAML("web-1", 201, "cpu: {cores: 2}")
	l.push("offline", alice)
	l.wantInForce(l.once(), l.repo.Tip, "", "")
	if n := requests(); n != 0 {
		t.Errorf("got %d requests about a commit with a log entry, want none", n)
	}
	tip, logged := l.pushOnline("3", sigtest.SignOptions{})
	l.note(tip, l.bundle(logged))
	l.wantInForce(l.once(), tip, "", "")
	if n := requests(); n != 0 {
		t.Errorf("got %d requests about a commit with a note, want none", n)
	}

	tip, _ = l.pushOnline("4", sigtest.SignOptions{})
	l.wantInForce(l.once(), tip, "", "")
	l.wantCores("4")
	if n := requests(); n != 2 {
		t.Errorf("got %d requests, want a search and an entry", n)
	}
	l.trust(alice)
	l.wantInForce(l.once(), tip, "", "")
	if n := requests(); n != 0 {
		t.Errorf("got %d requests about the accepted revision, want none: its evidence is in the journal", n)
	}

	tip, logged = l.pushOnline("5", sigtest.SignOptions{})
	logged.Signature[9] ^= 1
	l.note(tip, l.bundle(logged)) // forged notes do not hide what the log knows
	l.wantInForce(l.once(), tip, "", "")
	l.wantCores("5")

	requests()
	before := l.repo.Tip
	l.files["web.yaml"] = vmYAML("web-1", 201, "cpu: {cores: 6}")
	l.repo.PushOnline(l.sig, alice, "bad signature", sigtest.SignOptions{Mutate: []sigtest.Mutation{sigtest.FlipSignature}})
	l.wantInForce(l.once(), before, "", "bad-signature")
	if n := requests(); n != 0 {
		t.Errorf("got %d requests about a commit with a bad signature, want none", n)
	}
	l.repo.SetMain(before)
	l.repo.Tip = before
	other, err := sigtest.New(labSigstore)
	l.ok(err)
	l.repo.PushOnline(other, alice, "logged elsewhere", sigtest.SignOptions{})
	r := l.once()
	l.wantInForce(r, before, "evidence-missing", "")
	if w := r.Source.Waiting; w == nil || !strings.Contains(w.Problem, "the log has no entry of "+w.Commit) {
		t.Errorf("got %+v, want the log named", w)
	}
}
