package verify_test

import (
	"bytes"
	"encoding/asn1"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sigstore/sigstore-go/pkg/root"

	"gitops-agent/gitsource"
	"gitops-agent/internal/sigtest"
	"gitops-agent/verify"
)

// A forgery is one row of the cryptographic matrix: a commit that is valid except for the changes of the row.
type forgery struct {
	by     sigtest.Identity                           // alice, if zero
	sign   func(l *testRepo) sigtest.SignOptions      // options of the signature
	edit   func(l *testRepo, raw []byte) []byte       // changes the signed object
	policy func(l *testRepo, options *verify.Options) // changes the policy
	want   verify.Reason                              // "" means accepted
}

// verdict makes the commit of a row and audits it.
func (f forgery) verdict(t *testing.T) verify.Verdict {
	t.Helper()
	l := newTestRepo(t)
	parent := l.commit(draft{tree: l.tree("web.yaml=1")}) // so that neither log nor history is empty
	d := draft{by: f.by, tree: l.tree("web.yaml=2"), parents: []gitsource.ID{parent}, message: "change web"}
	if f.sign != nil {
		d.sign = f.sign(l)
	}
	d.sign.At = noon
	raw := l.raw(d)
	if f.edit != nil {
		raw = f.edit(l, raw)
	}
	p := l.policy(func(o *verify.Options) {
		if f.policy != nil {
			f.policy(l, o)
		}
	})
	return p.Audit(t.Context(), l.repo, l.object("commit", raw))
}

func runForgeries(t *testing.T, rows map[string]forgery) {
	t.Helper()
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantReason(t, row.verdict(t), row.want)
		})
	}
}

// wantReason requires a verdict with a reason; without one, it must accept.
func wantReason(t *testing.T, v verify.Verdict, want verify.Reason) {
	t.Helper()
	if v.Reason != want || v.Accepted != (want == "") {
		t.Errorf("got accepted %v, reason %q (%v), want reason %q", v.Accepted, v.Reason, v.Err, want)
	}
}

// signed returns options that apply mutations to the finished signature.
func signed(mutations ...sigtest.Mutation) func(*testRepo) sigtest.SignOptions {
	return func(*testRepo) sigtest.SignOptions { return sigtest.SignOptions{Mutate: mutations} }
}

// stamped returns the given options with a timestamp.
func stamped(opts sigtest.SignOptions) func(*testRepo) sigtest.SignOptions {
	return func(l *testRepo) sigtest.SignOptions { opts.TSA = sigtest.By(l.sig); return opts }
}

// foreign returns a Sigstore that no policy of the tests trusts.
func foreign(l *testRepo) sigtest.Party { return sigtest.By(newSigstore(l, "foreign")) }

func replace(from, to string) func(*testRepo, []byte) []byte {
	return func(l *testRepo, raw []byte) []byte {
		l.Helper()
		if bytes.Count(raw, []byte(from)) == 0 {
			l.Fatalf("replace: %q is not in the commit", from)
		}
		return bytes.Replace(raw, []byte(from), []byte(to), 1)
	}
}

func requireTimestamp(_ *testRepo, o *verify.Options) { o.Timestamps = verify.TimestampRequired }

// retired ends the validity of a part of the test's Sigstore; after is the time between the signature and the end.
func retired(part sigtest.Part, after time.Duration) func(*testRepo, *verify.Options) {
	return func(l *testRepo, o *verify.Options) {
		l.sig.Retire(part, noon.Add(after))
		o.TrustedRoot = l.options().TrustedRoot
	}
}

func trustWorkflow(change func(*verify.Extensions)) func(*testRepo, *verify.Options) {
	return func(_ *testRepo, o *verify.Options) {
		e := verify.Extensions{
			BuildSignerURI: workflow.Extensions.BuildSignerURI, BuildConfigURI: workflow.Extensions.BuildConfigURI,
			SourceRepositoryURI: workflow.Extensions.SourceRepositoryURI, SourceRepositoryRef: workflow.Extensions.SourceRepositoryRef,
			SourceRepositoryIdentifier:      workflow.Extensions.SourceRepositoryIdentifier,
			SourceRepositoryOwnerURI:        workflow.Extensions.SourceRepositoryOwnerURI,
			SourceRepositoryOwnerIdentifier: workflow.Extensions.SourceRepositoryOwnerIdentifier,
			RunnerEnvironment:               workflow.Extensions.RunnerEnvironment, BuildTrigger: workflow.Extensions.BuildTrigger,
		}
		change(&e)
		o.Signers = []verify.Signer{{
			Name: "merge", Issuer: workflow.Issuer, Subject: workflow.Subject, Extensions: e, May: []verify.Role{verify.RoleChange},
		}}
	}
}

