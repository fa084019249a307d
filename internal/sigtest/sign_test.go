package sigtest_test

import (
	"bytes"
	"encoding/asn1"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/sigtest"

	"github.com/google/go-cmp/cmp"
	"github.com/sigstore/sigstore-go/pkg/verify"
)

var (
	alice   = sigtest.Identity{Subject: "alice@example.org", Issuer: "https://accounts.example.org"}
	noon    = time.Date(2026, time.March, 22, 12, 0, 0, 0, time.UTC)
	payload = []byte("tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n")
)

func TestSignIsAcceptedBySigstore(t *testing.T) {
	home, foreign := newSigstore(t, "home"), newSigstore(t, "foreign")
	tests := map[string]struct {
		opts   sigtest.SignOptions
		demand []verify.VerifierOption
		want   []string // kinds of proven times
	}{
		"rekor_v1":     {want: []string{"Tlog"}},
		"rekor_v1_tsa": {opts: sigtest.SignOptions{TSA: sigtest.By(home)}, want: []string{"TimestampAuthority", "Tlog"}},
		"rekor_v1_tsa_required": {
			opts: sigtest.SignOptions{TSA: sigtest.By(home)}, demand: []verify.VerifierOption{verify.WithSignedTimestamps(1)},
			want: []string{"TimestampAuthority", "Tlog"},
		},
		"rekor_v1_foreign_tsa_not_required": {opts: sigtest.SignOptions{TSA: sigtest.By(foreign)}, want: []string{"Tlog"}},
		"rekor_v2_tsa": {
			opts: sigtest.SignOptions{LogPart: sigtest.RekorV2, TSA: sigtest.By(home)}, want: []string{"TimestampAuthority"},
		},
		"logged_at_end_of_certificate": {opts: sigtest.SignOptions{LoggedAt: noon.Add(10 * time.Minute)}, want: []string{"Tlog"}},
		"claimed_time_is_not_trusted":  {opts: sigtest.SignOptions{ClaimedAt: noon.AddDate(-3, 0, 0)}, want: []string{"Tlog"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.opts.At = noon
			armored, err := home.Sign(payload, alice, test.opts)
			if err != nil {
				t.Fatalf("sign: %v", err)
			}
			result, err := verifyArmored(t, home, payload, armored, test.opts.LogPart, test.demand...)
			if err != nil {
				t.Fatalf("got %v, want a verified message", err)
			}
			kinds := map[string]bool{}
			for _, proven := range result.VerifiedTimestamps {
				kinds[proven.Type] = true
				if proven.Timestamp.Sub(noon).Abs() > 10*time.Minute {
					t.Errorf("got proven time %v, want %v", proven.Timestamp, noon)
				}
			}
			want := map[string]bool{}
			for _, kind := range test.want {
				want[kind] = true
			}
			if diff := cmp.Diff(want, kinds); diff != "" {
				t.Errorf("kinds of proven times (-want +got):\n%s", diff)
			}
			if got := result.Signature.Certificate.SubjectAlternativeName; got != alice.Subject {
				t.Errorf("got subject %q, want %q", got, alice.Subject)
			}
		})
	}
}

