package verify_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/asn1"
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/internal/sigtest"
	"gitops-agent/verify"
)

// evidence is what a verifier gets about every object.
type evidence []byte

func (e evidence) Bundles(context.Context, gitsource.ID) ([]byte, error) { return e, nil }

// unreadable is evidence that cannot be read.
type unreadable struct{ error }

func (u unreadable) Bundles(context.Context, gitsource.ID) ([]byte, error) { return nil, u.error }

// online stores a commit of gitsign's online mode, and returns what was logged of it.
func (l *testRepo) online(d draft) (gitsource.ID, *sigtest.Online) {
	l.Helper()
	d = l.complete(d)
	raw, logged, err := l.sig.CommitOnline(d.spec(), d.by, d.sign)
	if err != nil {
		l.Fatal(err)
	}
	return l.object("commit", raw), logged
}

// bundle returns what was logged as a bundle.
func (l *testRepo) bundle(o *sigtest.Online) []byte {
	l.Helper()
	text, err := o.Bundle()
	if err != nil {
		l.Fatal(err)
	}
	return text
}

// relogged logs a changed copy of o, and returns it as a bundle.
func (l *testRepo) relogged(o sigtest.Online, at time.Time) []byte {
	l.Helper()
	if err := l.sig.AddOnline(&o, at); err != nil {
		l.Fatal(err)
	}
	return l.bundle(&o)
}

// onlineRepo is a repository with a commit of the online mode.
type onlineRepo struct {
	*testRepo
	key *ecdsa.PrivateKey // of the commit's certificate
}

// another makes a commit whose certificate has the same key.
func (l *onlineRepo) another() *sigtest.Online {
	l.Helper()
	_, logged := l.online(draft{tree: l.tree("web.yaml=9"), sign: sigtest.SignOptions{At: noon, Certificate: func(c *sigtest.Certificate) { c.Key = l.key }}})
	return logged
}

// A bundleRow is evidence about a commit of the online mode that is right except for the change of the row.
type bundleRow struct {
	sign   sigtest.SignOptions
	edit   func(l *onlineRepo, o *sigtest.Online) []byte // makes the evidence; nil is the right one
	json   func(l *testRepo, bundle map[string]any)      // changes the JSON of the right evidence
	policy func(l *testRepo, options *verify.Options)
	want   verify.Reason // "" means accepted
}

// field returns the object at a path of JSON.
func field(bundle map[string]any, path ...string) map[string]any {
	for _, key := range path {
		switch next := bundle[key].(type) {
		case map[string]any:
			bundle = next
		case []any:
			bundle = next[0].(map[string]any) //nolint:forcetypeassert // of a bundle
		}
	}
	return bundle
}

func entryOf(bundle map[string]any) map[string]any {
	return field(bundle, "verificationMaterial", "tlogEntries")
}

func (r bundleRow) verdict(t *testing.T) verify.Verdict {
	t.Helper()
	l := newTestRepo(t)
	l.online(draft{tree: l.tree("web.yaml=1")}) // so that the log is not empty
	d := draft{tree: l.tree("web.yaml=2"), sign: r.sign}
	if d.sign.At.IsZero() {
		d.sign.At = noon
	}
	changed := &onlineRepo{testRepo: l}
	d.sign.Certificate = func(c *sigtest.Certificate) { changed.key = c.Key }
	id, logged := l.online(d)
	text := l.bundle(logged)
	if r.edit != nil {
		text = r.edit(changed, logged)
	}
	if r.json != nil {
		var bundle map[string]any
		if err := json.Unmarshal(text, &bundle); err != nil {
			t.Fatal(err)
		}
		r.json(l, bundle)
		var err error
		if text, err = json.Marshal(bundle); err != nil {
			t.Fatal(err)
		}
	}
	p := l.policy(func(o *verify.Options) {
		if r.policy != nil {
			r.policy(l, o)
		}
	})
	return p.WithEvidence(evidence(text)).Audit(t.Context(), l.repo, id)
}