func trustPattern(subject string) func(*testRepo, *verify.Options) {
	return func(_ *testRepo, o *verify.Options) { o.Signers[0].Subject, o.Signers[0].SubjectRegexp = "", subject }
}

func TestProveAccepts(t *testing.T) {
	t.Parallel()
	v2 := sigtest.SignOptions{LogPart: sigtest.RekorV2}
	runForgeries(t, map[string]forgery{
		"rekor_v1":              {},
		"rekor_v1_timestamp":    {sign: stamped(sigtest.SignOptions{})},
		"rekor_v2_timestamp":    {sign: stamped(v2)},
		"timestamp_required":    {sign: stamped(sigtest.SignOptions{}), policy: requireTimestamp},
		"v2_timestamp_required": {sign: stamped(v2), policy: requireTimestamp},
		"workflow":              {by: workflow, policy: trustWorkflow(func(*verify.Extensions) {})},
		"subject_pattern":       {policy: trustPattern("[a-z]+@lab[.]test")},
		"log_retired_later":     {policy: retired(sigtest.RekorV1, time.Hour)},
		"authority_retired":     {policy: retired(sigtest.CA, time.Hour)},
		"v2_log_retired_later":  {sign: stamped(v2), policy: retired(sigtest.RekorV2, time.Hour)},
		"trusted_root_round_trip": {policy: func(l *testRepo, o *verify.Options) {
			parsed, err := root.NewTrustedRootFromJSON(o.TrustedRoot)
			if err != nil {
				l.Fatal(err)
			}
			if o.TrustedRoot, err = parsed.MarshalJSON(); err != nil {
				l.Fatal(err)
			}
		}},
	})
}

// TestProveKeys: both versions of the log, with each kind of key that authorities and logs use.
func TestProveKeys(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string]sigtest.Options{
		"ed25519_log": {CAKey: sigtest.P384, RekorV2Key: sigtest.Ed25519},
		"ecdsa_log":   {CAKey: sigtest.P256, RekorV2Key: sigtest.P256},
	} {
		for generation, part := range map[string]sigtest.Part{"v1": sigtest.RekorV1, "v2": sigtest.RekorV2} {
			t.Run(name+"_"+generation, func(t *testing.T) {
				l := newTestRepo(t)
				keys.Seed = name
				sig, err := sigtest.New(keys)
				if err != nil {
					t.Fatal(err)
				}
				l.sig = sig
				opts := sigtest.SignOptions{LogPart: part, TSA: sigtest.By(sig)}
				if v := l.policy().Audit(t.Context(), l.repo, l.commit(draft{sign: opts})); !v.Accepted {
					t.Errorf("got %v, want it accepted", v.Err)
				}
				opts.Mutate = []sigtest.Mutation{sigtest.FlipCheckpointSignature}
				if v := l.policy().Audit(t.Context(), l.repo, l.commit(draft{sign: opts})); v.Reason != verify.ReasonBadLogEntry {
					t.Errorf("with another checkpoint signature: got %q (%v), want %s", v.Reason, v.Err, verify.ReasonBadLogEntry)
				}
			})
		}
	}
}

// TestWhyALogIsNotTrusted: the error has the time at which the key of the log ended, and the command for a newer trusted root.
func TestWhyALogIsNotTrusted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		row  forgery
		want string
	}{
		"unknown": {forgery{sign: func(l *testRepo) sigtest.SignOptions { return sigtest.SignOptions{Log: foreign(l)} }}, `has no log with the key [0-9a-f]{64}; .*: cosign trusted-root create`},
		"ended":   {forgery{policy: retired(sigtest.RekorV1, -time.Second)}, `until \d{4}-\d\d-\d\dT[0-9:]+Z, and the entry is of \d{4}-.*Z; .*: cosign trusted-root create`},
		"v2_ended": {
			forgery{sign: stamped(sigtest.SignOptions{LogPart: sigtest.RekorV2}), policy: retired(sigtest.RekorV2, -time.Second)},
			`until \d{4}-\d\d-\d\dT[0-9:]+Z, and the entry is of \d{4}-.*Z; .*: cosign trusted-root create`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if v := test.row.verdict(t); v.Err == nil || !regexp.MustCompile(test.want).MatchString(v.Err.Error()) {
				t.Errorf("got %v, want %s", v.Err, test.want)
			}
		})
	}
}