func TestSignIsRefusedBySigstore(t *testing.T) {
	home, foreign := newSigstore(t, "home"), newSigstore(t, "foreign")
	other, err := home.Message([]byte("another commit"), alice, sigtest.SignOptions{At: noon})
	if err != nil {
		t.Fatalf("sign another commit: %v", err)
	}
	mutate := func(m ...sigtest.Mutation) sigtest.SignOptions { return sigtest.SignOptions{Mutate: m} }
	clientAuth := []byte("\x30\x0a\x06\x08\x2b\x06\x01\x05\x05\x07\x03\x02")
	otherUsage := func(c *sigtest.Certificate) { c.Extensions[1].Value = clientAuth }
	expired := func(c *sigtest.Certificate) { c.NotAfter = c.NotBefore.Add(-time.Second) }
	tests := map[string]struct {
		opts   sigtest.SignOptions
		demand []verify.VerifierOption
		want   string
	}{
		"no_sct":               {opts: sigtest.SignOptions{CTLog: sigtest.Absent()}, want: "0 SCT entries"},
		"foreign_sct":          {opts: sigtest.SignOptions{CTLog: sigtest.By(foreign)}, want: "0 SCT entries"},
		"foreign_ca":           {opts: sigtest.SignOptions{CA: sigtest.By(foreign)}, want: "certificate"},
		"foreign_everything":   {opts: sigtest.SignOptions{CA: sigtest.By(foreign), CTLog: sigtest.By(foreign), Log: sigtest.By(foreign)}, want: "not enough verified log entries"},
		"no_rekor":             {opts: sigtest.SignOptions{Log: sigtest.Absent()}, want: "log entries"},
		"tsa_but_no_rekor":     {opts: sigtest.SignOptions{Log: sigtest.Absent(), TSA: sigtest.By(home)}, want: "log entries"},
		"entry_removed":        {opts: mutate(sigtest.RemoveEntry), want: "log entries"},
		"unknown_log":          {opts: sigtest.SignOptions{Log: sigtest.By(foreign)}, want: "not enough verified log entries"},
		"unknown_log_v2":       {opts: sigtest.SignOptions{Log: sigtest.By(foreign), LogPart: sigtest.RekorV2, TSA: sigtest.By(home)}, want: "not enough verified log entries"},
		"rekor_v2_without_tsa": {opts: sigtest.SignOptions{LogPart: sigtest.RekorV2}, want: "threshold not met"},
		"tsa_required_absent":  {demand: []verify.VerifierOption{verify.WithSignedTimestamps(1)}, want: "threshold not met"},
		"tsa_required_foreign": {
			opts: sigtest.SignOptions{TSA: sigtest.By(foreign)}, demand: []verify.VerifierOption{verify.WithSignedTimestamps(1)}, want: "threshold not met",
		},
		"tsa_required_flipped": {
			opts:   sigtest.SignOptions{TSA: sigtest.By(home), Mutate: []sigtest.Mutation{sigtest.FlipTokenSignature}},
			demand: []verify.VerifierOption{verify.WithSignedTimestamps(1)}, want: "threshold not met",
		},
		"set_flipped":           {opts: mutate(sigtest.FlipSET), want: "not enough verified log entries"},
		"set_removed":           {opts: mutate(sigtest.RemoveSET), want: "threshold not met"},
		"integrated_time_moved": {opts: mutate(sigtest.ShiftIntegratedTime(time.Second)), want: "not enough verified log entries"},
		"proof_removed":         {opts: mutate(sigtest.RemoveProof), want: "inclusion proof"},
		"proof_hash":            {opts: mutate(sigtest.FlipProofHash), want: "root"},
		"root_hash":             {opts: mutate(sigtest.FlipRootHash), want: "root"},
		"checkpoint_signature":  {opts: mutate(sigtest.FlipCheckpointSignature), want: "checkpoint"},
		"entry_of_another":      {opts: mutate(sigtest.UseEntry(other)), want: "not enough verified log entries"},
		"signature_bit":         {opts: mutate(sigtest.FlipSignature), want: "invalid signature"},
		"digest_rewritten":      {opts: mutate(sigtest.RewriteDigest([]byte("evil"))), want: "message digest"},
		"logged_before":         {opts: sigtest.SignOptions{LoggedAt: noon.Add(-time.Second)}, want: "integrated time outside certificate validity"},
		"logged_after":          {opts: sigtest.SignOptions{LoggedAt: noon.Add(601 * time.Second)}, want: "integrated time outside certificate validity"},
		"stamped_after":         {opts: sigtest.SignOptions{TSA: sigtest.By(home), StampedAt: noon.Add(601 * time.Second)}, want: "certificate"},
		"never_valid":           {opts: sigtest.SignOptions{Certificate: expired}, want: "certificate"},
		"not_for_code_signing":  {opts: sigtest.SignOptions{Certificate: otherUsage}, want: "certificate"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.opts.At = noon
			armored, err := home.Sign(payload, alice, test.opts)
			if err != nil {
				t.Fatalf("sign: %v", err)
			}
			_, err = verifyArmored(t, home, payload, armored, test.opts.LogPart, test.demand...)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

// TestRewrittenDigestBreaksSignature verifies the rewritten message with the payload that now matches its digest.
func TestRewrittenDigestBreaksSignature(t *testing.T) {
	s, evil := newSigstore(t, "home"), []byte("evil")
	armored, err := s.Sign(payload, alice, sigtest.SignOptions{At: noon, Mutate: []sigtest.Mutation{sigtest.RewriteDigest(evil)}})
	if err != nil {
		t.Fatalf("sign: %v", err)
	}
	if _, err := verifyArmored(t, s, evil, armored, sigtest.RekorV1); err == nil {
		t.Errorf("got a verified message, want a refusal")
	}
}

// TestOptionsOutsideProfile covers the options that leave gitsign's profile while every signature stays valid.
func TestOptionsOutsideProfile(t *testing.T) {
	s := newSigstore(t, "home")
	extra := sigtest.Attribute{Type: asn1.ObjectIdentifier{1, 2, 3}, Value: []byte{5, 0}}
	armored, err := s.Sign(payload, alice, sigtest.SignOptions{
		At:         noon,
		Attributes: func(a []sigtest.Attribute) []sigtest.Attribute { return append(a, extra) },
		Mutate: []sigtest.Mutation{
			sigtest.AddUnsigned(extra),
			func(m *sigtest.Message) { sigtest.AddCertificate(m.Certificates[0])(m) },
			func(m *sigtest.Message) { m.Content = payload },
		},
	})
	if err != nil {
		t.Fatalf("sign: %v", err)
	}
	message := parseArmor(t, armored)
	if got := len(message.Content.Certificates); got != 2 {
		t.Errorf("got %d certificates, want 2", got)
	}
	if got := len(message.Content.Signers[0].Signed); got != 4 {
		t.Errorf("got %d signed attributes, want 4", got)
	}
	if !bytes.Contains(message.Content.Content.Value.Bytes, payload) {
		t.Errorf("got content %q, want the payload", message.Content.Content.Value.Bytes)
	}
	if got := len(message.unsigned(extra.Type)); got != 1 {
		t.Errorf("got %d extra unsigned attributes, want 1", got)
	}
}
