package verify_test

import (
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/internal/sigtest"
	"gitops-agent/verify"
)

// untilAlice ends the trust in alice and leaves bob to go on.
func untilAlice(until time.Time) func(*verify.Options) {
	return func(o *verify.Options) {
		o.Signers[0].Until = until
		o.Signers = append(o.Signers, verify.Signer{Name: "bob", Issuer: bob.Issuer, Subject: bob.Subject, May: []verify.Role{verify.RoleChange}})
	}
}

// TestCheckRemovedSigner: what somebody signed before leaving stays good, whoever asks and whenever; what comes after does
// not, also when others have gone on by then.
func TestCheckRemovedSigner(t *testing.T) {
	s := newStory(t)
	p := s.policy(untilAlice(s.now.Add(time.Second)))
	byBob := s.on(s.next)
	byBob.by = bob
	tip := s.commit(byBob)
	s.lab.accepted(p, tip, s.base)
	s.lab.accepted(p, s.next, verify.Base{Commit: s.next, ProvenTime: s.now})

	late := s.commit(s.on(tip))
	s.refused(p, late, s.base, verify.ReasonOutsideWindow, late)
	byBob.parents = []gitsource.ID{late}
	s.refused(p, s.commit(byBob), s.base, verify.ReasonOutsideWindow, late)
}

// TestCheckLeakedIdentity: alice's key leaked and was used while she was trusted. The log proves that old time for good, so
// the window cannot tell; the place in history does, or where the forger was quick, the deny list.
func TestCheckLeakedIdentity(t *testing.T) {
	s := newStory(t)
	leak := s.now
	byBob := s.on(s.next)
	byBob.by, byBob.sign.At = bob, leak.Add(time.Hour)
	current := s.commit(byBob)
	p := s.policy(untilAlice(leak.Add(time.Second)))
	base := verify.Base{Commit: current, ProvenTime: leak.Add(time.Hour)}
	s.lab.accepted(p, current, s.base)

	forged := draft{tree: s.tree("web.yaml=evil"), parents: []gitsource.ID{current}, sign: sigtest.SignOptions{At: leak}}
	onTop := s.commit(forged)
	s.refused(p, onTop, base, verify.ReasonTimeWentBack, onTop)
	forged.parents = []gitsource.ID{s.next}
	beside := s.commit(forged)
	s.refused(p, beside, base, verify.ReasonNotDescendant, beside)

	s.lab.accepted(p, beside, s.base) // an agent that has not seen bob's commit cannot tell
	log := p.Audit(t.Context(), s.repo, beside).LogIndex
	s.refused(s.policy(untilAlice(leak.Add(time.Second)), func(o *verify.Options) { o.Deny.LogIndexes = []int64{log} }),
		beside, s.base, verify.ReasonDenied, beside)
}

// TestCheckOtherRepository: signatures say nothing about the repository, so history must.
func TestCheckOtherRepository(t *testing.T) {
	s := newStory(t)
	other := s.commit(draft{tree: s.tree("other.yaml=1")})
	s.refused(s.policy(), other, s.base, verify.ReasonNotDescendant, other)
	anchored := s.policy(func(o *verify.Options) { o.Anchor, o.TrustOnFirstUse = s.accepted, false })
	s.refused(anchored, other, verify.Base{}, verify.ReasonMissingAnchor, other)
	s.lab.accepted(s.policy(), other, verify.Base{}) // on first use, whatever comes first is taken
}

// TestCheckFreezeIsNotSeen: a remote that keeps serving an old tip serves something true. What tells is the age of the last
// news, which is a matter of metrics and alerts.
func TestCheckFreezeIsNotSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t)
		p := s.policy()
		base := verify.Base{Commit: s.next, ProvenTime: s.now}
		for range 5 {
			time.Sleep(365 * 24 * time.Hour)
			s.lab.accepted(p, s.next, base)
		}
	})
}

// TestClockHasNoSay verifies under a clock that is decades behind every signature, and decades ahead. Verdicts, reasons and
// proven times are those of the signatures.
func TestClockHasNoSay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t)
		d := s.on(s.next)
		d.sign = sigtest.SignOptions{At: s.now, LoggedAt: s.now.Add(time.Hour)}
		expired := s.commit(d)
		window := s.policy(onlySigner(signer(func(v *verify.Signer) { v.From = s.now.Add(time.Second) })))
		for _, jump := range []time.Duration{0, 80 * 365 * 24 * time.Hour} {
			time.Sleep(jump)
			if year := time.Now().Year(); year > noon.Year()-20 && year < noon.Year()+20 {
				t.Fatalf("the clock says %d, which is near the signatures", year)
			}
			p := s.policy(func(o *verify.Options) { o.NotBefore = s.now })
			if got := s.lab.accepted(p, s.next, s.base); !got.ProvenTime().Equal(s.now) {
				t.Errorf("proven time: got %v, want %v", got.ProvenTime(), s.now)
			}
			s.refused(p, expired, s.base, verify.ReasonExpiredCertificate, expired)
			s.refused(window, s.next, s.base, verify.ReasonOutsideWindow, s.next)
		}
	})
}