// TestProveContent has the rows where the signature is valid and the content is not the signed content.
func TestProveContent(t *testing.T) {
	t.Parallel()
	other := strings.Repeat("12", 20)
	runForgeries(t, map[string]forgery{
		"message_changed": {edit: replace("change web", "change www"), want: verify.ReasonContentMismatch},
		"tree_changed":    {edit: changeHeader("tree", other), want: verify.ReasonContentMismatch},
		"parent_changed":  {edit: changeHeader("parent", other), want: verify.ReasonContentMismatch},
		"parent_added":    {edit: replace("author ", "parent "+other+"\nauthor "), want: verify.ReasonContentMismatch},
		"date_changed":    {edit: replace(" +0000\ngpgsig", " +0100\ngpgsig"), want: verify.ReasonContentMismatch},
		"header_added":    {edit: replace("gpgsig ", "encoding UTF-8\ngpgsig "), want: verify.ReasonContentMismatch},
		"signature_of_another_commit": {edit: func(l *testRepo, raw []byte) []byte {
			donor := l.raw(draft{tree: l.tree("web.yaml=2"), message: "change db"})
			return withSignature(l, raw, signatureOf(donor))
		}, want: verify.ReasonContentMismatch},
		"signature_of_a_tag": {edit: func(l *testRepo, raw []byte) []byte {
			tag, _, err := l.sig.Tag(sigtest.TagSpec{Object: other, Name: "v1", Message: "release"}, alice, sigtest.SignOptions{At: noon})
			if err != nil {
				l.Fatal(err)
			}
			return withSignature(l, raw, tag[bytes.Index(tag, []byte("-----BEGIN")):])
		}, want: verify.ReasonContentMismatch},
		"digest_rewritten_to_fit": {edit: func(l *testRepo, raw []byte) []byte {
			payload := draft{tree: l.tree("web.yaml=3"), message: "evil"}.spec().Payload(noon)
			signature, err := l.sig.Sign([]byte("something else"), alice, sigtest.SignOptions{
				At: noon, Mutate: []sigtest.Mutation{sigtest.RewriteDigest(payload)},
			})
			if err != nil {
				l.Fatal(err)
			}
			return withSignature(l, payload, signature)
		}, want: verify.ReasonBadSignature},
	})
}