// TestEvidence has evidence that is accepted and every way in which it can be wrong.
func TestEvidence(t *testing.T) {
	t.Parallel()
	rows := map[string]bundleRow{
		"right": {},
		"two_lines": {edit: func(l *onlineRepo, o *sigtest.Online) []byte {
			return append(append(l.bundle(o), '\n'), l.bundle(o)...)
		}},
		"wrong_one_before": {edit: func(l *onlineRepo, o *sigtest.Online) []byte {
			return append([]byte("{}\n"), l.bundle(o)...)
		}},
		"missing":     {edit: func(*onlineRepo, *sigtest.Online) []byte { return nil }, want: verify.ReasonEvidenceMissing},
		"empty_lines": {edit: func(*onlineRepo, *sigtest.Online) []byte { return []byte("\n\n \n") }, want: verify.ReasonEvidenceMissing},
		"too_long": {edit: func(l *onlineRepo, o *sigtest.Online) []byte {
			return append(l.bundle(o), bytes.Repeat([]byte("\n"), verify.MaxEvidence)...)
		}, want: verify.ReasonBadEvidence},
		"too_many": {edit: func(l *onlineRepo, o *sigtest.Online) []byte {
			return append(bytes.Repeat([]byte("{}\n"), 8), l.bundle(o)...)
		}, want: verify.ReasonBadEvidence},
		"not_json":      {edit: func(*onlineRepo, *sigtest.Online) []byte { return []byte("evidence") }, want: verify.ReasonBadEvidence},
		"unknown_field": {json: func(_ *testRepo, b map[string]any) { b["more"] = 1 }, want: verify.ReasonBadEvidence},
		"media_type": {json: func(_ *testRepo, b map[string]any) {
			b["mediaType"] = "application/vnd.dev.sigstore.bundle.v0.2+json"
		}, want: verify.ReasonBadEvidence},
		"no_entry": {json: func(_ *testRepo, b map[string]any) { delete(field(b, "verificationMaterial"), "tlogEntries") }, want: verify.ReasonBadEvidence},
		"two_entries": {json: func(_ *testRepo, b map[string]any) {
			entry := entryOf(b)
			field(b, "verificationMaterial")["tlogEntries"] = []any{entry, entry}
		}, want: verify.ReasonBadEvidence},
		"timestamp": {json: func(_ *testRepo, b map[string]any) {
			field(b, "verificationMaterial")["timestampVerificationData"] = map[string]any{"rfc3161Timestamps": []any{map[string]any{"signedTimestamp": "MAA="}}}
		}, want: verify.ReasonBadEvidence},
		"digest_algorithm": {json: func(_ *testRepo, b map[string]any) {
			field(b, "messageSignature", "messageDigest")["algorithm"] = "SHA2_512"
		}, want: verify.ReasonBadEvidence},
		"another_digest": {json: func(_ *testRepo, b map[string]any) { field(b, "messageSignature", "messageDigest")["digest"] = "AAAA" }, want: verify.ReasonBadEvidence},
		"no_certificate": {json: func(_ *testRepo, b map[string]any) { delete(field(b, "verificationMaterial"), "certificate") }, want: verify.ReasonBadEvidence},
		"no_body":        {json: func(_ *testRepo, b map[string]any) { delete(entryOf(b), "canonicalizedBody") }, want: verify.ReasonBadEvidence},
		"label": {json: func(_ *testRepo, b map[string]any) {
			field(b, "verificationMaterial", "tlogEntries", "kindVersion")["version"] = "0.0.2"
		}, want: verify.ReasonBadEvidence},
		"another_object": {edit: func(l *onlineRepo, _ *sigtest.Online) []byte { return l.bundle(l.another()) }, want: verify.ReasonBadEvidence},
		"another_object_of_this_certificate": {edit: func(l *onlineRepo, o *sigtest.Online) []byte {
			other := l.another()
			other.Certificate = o.Certificate
			return l.relogged(*other, noon)
		}, want: verify.ReasonBadEvidence},
		"another_object_under_this_id": {edit: func(l *onlineRepo, o *sigtest.Online) []byte {
			other := l.another()
			other.Certificate = o.Certificate
			if err := l.sig.AddOnline(other, noon); err != nil {
				l.Fatal(err)
			}
			other.ID = o.ID
			return l.bundle(other)
		}, want: verify.ReasonBadSignature},
		"signature_of_another_object": {edit: func(l *onlineRepo, o *sigtest.Online) []byte {
			other := *o
			other.Signature = l.another().Signature
			return l.relogged(other, noon)
		}, want: verify.ReasonBadSignature},
		"another_certificate": {edit: func(l *onlineRepo, o *sigtest.Online) []byte {
			other := *o
			other.Certificate = l.another().Certificate
			return l.relogged(other, noon)
		}, want: verify.ReasonBadEvidence},
		"logged_with_another_certificate": {edit: func(l *onlineRepo, o *sigtest.Online) []byte {
			other := *o
			other.Certificate = l.another().Certificate
			if err := l.sig.AddOnline(&other, noon); err != nil {
				l.Fatal(err)
			}
			other.Certificate = o.Certificate
			return l.bundle(&other)
		}, want: verify.ReasonBadEvidence},
		"certificate_replaced": {edit: func(l *onlineRepo, o *sigtest.Online) []byte {
			other := *o
			other.Certificate = l.another().Certificate
			return l.bundle(&other)
		}, want: verify.ReasonBadEvidence},
		"signature_of_another_key": {edit: func(l *onlineRepo, o *sigtest.Online) []byte {
			_, foreign := l.online(draft{tree: l.tree("web.yaml=9")})
			other := *o
			other.Signature = foreign.Signature
			return l.relogged(other, noon)
		}, want: verify.ReasonBadSignature},
		"signature_flipped": {edit: func(l *onlineRepo, o *sigtest.Online) []byte {
			other := *o
			other.Signature = bytes.Clone(o.Signature)
			other.Signature[len(other.Signature)-1] ^= 1
			return l.bundle(&other)
		}, want: verify.ReasonBadSignature},
		"set_flipped": {edit: func(l *onlineRepo, o *sigtest.Online) []byte {
			o.Entry.InclusionPromise.SignedEntryTimestamp[10] ^= 1
			return l.bundle(o)
		}, want: verify.ReasonBadLogEntry},
		"set_removed": {edit: func(l *onlineRepo, o *sigtest.Online) []byte {
			o.Entry.InclusionPromise = nil
			return l.bundle(o)
		}, want: verify.ReasonBadLogEntry},
		"time_shifted": {edit: func(l *onlineRepo, o *sigtest.Online) []byte {
			o.Entry.IntegratedTime--
			return l.bundle(o)
		}, want: verify.ReasonBadLogEntry},
		"proof_hash": {edit: func(l *onlineRepo, o *sigtest.Online) []byte {
			o.Entry.InclusionProof.Hashes[0][0] ^= 1
			return l.bundle(o)
		}, want: verify.ReasonBadLogEntry},
		"proof_removed": {edit: func(l *onlineRepo, o *sigtest.Online) []byte {
			o.Entry.InclusionProof = nil
			return l.bundle(o)
		}, want: verify.ReasonBadLogEntry},
		"checkpoint": {edit: func(l *onlineRepo, o *sigtest.Online) []byte {
			c := o.Entry.GetInclusionProof().GetCheckpoint()
			c.Envelope = strings.Replace(c.GetEnvelope(), "\n\n", "\nmore\n\n", 1)
			return l.bundle(o)
		}, want: verify.ReasonBadLogEntry},
		"log_index": {edit: func(l *onlineRepo, o *sigtest.Online) []byte {
			o.Entry.LogIndex++
			return l.bundle(o)
		}, want: verify.ReasonBadLogEntry},
		"unknown_log": {edit: func(l *onlineRepo, o *sigtest.Online) []byte {
			if err := newSigstore(l, "other").AddOnline(o, noon); err != nil {
				l.Fatal(err)
			}
			return l.bundle(o)
		}, want: verify.ReasonUntrustedLog},
		"logged_after_expiry":     {edit: func(l *onlineRepo, o *sigtest.Online) []byte { return l.relogged(*o, noon.Add(time.Hour)) }, want: verify.ReasonExpiredCertificate},
		"logged_before":           {edit: func(l *onlineRepo, o *sigtest.Online) []byte { return l.relogged(*o, noon.Add(-time.Hour)) }, want: verify.ReasonExpiredCertificate},
		"foreign_authority":       {sign: sigtest.SignOptions{CA: sigtest.By(newSigstore(t, "other"))}, want: verify.ReasonUntrustedCertificate},
		"no_certificate_log":      {sign: sigtest.SignOptions{CTLog: sigtest.Absent()}, want: verify.ReasonNoCertificateLog},
		"signature_of_the_commit": {sign: sigtest.SignOptions{Mutate: []sigtest.Mutation{sigtest.FlipSignature}}, want: verify.ReasonBadSignature},
		"content":                 {sign: sigtest.SignOptions{Mutate: []sigtest.Mutation{sigtest.RewriteDigest([]byte("other"))}}, want: verify.ReasonContentMismatch},
		"timestamp_required":      {policy: func(_ *testRepo, o *verify.Options) { o.Timestamps = verify.TimestampRequired }, want: verify.ReasonOnlineOnly},
		"denied_index":            {policy: func(l *testRepo, o *verify.Options) { o.Deny.LogIndexes = []int64{1_000_006} }, want: verify.ReasonDenied},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantReason(t, row.verdict(t), row.want)
		})
	}
}

