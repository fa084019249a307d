package verify_test

import (
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/internal/sigtest"
	"gitops-agent/verify"
)

// untilAlice ends the trust in alice at the given time and adds bob as a signer.
func untilAlice(until time.Time) func(*verify.Options) {
	return func(o *verify.Options) {
		o.Signers[0].Until = until
		o.Signers = append(o.Signers, verify.Signer{Name: "bob", Issuer: bob.Issuer, Subject: bob.Subject, May: []verify.Role{verify.RoleChange}})
	}
}

// TestCheckRemovedSigner: commits that a person signed before leaving stay valid at any later time. Later commits of that
// person are refused, also below commits of other signers.
func TestCheckRemovedSigner(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	p := s.policy(untilAlice(s.now.Add(time.Second)))
	byBob := s.on(s.next)
	byBob.by = bob
	tip := s.commit(byBob)
	s.testRepo.accepted(p, tip, s.base)
	s.testRepo.accepted(p, s.next, verify.Base{Commit: s.next, ProvenTime: s.now})

	late := s.commit(s.on(tip))
	s.refused(p, late, s.base, verify.ReasonOutsideWindow, late)
	byBob.parents = []gitsource.ID{late}
	s.refused(p, s.commit(byBob), s.base, verify.ReasonOutsideWindow, late)
}

// TestCheckLeakedIdentity: alice's key leaked and was used while she was trusted. The log proves that old time, so her
// window does not refuse the commit. Its place in the history does. Before bob's commit is accepted, only the deny list does.
func TestCheckLeakedIdentity(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	leak := s.now
	byBob := s.on(s.next)
	byBob.by, byBob.sign.At = bob, leak.Add(time.Hour)
	current := s.commit(byBob)
	p := s.policy(untilAlice(leak.Add(time.Second)))
	base := verify.Base{Commit: current, ProvenTime: leak.Add(time.Hour)}
	s.testRepo.accepted(p, current, s.base)

	forged := draft{tree: s.tree("web.yaml=evil"), parents: []gitsource.ID{current}, sign: sigtest.SignOptions{At: leak}}
	onTop := s.commit(forged)
	s.refused(p, onTop, base, verify.ReasonTimeWentBack, onTop)
	forged.parents = []gitsource.ID{s.next}
	beside := s.commit(forged)
	s.refused(p, beside, base, verify.ReasonNotDescendant, beside)

	s.testRepo.accepted(p, beside, s.base) // an agent that has not seen bob's commit cannot detect the forgery
	log := p.Audit(t.Context(), s.repo, beside).LogIndex
	s.refused(s.policy(untilAlice(leak.Add(time.Second)), func(o *verify.Options) { o.Deny.LogIndexes = []int64{log} }),
		beside, s.base, verify.ReasonDenied, beside)
}

// TestCheckOtherRepository: signatures do not name the repository, so the history decides.
func TestCheckOtherRepository(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	other := s.commit(draft{tree: s.tree("other.yaml=1")})
	s.refused(s.policy(), other, s.base, verify.ReasonNotDescendant, other)
	anchored := s.policy(func(o *verify.Options) { o.Anchor, o.TrustOnFirstUse = s.accepted, false })
	s.refused(anchored, other, verify.Base{}, verify.ReasonMissingAnchor, other)
	s.testRepo.accepted(s.policy(), other, verify.Base{}) // on first use the first signed tip is accepted
}

// TestCheckFreezeIsNotDetected: a remote that keeps serving an old tip serves a valid state. Only the age of the last new
// commit shows the freeze, by metrics and alerts.
func TestCheckFreezeIsNotDetected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestHistory(t)
		p := s.policy()
		base := verify.Base{Commit: s.next, ProvenTime: s.now}
		for range 5 {
			time.Sleep(365 * 24 * time.Hour)
			s.testRepo.accepted(p, s.next, base)
		}
	})
}

// TestClockIsNotUsed verifies with a clock that is decades behind every signature, and with one that is decades ahead.
// Verdicts, reasons and proven times do not depend on the clock.
func TestClockIsNotUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestHistory(t)
		d := s.on(s.next)
		d.sign = sigtest.SignOptions{At: s.now, LoggedAt: s.now.Add(time.Hour)}
		expired := s.commit(d)
		window := s.policy(onlySigner(signer(func(v *verify.Signer) { v.From = s.now.Add(time.Second) })))
		for _, jump := range []time.Duration{0, 80 * 365 * 24 * time.Hour} {
			time.Sleep(jump)
			if year := time.Now().Year(); year > noon.Year()-20 && year < noon.Year()+20 {
				t.Fatalf("the clock is in %d, which is near the signatures", year)
			}
			p := s.policy(func(o *verify.Options) { o.NotBefore = s.now })
			if got := s.testRepo.accepted(p, s.next, s.base); !got.ProvenTime().Equal(s.now) {
				t.Errorf("proven time: got %v, want %v", got.ProvenTime(), s.now)
			}
			s.refused(p, expired, s.base, verify.ReasonExpiredCertificate, expired)
			s.refused(window, s.next, s.base, verify.ReasonOutsideWindow, s.next)
		}
	})
}