// TestProveForm has the rows where the signature does not have the form that gitsign writes.
func TestProveForm(t *testing.T) {
	t.Parallel()
	end := "-----END SIGNED MESSAGE-----\n"
	extra := sigtest.Attribute{Type: asn1.ObjectIdentifier{1, 2, 3}, Value: []byte{5, 0}}
	runForgeries(t, map[string]forgery{
		"unsigned":              {edit: func(_ *testRepo, raw []byte) []byte { return payloadOf(raw) }, want: verify.ReasonUnsigned},
		"pgp":                   {edit: resigned(pgpSignature), want: verify.ReasonNotSigstore},
		"ssh":                   {edit: resigned(sshSignature), want: verify.ReasonNotSigstore},
		"text":                  {edit: resigned("usage: gitsign\n"), want: verify.ReasonNotSigstore},
		"junk_before_armor":     {edit: replace("gpgsig ", "gpgsig junk\n "), want: verify.ReasonNotSigstore},
		"junk_after_armor":      {edit: replace(end, end+" junk\n"), want: verify.ReasonMalformedSignature},
		"empty_line_in_armor":   {edit: replace(end, end+" \n"), want: verify.ReasonMalformedSignature},
		"armor_header":          {edit: replace("MESSAGE-----\n ", "MESSAGE-----\n Hash: SHA256\n \n "), want: verify.ReasonMalformedSignature},
		"indented_armor":        {edit: replace("MESSAGE-----\n ", "MESSAGE-----\n  "), want: verify.ReasonMalformedSignature},
		"not_cms":               {edit: resigned("-----BEGIN SIGNED MESSAGE-----\nAAAA\n-----END SIGNED MESSAGE-----\n"), want: verify.ReasonMalformedSignature},
		"two_certificates":      {sign: secondCertificate, want: verify.ReasonMalformedSignature},
		"larger_key":            {sign: largerKey, want: verify.ReasonMalformedSignature},
		"unknown_attribute":     {sign: signed(sigtest.AddUnsigned(extra)), want: verify.ReasonMalformedSignature},
		"embedded_content":      {sign: signed(func(m *sigtest.Message) { m.Content = []byte("x") }), want: verify.ReasonMalformedSignature},
		"two_timestamps":        {sign: stamped(sigtest.SignOptions{Mutate: []sigtest.Mutation{doubleToken}}), want: verify.ReasonMalformedSignature},
		"stored_body":           {sign: signed(func(m *sigtest.Message) { m.Entry.CanonicalizedBody = m.Body }), want: verify.ReasonMalformedSignature},
		"hidden_field_in_entry": {sign: signed(hideField), want: verify.ReasonMalformedSignature},
		"no_log_entry":          {sign: signed(sigtest.RemoveEntry), want: verify.ReasonOnlineOnly},
		"timestamp_but_no_log_entry": {
			sign: stamped(sigtest.SignOptions{Log: sigtest.Absent()}), want: verify.ReasonOnlineOnly,
		},
		"signing_time_missing": {sign: attributes(func(a []sigtest.Attribute) []sigtest.Attribute {
			return append(a[:1:1], a[2:]...)
		}), want: verify.ReasonMalformedSignature},
		"signed_attribute_unknown": {sign: attributes(func(a []sigtest.Attribute) []sigtest.Attribute {
			return append(a, extra)
		}), want: verify.ReasonMalformedSignature},
		"signed_attribute_twice": {sign: attributes(func(a []sigtest.Attribute) []sigtest.Attribute {
			return append(a, a[0])
		}), want: verify.ReasonMalformedSignature},
		"wrong_content_type": {sign: attributes(func(a []sigtest.Attribute) []sigtest.Attribute {
			for i := range a {
				a[i].Value = bytes.Replace(a[i].Value, []byte{1, 7, 1}, []byte{1, 7, 2}, 1)
			}
			return a
		}), want: verify.ReasonMalformedSignature},
	})
}