// TestEvidenceWithoutSource: a commit of the online mode is refused as before if the policy has no evidence.
func TestEvidenceWithoutSource(t *testing.T) {
	t.Parallel()
	l := newTestRepo(t)
	id, logged := l.online(draft{})
	if v := l.policy().Audit(t.Context(), l.repo, id); v.Reason != verify.ReasonOnlineOnly {
		t.Errorf("got %v, want online-only", v.Err)
	}
	failed := errors.New("no disk")
	if v := l.policy().WithEvidence(unreadable{failed}).Audit(t.Context(), l.repo, id); !errors.Is(v.Err, failed) || v.Reason != "" {
		t.Errorf("got %v with reason %q, want the error of the evidence and no reason", v.Err, v.Reason)
	}
	p := l.policy().WithEvidence(evidence(l.bundle(logged)))
	v := p.Audit(t.Context(), l.repo, id)
	if !v.Accepted || !v.ProvenTime.Equal(l.now) || v.LogIndex != logged.Entry.GetLogIndex() || v.Subject != alice.Subject {
		t.Errorf("got %+v, want it accepted with the time, index and signer of the evidence", v)
	}
	i, err := p.Identifier()
	if err != nil {
		t.Fatal(err)
	}
	if v := i.Audit(t.Context(), l.repo, id); v.Err != nil || v.Subject != alice.Subject {
		t.Errorf("got %+v, want the identity", v)
	}
}

