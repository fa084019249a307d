package intake

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"gitops-agent/gitsource"
	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

// refusing is an intake above whose revision in force commits are refused.
type refusing struct {
	*accepting
	verified, known int // verifications, and refusals that were known
}

func newRefusing(t testing.TB) *refusing {
	t.Helper()
	r := &refusing{accepting: newAccepting(t)}
	r.opts.Hooks.OnVerify = func(o report.VerifyOutcome) {
		if o.Known {
			r.known++
		} else {
			r.verified++
		}
	}
	r.restart()
	r.poll()
	r.verified = 0
	return r
}

// restart stands for a new process, or for a changed configuration.
func (r *refusing) restart() { r.intake = New(r.opts) }

// unsigned pushes commits without a signature.
func (r *refusing) unsigned(count int) {
	r.Helper()
	tree, parent := r.repo.Tree(), r.repo.Tip
	for i := range count {
		raw := fmt.Appendf(nil, "tree %s\nparent %s\nauthor M <m@evil.test> 1700000000 +0000\ncommitter M <m@evil.test> 1700000000 +0000\n\ncommit %d\n", tree, parent, i)
		parent = sigtest.ObjectID("commit", raw)
		r.repo.Place(raw, parent)
	}
}

// refused polls, and expects a reason and a number of verifications since the last poll.
func (r *refusing) refused(what, reason string, verified int) {
	r.Helper()
	r.verified = 0
	p := r.intake.Poll(r.Context())
	switch {
	case p.Err != nil || p.Refusal == nil || p.Refusal.Reason != reason || p.Refusal.Commit != r.repo.Tip:
		r.Errorf("%s: got %v, %+v, want the head refused for the reason %s", what, p.Err, p.Refusal, reason)
	case p.Refusal.Since != p.At:
		r.Errorf("%s: got a refusal at %s of a poll at %s", what, p.Refusal.Since, p.At)
	}
	if r.verified != verified {
		r.Errorf("%s: got %d verifications, want %d", what, r.verified, verified)
	}
}

// TestRefusedHeadIsNotVerifiedAgain polls unsigned commits until something changes that decides about them.
func TestRefusedHeadIsNotVerifiedAgain(t *testing.T) {
	t.Parallel()
	r := newRefusing(t)
	r.opts.Note = RewriteNote{Dir: t.TempDir()}
	r.restart()
	r.intake.Resume(t.Context())
	r.unsigned(20)
	r.refused("first poll", string(verify.ReasonUnsigned), 1)
	r.refused("second poll", string(verify.ReasonUnsigned), 0)
	r.refused("third poll", string(verify.ReasonUnsigned), 0)
	if r.known != 2 {
		t.Errorf("got %d polls that count a known refusal, want 2", r.known)
	}
	r.ok(r.opts.Journal.Append(t.Context(), journal.Writer{Number: 1, Nonce: "n"}))
	r.refused("after a record of the journal", string(verify.ReasonUnsigned), 0)

	r.unsigned(1)
	r.refused("another head", string(verify.ReasonUnsigned), 1)
	r.refused("another head again", string(verify.ReasonUnsigned), 0)

	other := *r.policy
	r.policy = &other
	r.refused("another policy", string(verify.ReasonUnsigned), 2) // that of the revision in force, too
	r.refused("another policy again", string(verify.ReasonUnsigned), 0)

	r.ok(r.opts.Note.Write(gitsource.ID(r.repo.Tip)))
	r.refused("allowed as a rewrite", string(verify.ReasonUnsigned), 1)
	r.refused("allowed as a rewrite, again", string(verify.ReasonUnsigned), 0)

	r.restart()
	r.refused("after a restart", string(verify.ReasonUnsigned), 2)

	r.repo.SetMain(string(r.intake.InForce().Accepted.Revision().Commit()))
	if p := r.intake.Poll(t.Context()); p.Refusal != nil || p.Err != nil {
		t.Errorf("got %+v, want the revision in force at the head", p)
	}
}

// TestRefusedManifestsDependOnTheJournal: what guests got a vmid, and which policies are in force, decides too.
func TestRefusedManifestsDependOnTheJournal(t *testing.T) {
	t.Parallel()
	r := newRefusing(t)
	r.repo.Files["web.yaml"] = "kind: Nothing\n"
	r.repo.Push(r.sig, alice, "not a manifest")
	r.refused("first poll", report.RefusedManifests, 1)
	r.refused("second poll", report.RefusedManifests, 0)
	r.ok(r.opts.Journal.Append(t.Context(), journal.Writer{Number: 1, Nonce: "n"}))
	r.refused("after a record of the journal", report.RefusedManifests, 1)
	r.refused("after that", report.RefusedManifests, 0)
	r.repo.Files["web.yaml"] = twoGuests
	r.repo.Push(r.sig, alice, "two guests again")
	r.poll()
}

// changingEvidence is what a log knows, which may be another thing at each poll.
type changingEvidence struct{ asked int }

func (e *changingEvidence) Sources(gitsource.ID) []verify.Evidence { return []verify.Evidence{e} }
func (e *changingEvidence) Problem() error                         { return nil }

func (e *changingEvidence) Bundles(context.Context, gitsource.ID) ([]byte, error) {
	e.asked++
	return []byte("no bundle\n"), nil
}

// TestRefusalByEvidenceIsNotRemembered refuses a head because of evidence, which may be good at the next poll.
func TestRefusalByEvidenceIsNotRemembered(t *testing.T) {
	t.Parallel()
	r := newRefusing(t)
	evidence := &changingEvidence{}
	r.opts.Evidence = evidence
	r.restart()
	r.intake.Resume(t.Context())
	r.repo.PushOnline(r.sig, alice, "online", sigtest.SignOptions{})
	r.refused("first poll", string(verify.ReasonBadEvidence), 1)
	r.refused("second poll", string(verify.ReasonBadEvidence), 1)
	if evidence.asked != 2 {
		t.Errorf("got %d questions for evidence, want one at each poll", evidence.asked)
	}
}

// TestOutageIsNotRemembered: a commit that is missing may be there after the next fetch, and an error of the disk may be over.
func TestOutageIsNotRemembered(t *testing.T) {
	t.Parallel()
	none := &askedFor{}
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"unsigned":   {&verify.RejectedError{Reason: verify.ReasonUnsigned}, true},
		"wrapped":    {fmt.Errorf("since the floor: %w", &verify.RejectedError{Reason: verify.ReasonUnsigned}), true},
		"incomplete": {&verify.RejectedError{Reason: verify.ReasonIncompleteHistory}, false},
		"manifests":  {&RefusedError{Reason: report.RefusedManifests}, true},
		"statement":  {&StatementMissingError{}, false},
		"floor":      {&FloorError{errors.New("timeout")}, false},
		"policy":     {&PolicyError{errors.New("no such file")}, false},
		"disk":       {errors.New("read commit: input/output error"), false},
		"none":       {nil, false},
	} {
		if got := isLasting(test.err, none); got != test.want {
			t.Errorf("%s: got %t, want %t", name, got, test.want)
		}
	}
}

// BenchmarkIdlePoll measures a poll without anything new: at the revision in force, and below refused commits. It reports the processor time.
func BenchmarkIdlePoll(b *testing.B) {
	for name, count := range map[string]int{"in_force": 0, "900_unsigned": 900} {
		b.Run(name, func(b *testing.B) {
			r := newRefusing(b)
			r.unsigned(count)
			r.intake.Poll(b.Context())
			before := processorTime(b)
			for b.Loop() {
				r.intake.Poll(b.Context())
			}
			b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

func processorTime(b *testing.B) int64 {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}