// TestProveLog has the rows where the transparency log does not prove the signature.
func TestProveLog(t *testing.T) {
	t.Parallel()
	v2 := sigtest.SignOptions{LogPart: sigtest.RekorV2}
	runForgeries(t, map[string]forgery{
		"signature_bit":            {sign: signed(sigtest.FlipSignature), want: verify.ReasonBadSignature},
		"v2_signature_bit":         {sign: stamped(sigtest.SignOptions{LogPart: sigtest.RekorV2, Mutate: []sigtest.Mutation{sigtest.FlipSignature}}), want: verify.ReasonBadSignature},
		"set_flipped":              {sign: signed(sigtest.FlipSET), want: verify.ReasonBadLogEntry},
		"set_removed":              {sign: signed(sigtest.RemoveSET), want: verify.ReasonBadLogEntry},
		"set_removed_timestamp":    {sign: stamped(sigtest.SignOptions{Mutate: []sigtest.Mutation{sigtest.RemoveSET}}), want: verify.ReasonBadLogEntry},
		"time_shifted":             {sign: signed(sigtest.ShiftIntegratedTime(time.Minute)), want: verify.ReasonBadLogEntry},
		"time_shifted_far":         {sign: signed(sigtest.ShiftIntegratedTime(time.Hour)), want: verify.ReasonBadLogEntry},
		"index_changed":            {sign: signed(func(m *sigtest.Message) { m.Entry.LogIndex++ }), want: verify.ReasonBadLogEntry},
		"log_removed":              {sign: signed(func(m *sigtest.Message) { m.Entry.LogId = nil }), want: verify.ReasonBadLogEntry},
		"proof_removed":            {sign: signed(sigtest.RemoveProof), want: verify.ReasonBadLogEntry},
		"proof_hash":               {sign: signed(sigtest.FlipProofHash), want: verify.ReasonBadLogEntry},
		"root_hash":                {sign: signed(sigtest.FlipRootHash), want: verify.ReasonBadLogEntry},
		"checkpoint_signature":     {sign: signed(sigtest.FlipCheckpointSignature), want: verify.ReasonBadLogEntry},
		"checkpoint_removed":       {sign: signed(func(m *sigtest.Message) { m.Entry.InclusionProof.Checkpoint = nil }), want: verify.ReasonBadLogEntry},
		"entry_of_another":         {sign: entryOfAnother(sigtest.SignOptions{}), want: verify.ReasonBadLogEntry},
		"v2_entry_of_another":      {sign: entryOfAnother(v2), want: verify.ReasonBadLogEntry},
		"v2_proof_hash":            {sign: stamped(sigtest.SignOptions{LogPart: sigtest.RekorV2, Mutate: []sigtest.Mutation{moveIndex}}), want: verify.ReasonBadLogEntry},
		"v2_checkpoint":            {sign: stamped(sigtest.SignOptions{LogPart: sigtest.RekorV2, Mutate: []sigtest.Mutation{sigtest.FlipCheckpointSignature}}), want: verify.ReasonBadLogEntry},
		"unknown_log":              {sign: func(l *testRepo) sigtest.SignOptions { return sigtest.SignOptions{Log: foreign(l)} }, want: verify.ReasonUntrustedLog},
		"log_retired_before":       {policy: retired(sigtest.RekorV1, -time.Second), want: verify.ReasonUntrustedLog},
		"v2_log_retired_before":    {sign: stamped(v2), policy: retired(sigtest.RekorV2, -time.Second), want: verify.ReasonUntrustedLog},
		"another_sigstore":         {sign: everythingForeign, want: verify.ReasonUntrustedLog},
		"v2_log_without_timestamp": {sign: func(*testRepo) sigtest.SignOptions { return v2 }, want: verify.ReasonNoTrustedTime},
		"v2_log_broken_timestamp": {
			sign: stamped(sigtest.SignOptions{LogPart: sigtest.RekorV2, Mutate: []sigtest.Mutation{sigtest.FlipTokenSignature}}),
			want: verify.ReasonNoTrustedTime,
		},
		"timestamp_required_absent": {policy: requireTimestamp, want: verify.ReasonNoTimestamp},
		"timestamp_required_foreign": {
			sign:   func(l *testRepo) sigtest.SignOptions { return sigtest.SignOptions{TSA: foreign(l)} },
			policy: requireTimestamp, want: verify.ReasonNoTimestamp,
		},
		"timestamp_required_retired": {
			sign: stamped(sigtest.SignOptions{}),
			policy: func(l *testRepo, o *verify.Options) {
				retired(sigtest.TSA, -time.Second)(l, o)
				requireTimestamp(l, o)
			}, want: verify.ReasonNoTimestamp,
		},
	})
}

// TestProveCertificate has the rows where the certificate was not valid for the signature.
func TestProveCertificate(t *testing.T) {
	t.Parallel()
	expired, early := noon.Add(10*time.Minute+time.Second), noon.Add(-time.Second)
	runForgeries(t, map[string]forgery{
		"no_certificate_log":            {sign: func(*testRepo) sigtest.SignOptions { return sigtest.SignOptions{CTLog: sigtest.Absent()} }, want: verify.ReasonNoCertificateLog},
		"foreign_certificate_log":       {sign: func(l *testRepo) sigtest.SignOptions { return sigtest.SignOptions{CTLog: foreign(l)} }, want: verify.ReasonNoCertificateLog},
		"certificate_log_retired":       {policy: retired(sigtest.CTLog, -time.Second), want: verify.ReasonNoCertificateLog},
		"foreign_authority":             {sign: func(l *testRepo) sigtest.SignOptions { return sigtest.SignOptions{CA: foreign(l)} }, want: verify.ReasonUntrustedCertificate},
		"authority_retired_before":      {policy: retired(sigtest.CA, -time.Second), want: verify.ReasonUntrustedCertificate},
		"logged_after_expiry":           {sign: func(*testRepo) sigtest.SignOptions { return sigtest.SignOptions{LoggedAt: expired} }, want: verify.ReasonExpiredCertificate},
		"logged_before_validity":        {sign: func(*testRepo) sigtest.SignOptions { return sigtest.SignOptions{LoggedAt: early} }, want: verify.ReasonExpiredCertificate},
		"timestamp_after_expiry":        {sign: stamped(sigtest.SignOptions{StampedAt: expired}), want: verify.ReasonExpiredCertificate},
		"v2_timestamp_after_expiry":     {sign: stamped(sigtest.SignOptions{StampedAt: expired, LogPart: sigtest.RekorV2}), want: verify.ReasonExpiredCertificate},
		"timestamp_required_and_late":   {sign: stamped(sigtest.SignOptions{StampedAt: expired}), policy: requireTimestamp, want: verify.ReasonExpiredCertificate},
		"certificate_for_another_usage": {sign: otherUsage, want: verify.ReasonUntrustedCertificate},
	})
}