// TestEvidenceOfSeveralSources: a source is asked only if those before it prove nothing, so whoever can write to one of them hides nothing in the others.
func TestEvidenceOfSeveralSources(t *testing.T) {
	t.Parallel()
	l := newTestRepo(t)
	id, logged := l.online(draft{sign: sigtest.SignOptions{At: noon, LoggedAt: noon.Add(time.Minute)}})
	right, wrong, none := evidence(l.bundle(logged)), evidence("{}"), evidence(nil)
	later := evidence(l.relogged(*logged, noon.Add(2*time.Minute)))
	failed := unreadable{errors.New("no disk")}
	for name, row := range map[string]struct {
		sources []verify.Evidence
		want    verify.Reason // "" means accepted
		at      time.Time
		err     error // nothing was decided
	}{
		"missing_first":     {sources: []verify.Evidence{none, right}, at: noon.Add(time.Minute)},
		"wrong_first":       {sources: []verify.Evidence{wrong, right}, at: noon.Add(time.Minute)},
		"first_of_two":      {sources: []verify.Evidence{later, right}, at: noon.Add(2 * time.Minute)},
		"not_asked":         {sources: []verify.Evidence{right, failed}, at: noon.Add(time.Minute)},
		"unreadable_first":  {sources: []verify.Evidence{failed, right}, err: failed.error},
		"wrong_and_missing": {sources: []verify.Evidence{none, wrong, none}, want: verify.ReasonBadEvidence},
		"all_missing":       {sources: []verify.Evidence{none, none}, want: verify.ReasonEvidenceMissing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := l.policy().WithEvidence(row.sources...).Audit(t.Context(), l.repo, id)
			if row.err != nil {
				if !errors.Is(v.Err, row.err) || v.Reason != "" {
					t.Errorf("got %v with reason %q, want %v and no reason", v.Err, v.Reason, row.err)
				}
				return
			}
			wantReason(t, v, row.want)
			if !v.ProvenTime.Equal(row.at) || verify.IsMissingEvidence(v.Err) != (row.want == verify.ReasonEvidenceMissing) {
				t.Errorf("got %s and %v, want the time %s", v.ProvenTime, v.Err, row.at)
			}
		})
	}
}