// TestProveIdentity has the rows where the proof is valid and the identity is not that of a signer.
func TestProveIdentity(t *testing.T) {
	t.Parallel()
	runForgeries(t, map[string]forgery{
		"wrong_subject":          {by: mallory, want: verify.ReasonWrongIdentity},
		"wrong_issuer":           {by: sigtest.Identity{Subject: alice.Subject, Issuer: "https://other.test"}, want: verify.ReasonWrongIdentity},
		"issuer_with_slash":      {by: sigtest.Identity{Subject: alice.Subject, Issuer: alice.Issuer + "/"}, want: verify.ReasonWrongIdentity},
		"subject_as_prefix":      {by: sigtest.Identity{Subject: alice.Subject + ".evil.test", Issuer: alice.Issuer}, policy: trustPattern("alice@lab[.]test"), want: verify.ReasonWrongIdentity},
		"subject_as_suffix":      {by: sigtest.Identity{Subject: "not-" + alice.Subject, Issuer: alice.Issuer}, policy: trustPattern("alice@lab[.]test"), want: verify.ReasonWrongIdentity},
		"pattern_alternative":    {by: sigtest.Identity{Subject: "bob@lab.test.evil.test", Issuer: alice.Issuer}, policy: trustPattern("alice@lab[.]test|bob@lab[.]test"), want: verify.ReasonWrongIdentity},
		"subject_by_one_dot":     {by: sigtest.Identity{Subject: "." + alice.Subject, Issuer: alice.Issuer}, want: verify.ReasonWrongIdentity},
		"other_repository":       {by: sigtest.GitHubWorkflow("lab/fork", "merge.yaml", "refs/heads/main"), policy: anyWorkflow, want: verify.ReasonWrongIdentity},
		"other_ref":              {by: sigtest.GitHubWorkflow("lab/guests", "merge.yaml", "refs/heads/evil"), policy: anyWorkflow, want: verify.ReasonWrongIdentity},
		"other_repository_id":    {by: workflow, policy: trustWorkflow(func(e *verify.Extensions) { e.SourceRepositoryIdentifier = "1" }), want: verify.ReasonWrongIdentity},
		"other_owner_id":         {by: workflow, policy: trustWorkflow(func(e *verify.Extensions) { e.SourceRepositoryOwnerIdentifier = "1" }), want: verify.ReasonWrongIdentity},
		"other_owner":            {by: workflow, policy: trustWorkflow(func(e *verify.Extensions) { e.SourceRepositoryOwnerURI = "https://github.com/x" }), want: verify.ReasonWrongIdentity},
		"other_runner":           {by: workflow, policy: trustWorkflow(func(e *verify.Extensions) { e.RunnerEnvironment = "self-hosted" }), want: verify.ReasonWrongIdentity},
		"other_trigger":          {by: workflow, policy: trustWorkflow(func(e *verify.Extensions) { e.BuildTrigger = "schedule" }), want: verify.ReasonWrongIdentity},
		"other_signing_workflow": {by: workflow, policy: trustWorkflow(func(e *verify.Extensions) { e.BuildSignerURI += "x" }), want: verify.ReasonWrongIdentity},
		"other_config_workflow":  {by: workflow, policy: trustWorkflow(func(e *verify.Extensions) { e.BuildConfigURI += "x" }), want: verify.ReasonWrongIdentity},
		"person_as_workflow":     {by: sigtest.Identity{Subject: workflow.Subject, Issuer: workflow.Issuer}, policy: trustWorkflow(func(*verify.Extensions) {}), want: verify.ReasonWrongIdentity},
	})
}