// TestRevisionHasItsEvidence: the evidence that proved the tip can be stored, and proves it again.
func TestRevisionHasItsEvidence(t *testing.T) {
	t.Parallel()
	l := newTestRepo(t)
	first := l.commit(draft{tree: l.tree("web.yaml=1"), message: "first\n\nGitops-Target: lab/main"})
	tip, logged := l.online(draft{tree: l.tree("web.yaml=2"), parents: []gitsource.ID{first}, message: "second\n\nGitops-Target: lab/main"})
	p := l.policy(func(o *verify.Options) { o.Anchor, o.TrustOnFirstUse = first, false })
	text := append([]byte("{}\n"), l.bundle(logged)...)
	rev, err := p.WithEvidence(evidence(text)).Check(t.Context(), l.repo, tip, verify.Base{})
	if err != nil || !bytes.Equal(rev.Evidence(), l.bundle(logged)) {
		t.Fatalf("got %s, %v, want the bundle that proved it", rev.Evidence(), err)
	}
	again, err := p.WithEvidence(evidence(rev.Evidence())).Check(t.Context(), l.repo, tip, verify.Base{Commit: tip, ProvenTime: rev.ProvenTime()})
	if err != nil || !bytes.Equal(again.Evidence(), rev.Evidence()) {
		t.Errorf("got %s, %v, want it to verify again", again.Evidence(), err)
	}
	if rev, err := p.Check(t.Context(), l.repo, first, verify.Base{}); err != nil || rev.Evidence() != nil {
		t.Errorf("got %s, %v of a commit with a log entry, want no evidence", rev.Evidence(), err)
	}
}

// TestEarliestEvidenceCounts: the same signature can be logged again, and its malleated form too. The earliest entry counts, in any order.
func TestEarliestEvidenceCounts(t *testing.T) {
	t.Parallel()
	l := newTestRepo(t)
	id, first := l.online(draft{sign: sigtest.SignOptions{At: noon, LoggedAt: noon.Add(time.Minute)}})
	twin := *first
	twin.Signature = malleate(t, first.Signature)
	lines := [][]byte{l.relogged(*first, noon.Add(5*time.Minute)), l.bundle(first), l.relogged(twin, noon.Add(3*time.Minute)), l.relogged(*first, noon.Add(time.Hour))}
	for range lines {
		lines = append(lines[1:], lines[0])
		v := l.policy().WithEvidence(evidence(bytes.Join(lines, []byte("\n")))).Audit(t.Context(), l.repo, id)
		if !v.Accepted || !v.ProvenTime.Equal(noon.Add(time.Minute)) {
			t.Errorf("got %v proven at %s, want the earliest", v.Err, v.ProvenTime)
		}
	}
}

// malleate returns the other valid form of an ECDSA signature.
func malleate(t *testing.T, signature []byte) []byte {
	t.Helper()
	var s struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(signature, &s); err != nil {
		t.Fatal(err)
	}
	s.S.Sub(elliptic.P256().Params().N, s.S)
	out, err := asn1.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// FuzzEvidence: whatever the evidence is, a commit is accepted only with what the log said about it.
func FuzzEvidence(f *testing.F) {
	l := newTestRepo(f)
	id, logged := l.online(draft{})
	_, other := l.online(draft{tree: l.tree("web.yaml=2")})
	right := l.bundle(logged)
	f.Add(right)
	f.Add(l.bundle(other))
	f.Add(append(append(l.bundle(other), '\n'), right...))
	f.Add(right[:len(right)/2])
	f.Add(bytes.Replace(right, []byte("integratedTime"), []byte("integrated_time"), 1))
	f.Add([]byte(`{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":{},"messageSignature":{}}`))
	p := l.policy()
	f.Fuzz(func(t *testing.T, text []byte) {
		v := p.WithEvidence(evidence(text)).Audit(t.Context(), l.repo, id)
		if v.Accepted && (!v.ProvenTime.Equal(noon.Add(time.Minute)) || v.LogIndex != logged.Entry.GetLogIndex()) {
			t.Errorf("got accepted at %s with index %d, want what was logged", v.ProvenTime, v.LogIndex)
		}
		if v.Err != nil && v.Reason == "" {
			t.Errorf("got %v, want a refusal", v.Err)
		}
	})
}
