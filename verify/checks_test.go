package verify_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A check is one check of the verifying sequence or of the policy. The named test fails if the check is removed. The test
// with the build tag mutation proves this for each row.
type check struct {
	name string // as in docs/internals/checks.md
	file string
	// code occurs exactly once in file. If instead is empty, its first line is a condition that the mutation makes false;
	// the other lines only make the text unique. Otherwise instead replaces the whole of code.
	code string
	// instead replaces code if code is not the condition of a refusal.
	instead string
	test    string // Test, or Test/row
}

// checks returns every check in the order of docs/internals/checks.md.
func checks() []check {
	return []check{
		// The object.
		{"object size", "object.go", `len(raw) > maxObject`, "", "TestSplitCommitRefuses/too_large"},
		{"commits beyond the limit are refused", "policy.go", `errors.Is(err, gitsource.ErrTooLarge):
		return object{}`, "", "TestCheckLimitsCommits"},
		{"tags beyond the limit are refused", "audit.go", `errors.Is(err, gitsource.ErrTooLarge)`, "", "TestAuditTag"},
		{"commit that cannot be read is not refused", "policy.go", `err != nil:
		return object{}, fmt.Errorf("read`, "", "TestCheckSeparatesReadErrors"},
		{"tag that cannot be read is not refused", "audit.go", `err != nil:
		return object{}, fmt.Errorf("read`, "", "TestAuditSeparatesReadErrors"},
		{"number of headers", "object.go", `len(headers) == maxHeaders`, "", "TestSplitCommitRefuses/many_headers"},
		{"no NUL among headers", "object.go", `bytes.IndexByte(line, 0) >= 0`, "", "TestSplitCommitRefuses/nul_in_header"},
		{"tree is present", "object.go", `o.tree != "" && h.key == "author"`, `h.key == "author"`, "TestSplitCommitRefuses/tree_missing"},
		{"parent is an id", "object.go", `err != nil {
				return nil, refuse(ReasonMalformed, "parent`, "", "TestSplitCommitRefuses/parent_not_an_id"},
		{"one-line headers", "object.go", `h.lines != 1 && isReserved(h.key)`, "", "TestSplitCommitRefuses/author_continued"},
		{"one-line committer", "object.go", `headers[position+1].lines != 1`, "", "TestSplitCommitRefuses/committer_continued"},
		{"committer after author", "object.go", `position+1 < len(headers) && headers[position+1].key == "committer"`, `position+1 < len(headers)`, "TestSplitCommitRefuses/committer_replaced"},
		{"no misplaced headers", "object.go", `case isReserved(h.key)`, `case false`, "TestSplitCommitRefuses/tree_after_committer"},
		{"no uncovered signature", "object.go", `h.key == "gpgsig-sha256"`, "", "TestSplitCommitRefuses/sha256_signature"},
		{"headers have values", "object.go", `!found`, "", "TestSplitCommitRefuses/header_without_value"},
		{"signature is the last header", "object.go", `h.key == "gpgsig" && position != len(headers)-1`, "", "TestSplitCommitRefuses/signature_before_header"},
		{"no continuation without a header", "object.go", `line[0] == ' ' && len(headers) == 0`, "", "TestSplitCommitRefuses/starts_with_continuation"},
		{"one encoding", "object.go", `hasEncoding && h.key == "encoding"`, "", "TestSplitCommitRefuses/encoding_twice"},
		{"all headers of a tag", "object.go", `len(headers) != len(want)`, `len(headers) > len(want)`, "TestSplitTag/tagger_missing"},
		{"no more headers in a tag", "object.go", `len(headers) != len(want)`, `len(headers) < len(want)`, "TestSplitTag/extra_header"},
		{"tag headers", "object.go", `h.key != want[i] || h.lines != 1`, "", "TestSplitTag"},
		{"tag names an id", "object.go", `err != nil {
		return object{}, refuse(ReasonMalformed, "object`, "", "TestSplitTag/no_object_id"},
		{"one signature in a tag", "object.go", `bytes.Count(raw, []byte(armorBegin)) > 1`, "", "TestSplitTag"},
		// The signature's form.
		{"signed at all", "armor.go", `len(armored) == 0`, "", "TestProveForm/unsigned"},
		{"Sigstore signature", "armor.go", `!strings.HasPrefix(string(armored), armorBegin)`, "", "TestProveForm/pgp"},
		{"signature size", "armor.go", `len(armored) > maxSignature`, "", "TestUnarmorRefuses/too_large"},
		{"armor is PEM", "armor.go", `block == nil`, "", "TestUnarmorRefuses/cut_short"},
		{"canonical armor", "armor.go", `!bytes.Equal(armor(block.Bytes), armored)`, "", "TestProveForm/junk_after_armor"},
		{"only the profile, in DER", "cms.go", `err != nil || !bytes.Equal(again, der)`, "", "TestProveForm/embedded_content"},
		{"content type SignedData", "cms.go", `!c.Type.Equal(oidSignedData)`, "", "TestParseSignatureIsStrict/content_type"},
		{"SignedData version", "cms.go", `data.Version != 1`, "", "TestParseSignatureIsStrict/version"},
		{"one digest algorithm", "cms.go", `len(data.Algorithms) != 1 || !data.Algorithms[0].Algorithm.Equal(oidSHA256)`, "", "TestParseSignatureIsStrict/two_digests"},
		{"detached data", "cms.go", `!data.Detached.Algorithm.Equal(oidData)`, "", "TestParseSignatureIsStrict/detached_type"},
		{"one signer", "cms.go", `len(data.Signers) != 1`, "", "TestParseSignatureIsStrict/two_signers"},
		{"certificate under its tag", "cms.go", `!isImplicitSet(set)`, "", "TestParseSignatureIsStrict/certificates_tag"},
		{"one certificate", "cms.go", `len(rest) != 0 {
		return nil, refuse(ReasonMalformedSignature, "more`, `len(rest) < 0 {
		return nil, refuse(ReasonMalformedSignature, "more`, "TestProveForm/two_certificates"},
		{"certificate can be parsed", "cms.go", `err != nil {
		return nil, refuse(ReasonMalformedSignature, "certificate: %w", err)
	}
	if key`, "", "TestParseSignatureIsStrict/certificate_garbled"},
		{"ECDSA P-256 key", "cms.go", `!ok || key.Curve != elliptic.P256()`, "", "TestProveForm/larger_key"},
		{"signer version", "cms.go", `i.Version != 1`, "", "TestParseSignatureIsStrict/signer_version"},
		{"signer's issuer", "cms.go", `!bytes.Equal(i.Certificate.Issuer.FullBytes, leaf.RawIssuer)`, "", "TestParseSignatureIsStrict/signer_issuer"},
		{"signer's serial number", "cms.go", `i.Certificate.Serial.Cmp(leaf.SerialNumber) != 0`, "", "TestParseSignatureIsStrict/signer_serial"},
		{"digest SHA-256", "cms.go", `!i.Digest.Algorithm.Equal(oidSHA256)`, "", "TestParseSignatureIsStrict/digest_algorithm"},
		{"signature ECDSA with SHA-256", "cms.go", `!i.Algorithm.Algorithm.Equal(oidECDSASHA256)`, "", "TestParseSignatureIsStrict/signature_alg"},
		{"signed attributes under their tag", "cms.go", `!isImplicitSet(raw)`, "", "TestParseSignatureIsStrict/signed_tag"},
		{"signed attributes in DER", "cms.go", `err != nil || !bytes.Equal(again, set)`, "", "TestParseSignatureIsStrict/signed_order"},
		{"three signed attributes", "cms.go", `len(values) != 3`, "", "TestProveForm/signing_time_missing"},
		{"signed content type", "cms.go", `err != nil || len(rest) != 0 || !contentType.Equal(oidData)`, "", "TestProveForm/wrong_content_type"},
		{"signed digest is SHA-256", "cms.go", `err != nil || len(rest) != 0 || len(digest) != len(s.content)`, "", "TestParseSignatureIsStrict/digest_short"},
		{"known attributes only", "cms.go", `!containsOID(known, a.Type)`, "", "TestProveForm/unknown_attribute"},
		{"attributes once", "cms.go", `values[name]; twice`, `values[name]; twice && false`, "TestParseSignatureIsStrict/entry_twice"},
		{"attribute values are a set", "cms.go", `a.Values.Class != asn1.ClassUniversal || a.Values.Tag != asn1.TagSet || !a.Values.IsCompound`, "", "TestParseSignatureIsStrict/values_tag"},
		{"one value for each attribute", "cms.go", `err != nil || len(rest) != 0 {
			return nil, refuse(ReasonMalformedSignature, "attribute %s does not`, `err != nil || len(rest) < 0 {
			return nil, refuse(ReasonMalformedSignature, "attribute %s does not`, "TestParseSignatureIsStrict/two_values"},
		{"log entry is an octet string", "cms.go", `err != nil || len(rest) != 0 || len(s.logEntry) == 0`, "", "TestParseSignatureIsStrict/entry_not_octets"},
		{"no hidden fields in the log entry", "log_entry.go", `hasUnknownFields(e.ProtoReflect()) || len(e.GetCanonicalizedBody()) != 0`, "", "TestProveForm/hidden_field_in_entry"},
		{"one encoding of the log entry", "log_entry.go", `err != nil || !bytes.Equal(again, raw)`, "", "TestOneFormOfLogEntry/fields_reversed"},
		{"label of the log entry", "log_entry.go", `kind != entryKind || version != versionV1 && (e.isV1 || version != versionV2)`, "", "TestOneFormOfLogEntry/kind"},
		{"no time in Rekor v2", "log_entry.go", `!e.isV1 && (len(promise) != 0 || e.GetIntegratedTime() != 0)`, "", "TestOneFormOfLogEntry/v2_time"},
		{"one index in Rekor v2", "log_entry.go", `!e.isV1 && e.GetLogIndex() != e.GetInclusionProof().GetLogIndex()`, "", "TestOneFormOfLogEntry/v2_index_of_the_proof"},
		{"checkpoint has a tree", "checkpoint.go", `len(lines) < 3`, "", "TestOneFormOfLogEntry/checkpoint_lines"},
		{"checkpoint has one signature", "checkpoint.go", `!found || base64.StdEncoding.EncodeToString(raw)+"\n" != encoded`, "", "TestOneFormOfLogEntry/checkpoint_signer"},
		{"inclusion proof of the checkpoint's tree", "log_entry.go", `!c.isOf(proof)`, "", "TestOneFormOfLogEntry/v2_size"},
		{"timestamp token in DER", "timestamp_token.go", `!readWrapped(&outer, oidSignedData, &data, tag.SEQUENCE) || !outer.Empty() || !readToken(&data, &certificates)`, "", "TestOneFormOfTimestamp/unsigned_attribute"},
		{"certificates of the token in DER", "timestamp_token.go", `!ok`, "", "TestOneFormOfTimestamp/not_a_certificate"},
		{"timestamp is verified", "proof.go", `len(e.tokens) > 0 && !slices.ContainsFunc(verified, isStamp)`, "", "TestOneFormOfTimestamp/of_another_authority"},
		{"only certificates of the timestamp authority", "proof.go", `!slices.ContainsFunc(p.root.stampers, isSame) || slices.ContainsFunc(e.stampers[:i], isSame)`, "", "TestOneFormOfTimestamp/certificate_twice"},
		// The proof.
		{"signature is about this object", "proof.go", `content != s.content`, "", "TestProveContent/message_changed"},
		{"log entry is embedded", "proof.go", `len(s.logEntry) == 0`, "", "TestProveForm/no_log_entry"},
		// Evidence.
		{"no online mode where timestamps are required", "evidence.go", `p.timestamps == TimestampRequired`, "", "TestEvidence/timestamp_required"},
		{"evidence is needed", "evidence.go", `len(p.evidence) == 0`, "", "TestProveForm/no_log_entry"},
		{"signature of the object beside the evidence", "evidence.go", `!s.matchesCertificateKey()`, "", "TestEvidence/signature_of_the_commit"},
		{"evidence of a source that cannot be read decides nothing", "evidence.go", `!isRefusal(err)`, "", "TestEvidenceOfSeveralSources/unreadable_first"},
		{"refusal names the wrong evidence", "evidence.go", `case IsMissingEvidence(refused):`, `case refused == nil:`, "TestEvidenceOfSeveralSources/wrong_and_missing"},
		{"evidence that cannot be read", "evidence.go", `err != nil {
		return proof{}, fmt.Errorf("read evidence`, "", "TestEvidenceWithoutSource"},
		{"evidence size", "evidence.go", `len(text) > MaxEvidence`, "", "TestEvidence/too_long"},
		{"evidence exists", "evidence.go", `len(bundles) == 0`, "", "TestEvidence/missing"},
		{"number of bundles", "evidence.go", `len(bundles) > maxBundles`, "", "TestEvidence/too_many"},
		{"earliest evidence counts", "evidence.go", `proven.provenTime.Before(earliest.provenTime)`, "", "TestEarliestEvidenceCounts"},
		{"bundle has the rebuilt body", "evidence.go", `!bytes.Equal(body, e.entry.TransparencyLogEntry().GetCanonicalizedBody())`, "", "TestEvidence/no_body"},
		{"type of the bundle", "evidence.go", `b.GetMediaType() != BundleType`, "", "TestEvidence/media_type"},
		{"bundle has the certificate of the object", "evidence.go", `!bytes.Equal(material.GetCertificate().GetRawBytes(), s.leaf.Raw)`, "", "TestEvidence/certificate_replaced"},
		{"digest of the bundle is SHA-256", "evidence.go", `message.GetMessageDigest().GetAlgorithm() != protocommon.HashAlgorithm_SHA2_256`, "", "TestEvidence/digest_algorithm"},
		{"bundle is about this object", "evidence.go", `!bytes.Equal(message.GetMessageDigest().GetDigest(), digest[:])`, "", "TestEvidence/another_digest"},
		{"bundle has one log entry", "evidence.go", `len(material.GetTlogEntries()) != 1`, "", "TestEvidence/two_entries"},
		{"bundle has no timestamps", "evidence.go", `len(material.GetTimestampVerificationData().GetRfc3161Timestamps()) != 0`, "", "TestEvidence/timestamp"},
		{"reason of evidence in another form", "evidence.go", `rejected.Reason == ReasonMalformedSignature`, "", "TestEvidence/label"},
		{"log entry can be read", "entity.go", `err != nil {
		return entity{}, refuse(ReasonBadLogEntry, "entry: %w"`, "", "TestProveLog/log_removed"},
		{"Rekor v1 signs the entry's time", "log_entry.go", `e.isV1 && len(promise) == 0`, "", "TestProveLog/set_removed_timestamp"},
		{"body version from the checkpoint's origin", "log_entry.go", `e.isV1 = c.isV1`, `e.isV1 = true`, "TestProveAccepts/rekor_v2_timestamp"},
		{"body is rebuilt from this digest", "entity.go", `hex.EncodeToString(digest[:])`, `hex.EncodeToString(make([]byte, 32))`, "TestProveAccepts/rekor_v1"},
		{"timestamp token is read", "entity.go", `len(s.token) > 0`, "", "TestProveAccepts/rekor_v2_timestamp"},
		{"transparency log", "proof.go", `sigstore.WithTransparencyLog(1),`, `// out`, "TestProveLog/v2_checkpoint"},
		{"trusted time", "proof.go", `sigstore.WithObserverTimestamps(1),`, `sigstore.WithCurrentTime(),`, "TestProveLog/v2_log_without_timestamp"},
		{"certificate log", "proof.go", `sigstore.WithSignedCertificateTimestamps(1),`, `// out`, "TestProveCertificate/no_certificate_log"},
		{"timestamp where required", "proof.go", `timestamps == TimestampRequired`, "", "TestProveLog/timestamp_required_absent"},
		{"log trusted at that time", "proof.go", `if !trusted {`, `if !trusted && false {`, "TestProveLog/v2_log_retired_before"},
		{"authority trusted at that time", "trusted_root.go", `if outside {`, `if outside && false {`, "TestPinnedChainRespectsValidityPeriod"},
		{"certificate is for signing code", "trusted_root.go", `Roots: p.issuer, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},`, `Roots: p.issuer, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},`, "TestProveCertificate/certificate_for_another_usage"},
		{"no certificate with the marker of a sandbox", "sandbox.go", `isMarked(leaf) && !p.root.hasMarker()`, "", "TestSandboxMarker/leaf"},
		{"certificate valid at that time", "trusted_root.go", `Roots: p.issuer, CurrentTime: at,`, `Roots: p.issuer, CurrentTime: leaf.NotBefore,`, "TestProveCertificate/v2_timestamp_after_expiry"},
		{"issuer is a certificate authority", "trusted_root.go", `!issuer.BasicConstraintsValid || !issuer.IsCA`, `false`, "TestPinChainSkipsOtherChains/issuer_is_not_an_authority"},
		{"root has no constraints", "trusted_root.go", `hasConstraints(top, 1)`, `false`, "TestPinChainSkipsOtherChains/names"},
		{"root signed the issuer", "trusted_root.go", `err != nil || end.Before(start)`, "", "TestPinChainSkipsOtherChains/issuer_of_another_root"},
		{"reason of an entry with a bad signature", "entity.go", `err != nil && !s.matchesCertificateKey()`, "", "TestProveLog/signature_bit"},
		{"reason of a bad signature", "proof.go", `!s.matchesCertificateKey()`, "", "TestProveLog/v2_signature_bit"},
		{"reason of an untrusted log", "proof.go", `!trusted && (!integrated.IsZero() || !p.hasLog(e))`, "", "TestProveLog/unknown_log"},
		{"reason of an altered time", "proof.go", `e.HasInclusionPromise() && tlog.VerifySET(e.entry, p.root.RekorLogs()) != nil`, "", "TestProveLog/time_shifted_far"},
		{"reason of an entry after the certificate's end", "proof.go", `!integrated.IsZero() && !e.leaf.ValidAtTime(integrated, p.root)`, "", "TestProveCertificate/logged_after_expiry"},
		{"reason of a bad log entry", "proof.go", `err != nil {
		return refusal(ReasonBadLogEntry, cause)
	}
	times`, "", "TestProveLog/v2_proof_hash"},
		{"reason of a missing timestamp", "proof.go", `logged > 0`, "", "TestProveLog/timestamp_required_absent"},
		{"reason of an expired certificate", "proof.go", `!e.leaf.ValidAtTime(t.Timestamp, p.root)`, "", "TestProveCertificate/timestamp_after_expiry"},
		{"reason of an untrusted certificate", "proof.go", `err != nil {
			return refusal(ReasonUntrustedCertificate`, "", "TestProveCertificate/foreign_authority"},
		{"reason of an unlogged certificate", "proof.go", `err != nil {
			return refusal(ReasonNoCertificateLog`, "", "TestProveCertificate/no_certificate_log"},
		// The signer.
		{"identity matches", "policy.go", `s.identity.Verify(proven.certificate) != nil`, "", "TestProveIdentity/wrong_subject"},
		{"claims that differ are named", "claim.go", `len(differ) > 0 && s.identity.SubjectAlternativeName.Verify(got) == nil && s.identity.Issuer.Verify(got) == nil`, "", "TestWrongClaimsAreNamed"},
		{"certificate extensions", "signer.go", `sigstore.NewCertificateIdentity(subject, issuer, s.Extensions.expected())`, `sigstore.NewCertificateIdentity(subject, issuer, certificate.Extensions{})`, "TestProveIdentity/other_ref"},
		{"pattern is anchored", "signer.go", `"^(?:"+s.SubjectRegexp+")$"`, `s.SubjectRegexp`, "TestProveIdentity/subject_as_prefix"},
		{"pattern stays inside its anchors", "signer.go", `regexp.Compile(s.SubjectRegexp)`, `regexp.Compile("^(?:" + s.SubjectRegexp + ")$")`, "TestNewPolicyRefuses/pattern_escapes"},
		{"pattern size", "signer.go", `len(s.SubjectRegexp) > maxPattern`, "", "TestNewPolicyRefuses/pattern_too_long"},
		{"pattern can be compiled", "signer.go", `err != nil {
		return sigstore.SubjectAlternativeNameMatcher{}, fmt.Errorf("subject_regexp`, "", "TestNewPolicyRefuses/bad_pattern"},
		{"pattern does not match the empty text", "signer.go", `alone.MatchString("")`, "", "TestNewPolicyRefuses/pattern_matches_everything"},
		{"signer's from", "signer.go", `!at.Before(m.From)`, `true`, "TestCheckWindow/from_is_later"},
		{"signer's until", "signer.go", `(m.Until.IsZero() || at.Before(m.Until))`, `true`, "TestCheckWindow/until_is_exclusive"},
		{"reason of a signer outside the time", "policy.go", `untrusted != ""`, "", "TestCheckRemovedSigner"},
		{"denied commit", "policy.go", `slices.Contains(p.options.Deny.Commits, id)`, "", "TestCheckSameTipAgain"},
		{"denied payload", "policy.go", `slices.Contains(p.options.Deny.Payloads, text)`, "", "TestCheckDeny/payload"},
		{"denied commit between base and tip", "check.go", `	for _, id := range l.path {
		if err := p.deniedUnverified(ctx, repo, id); err != nil {`, `	for range 0 {
		if err := p.deniedUnverified(ctx, repo, l.floor); err != nil {`, "TestCheckDeny/commit_not_verified_in_tip_mode"},
		{"payloads of commits that are not verified", "policy.go", `if len(p.options.Deny.Payloads) > 0 {`, `if false {`, "TestCheckDeny/payload_not_verified_in_tip_mode"},
		{"denied certificate", "policy.go", `slices.Contains(p.options.Deny.Certificates, fingerprint)`, "", "TestCheckDeny/certificate"},
		{"denied log entry", "policy.go", `slices.Contains(p.options.Deny.LogIndexes, proven.logIndex)`, "", "TestCheckDeny/log_index"},
		{"tag is at the ref of its name", "audit.go", `ref != "" && ref != want`, "", "TestAuditTag"},
		{"role change", "policy.go", `!a.signer.may(RoleChange)`, "", "TestCheckRoles"},
		{"paths", "policy.go", `!a.signer.mayChangePath(path)`, "", "TestCheckPaths/other_folder"},
		{"changes for other targets are adopted", "check.go", `err := p.checkAdopted(ctx, repo, path, first); err != nil`, "", "TestChangesForOtherTargets/by_a_limited_tip"},
		{"a commit that adopts names the target", "adopted.go", `return p.namesTarget(a.trailers) && a.signer.may`, `return a.signer.may`, "TestChangesForOtherTargets/by_a_commit_without_a_target"},
		{"a signer who adopts has the role change", "adopted.go", `a.signer.may(RoleChange) && a.signer.foreignPath`, `a.signer.foreignPath`, "TestChangesForOtherTargets/by_an_approver"},
		{"paths of a signer who adopts", "adopted.go", `a.signer.foreignPath(paths) == ""`, `true`, "TestChangesForOtherTargets/by_an_empty_commit_with_a_limit"},
		{"trees of changes for other targets can be compared", "adopted.go", `err != nil {
				return forCommit(a.id, treeProblem`, "", "TestChangesForOtherTargetsThatCannotBeCompared"},
		{"trees can be compared", "policy.go", `err != nil {
		return forCommit(a.id, treeProblem`, "", "TestCheckTreesThatCannotBeCompared/climbs"},
		{"invalid tree is refused", "policy.go", `errors.As(err, &treeError)`, "", "TestCheckTreesThatCannotBeCompared/climbs"},
		{"tree that is too large is refused", "policy.go", `errors.Is(err, gitsource.ErrTooLarge):
		return refusal(ReasonOutOfScope`, "", "TestCheckTreesThatCannotBeCompared/too_large"},
		{"missing tree is refused", "policy.go", `errors.Is(err, gitsource.ErrNotFound):
		return refusal(ReasonIncompleteHistory, err)
	}`, "", "TestCheckTreesThatCannotBeCompared/missing"},
		// The history.
		{"every first parent is verified", "check.go", `p.admitAll(ctx, repo, found.unsealed(l.path))`, `p.admitAll(ctx, repo, l.path[len(l.path)-1:])`, "TestCheckHistory/unsigned_in_the_middle/first-parent"},
		{"side branches are verified", "check.go", `p.options.History == HistoryAll`, "", "TestCheckHistory/signed_merge_of_unsigned_side/all"},
		{"side commits are judged", "check.go", `if err := p.authorizeChange(ctx, repo, a, before); err != nil {
			return err`, `if err := p.authorizeChange(ctx, repo, a, before); err != nil && false {
			return err`, "TestCheckAllModeJudgesSideCommits"},
		{"tip mode judges the whole change", "check.go", `p.judge(ctx, repo, verified, before.tree, since)`, `p.judge(ctx, repo, verified, before.tree[:0]+verified[0].tree, since)`, "TestCheckTipModeJudgesWholeChange"},
		{"descent", "lineage.go", `if from != "" {`, `if false {`, "TestCheckHistory/sibling_branch"},
		{"descent along first parents", "lineage.go", `id = o.parents[0]`, `id = o.parents[len(o.parents)-1]`, "TestCheckHistory/accepted_becomes_second_parent"},
		{"anchor", "check.go", `floor = p.options.Anchor`, `floor = ""`, "TestCheckAnchor"},
		{"reason of a missing anchor", "check.go", `base.Commit == "" && errors.As(err, &rejected) && rejected.Reason == ReasonNotDescendant`, "", "TestCheckAnchor"},
		{"rewrite is allowed for one tip only", "check.go", `base.Rewrite != "" && base.Rewrite == tip`, `base.Rewrite != ""`, "TestCheckRewriteCountsForOneTip"},
		{"first use needs a signer with the role change", "check.go", `a.signer.may(RoleChange) || len(a.parents) == 0`, `true || len(a.parents) == 0`, "TestCheckFirstUseNeedsRoleChange"},
		{"first use judges the whole tree", "check.go", `p.judge(ctx, repo, path, "", time.Time{})`, `p.judge(ctx, repo, path, path[0].tree, time.Time{})`, "TestCheckFirstUseNeedsTheWholeScope"},
		{"complete history", "policy.go", `case errors.Is(err, gitsource.ErrNotFound):
		return object{}`, `case false:
		return object{}`, "TestCheckHistory/shallow/tip"},
		{"range limit", "lineage.go", `len(l.path) > MaxCommits`, "", "TestCheckLimitsRange"},
		{"range limit of an audit", "lineage.go", `len(l.path) == limit`, "", "TestFirstParents"},
		{"side branches count towards the limit", "lineage.go", `len(sides)+len(l.path) == MaxCommits`, "", "TestCheckLimitsSideBranches"},
		{"ancestors are limited", "lineage.go", `read == limit`, "", "TestAncestorsAreLimited"},
		{"proven time does not go back", "check.go", `if err := checkProvenTime(since, a); err != nil {`, `if err := checkProvenTime(time.Time{}, a); err != nil {`, "TestCheckProvenTime/beyond_clock_skew"},
		{"proven time does not go back if the tip is the base", "check.go", `err = checkProvenTime(base.ProvenTime, last)`, `err = nil`, "TestCheckProvenTime/beyond_clock_skew"},
		{"proven time does not go back inside a range", "check.go", `a.proof.provenTime.After(since)`, "", "TestCheckProvenTimeInsideRange"},
		{"tip is not proven before trust.not_before", "check.go", `tip.proof.provenTime.Before(p.options.NotBefore)`, "", "TestCheckNotBefore"},
		{"target is named", "target.go", `!slices.Contains(named, p.options.Target)`, "", "TestCheckTarget/absent"},
		{"targets have the right form", "target.go", `problem != ""`, "", "TestCheckSeveralTargets/other_one_twice"},
		{"target count", "target.go", `len(named) > maxTargets`, "", "TestCheckSeveralTargets/seventeen"},
		{"target is cluster and branch", "target.go", `cluster == "" || branch == ""`, "", "TestCheckSeveralTargets/without_branch"},
		{"one target for each cluster", "target.go", `clusters[cluster] {
			return`, "", "TestCheckSeveralTargets/two_branches"},
		{"promotion has its form", "promotion.go", `cluster == "" || branch == "" || err != nil`, "", "TestParsePromotion"},
		{"promoted tree is the same", "promotion.go", `near[read] == promoted && o.tree != r.tree`, "", "TestCheckPromoted"},
		{"commit without targets is not passed over", "target.go", `len(named) == 0`, "", "TestCandidate/no_target"},
		{"commit with malformed targets is not passed over", "target.go", `targetProblem(named) != ""`, "", "TestCandidate/twice"},
		{"commit for another branch of this cluster is not passed over", "target.go", `strings.HasPrefix(target, own)`, "", "TestCandidate/other_branch"},
		{"commit that cannot be read is not passed over", "target.go", `isRefusal(err)`, "", "TestCandidateSeparatesReadErrors"},
		{"orders for other clusters", "check.go", `p.isForOthers(a.trailers)`, "", "TestOrdersForOtherClusters/others"},
		// Orders.
		{"trailers of the paragraph are known", "order.go", `case isUnknown`, `case false`, "TestOrdersThatDoNotCount/misspelt_with_files"},
		{"order has one parent", "order.go", `len(a.parents) != 1`, "", "TestOrdersThatDoNotCount/merge"},
		{"order changes nothing", "order.go", `!sameTree`, "", "TestOrdersThatDoNotCount/tree_changed"},
		{"order is in the last paragraph", "order.go", `len(found) == 0`, "", "TestOrdersThatDoNotCount/before_target"},
		{"seal is in the last paragraph", "order.go", `len(a.trailers) == 0`, "", "TestSealsThatDoNotCount/quoted"},
		{"order paragraph has only Gitops trailers", "order.go", `!slices.Contains([]string{trailerTarget, trailerApprove, trailerRun, trailerSeal}, t.key)`, "", "TestOrdersThatDoNotCount/among_others"},
		{"order occurs once", "order.go", `slices.Contains(a.trailers[:i], t)`, "", "TestOrdersThatDoNotCount/twice"},
		{"operation names one target", "order.go", `len(targets) != 1`, `false`, "TestRunNamesOneTarget"},
		{"operation is for this target", "order.go", `target != "" && targets[0] != target`, `false`, "TestRunNamesOneTarget"},
		{"order needs the role", "order.go", `Allowed: a.signer.may(role)`, `Allowed: a.signer.may(role) || true`, "TestOrdersNeedTheRole"},
		{"trailers are not the subject", "trailer.go", `gap < 0 || len(bytes.TrimSpace(text[:gap])) == 0 || bytes.IndexByte(message, 0) >= 0`, `gap < 0`, "TestParseTrailers/hidden_by_nul"},
		{"trailer lines only", "trailer.go", `!found || len(line) > maxTrailerLine || !isTrailerKey(key) || !isTrailerValue(value) ||`, `!found ||`, "TestParseTrailers/control_character"},
		{"no invisible characters in an order", "trailer.go", `hasInvisible(key, value)`, "", "TestOrdersThatDoNotCount/overridden"},
		{"trailer count", "trailer.go", `len(lines) > maxTrailers`, "", "TestParseTrailers/too_many"},
		// Seals.
		{"seal does nothing else", "seal.go", `problem != ""`, "", "TestSealsThatDoNotCount/tree_changed"},
		{"one range in a seal", "seal.go", `len(ranges) != 1`, "", "TestSealsThatDoNotCount/twice"},
		{"seal needs the role", "seal.go", `!a.signer.may(RoleSeal)`, "", "TestSealsThatDoNotCount/role"},
		{"range contains a commit", "seal.go", `first == last`, "", "TestSealsThatDoNotCount/empty"},
		{"range begins at an id", "seal.go", `err != nil {
		return span{}, fmt.Errorf("range %q: want <full id>..<full id>: %w", text, err)
	}
	last`, "", "TestSealsThatDoNotCount/short_begin"},
		{"range ends at an id", "seal.go", `err != nil {
		return span{}, fmt.Errorf("range %q: want <full id>..<full id>: %w", text, err)
	}
	if`, "", "TestSealsThatDoNotCount/short_end"},
		{"range can be parsed", "seal.go", `err != nil:
		return span{}, void`, "", "TestSealsThatDoNotCount/short_ids"},
		{"seal is directly above its range", "seal.go", `s.to != a.parents[0]`, "", "TestSealsThatDoNotCount/ends_below"},
		{"range begins below the seal", "seal.go", `depth < 0 || depth+seal > MaxCommits`, "", "TestSealsThatDoNotCount/begins_elsewhere"},
		{"range is not too long", "seal.go", `depth+seal > MaxCommits`, `false`, "TestSealLength"},
		{"seal stops at its range", "seal.go", `below[id] || all[id]`, `all[id]`, "TestSealStopsAtItsRange"},
		{"sealed commits are limited", "seal.go", `read >= limit`, "", "TestSealedIsLimited"},
		{"refusal mentions the void seal", "seal.go", `s.void[id]; reason != nil`, `s.void[id]; reason != nil && false`, "TestSealsThatDoNotCount/role"},
		{"refusal keeps the reason of the commit", "seal.go", `rejected.Err != nil`, "", "TestVoidSealKeepsTheReason"},
		{"denied commit on a sealed side branch", "check.go", `slices.Sorted(maps.Keys(sealed))`, `slices.Sorted(maps.Keys(sealed))[:0]`, "TestSealDoesNotOverrideDenyList"},
		// The options.
		{"trusted root is required", "options.go", `len(o.TrustedRoot) == 0`, "", "TestNewPolicyReportsEveryProblem"},
		{"trusted root is JSON", "trusted_root.go", `err != nil {
		return nil, fmt.Errorf("parse trusted root`, "", "TestNewPolicyRefuses/root_not_json"},
		{"trusted root is complete", "trusted_root.go", `count == 0`, "", "TestNewPolicyRefuses/root_empty"},
		{"no authority of a sandbox", "sandbox.go", `tr.hasMarker() && !o.Sandbox`, "", "TestSandboxMarker/root"},
		{"marked timestamp authority", "sandbox.go", `return err == nil && isMarked(c)`, `return err == nil && isMarked(c) && false`, "TestSandboxMarker/timestamp_authority"},
		{"only authorities of a sandbox in a sandbox", "sandbox.go", `o.Sandbox && !tr.allAuthoritiesMarked()`, "", "TestSandboxMarker/sandbox_without_marker"},
		{"policy has no problems", "policy.go", `err != nil {
		return nil, fmt.Errorf("make policy: %w", err)
	}
	prover`, "", "TestNewPolicyRefuses/no_issuer"},
		{"branch is required", "options.go", `o.Branch == ""`, "", "TestNewPolicyRefuses/branch_missing"},
		{"signers are required", "options.go", `len(o.Signers) == 0`, "", "TestNewPolicyReportsEveryProblem"},
		{"signers have no problems", "options.go", `err != nil {
			problems = append(problems, fmt.Errorf("signer`, "", "TestNewPolicyRefuses/no_issuer"},
		{"signer has a name", "signer.go", `s.Name == ""`, "", "TestNewPolicyRefuses/signer_without_name"},
		{"subject is no pattern", "signer.go", `strings.Contains(s.Subject, "*")`, "", "TestNewPolicyRefuses/subject_with_a_star"},
		{"role is known", "signer.go", `!slices.Contains(Roles(), role)`, "", "TestNewPolicyRefuses/unknown_role"},
		{"one subject or pattern", "signer.go", `(s.Subject == "") == (s.SubjectRegexp == "")`, "", "TestNewPolicyRefuses/no_subject"},
		{"from before until", "signer.go", `!s.From.IsZero() && !s.Until.IsZero() && !s.From.Before(s.Until)`, "", "TestNewPolicyRefuses/from_after_until"},
		{"roles are required", "signer.go", `len(s.May) == 0`, "", "TestNewPolicyRefuses/signer_without_role"},
		{"role once", "signer.go", `slices.Contains(s.May[:i], role)`, "", "TestNewPolicyRefuses/role_twice"},
		{"path is clean", "signer.go", `p != path.Clean(p)`, "", "TestNewPolicyRefuses/path_with_slash"},
		{"path is relative", "signer.go", `path.IsAbs(p)`, "", "TestNewPolicyRefuses/path_absolute"},
		{"path is not the whole source", "signer.go", `p == "."`, "", "TestNewPolicyRefuses/path_of_everything"},
		{"path is not the parent folder", "signer.go", `p == ".."`, "", "TestNewPolicyRefuses/path_above"},
		{"path does not leave the source", "signer.go", `strings.HasPrefix(p, "../")`, "", "TestNewPolicyRefuses/path_climbs"},
		{"guest pattern is valid", "signer.go", `err != nil || g == ""`, `err != nil && false || g == ""`, "TestNewPolicyRefuses/bad_guest_pattern"},
		{"guest pattern is not empty", "signer.go", `g == ""`, "", "TestNewPolicyRefuses/guest_empty"},
		{"vmids are vmids or ranges", "limits.go", `m == nil`, `false`, "TestNewPolicyRefuses/vmids_text"},
		{"range of vmids is in order", "limits.go", `r.First > r.Last`, "", "TestNewPolicyRefuses/vmids_reversed"},
		{"vmids parse", "limits.go", `err != nil {
			problems = append(problems, fmt.Errorf("vmids`, "", "TestNewPolicyRefuses/vmids_text"},
		{"sources have a known form", "limits.go", `!isSourcePattern(p)`, "", "TestNewPolicyRefuses/source_form"},
		{"vmids and sources need guests", "limits.go", `len(s.Guests) == 0 && len(s.VMIDs)+len(s.Sources) > 0`, "", "TestNewPolicyRefuses/vmids_without_guests"},
		{"issuer is required", "signer.go", `s.Issuer == ""`, `false`, "TestNewPolicyRefuses/no_issuer"},
		{"start of trust is required", "options.go", `o.Anchor == "" && !o.TrustOnFirstUse`, "", "TestNewPolicyReportsEveryProblem"},
		{"one start of trust", "options.go", `o.Anchor != "" && o.TrustOnFirstUse`, "", "TestNewPolicyRefuses/anchor_and_first_use"},
		{"anchor is an id", "options.go", `err != nil {
			return fmt.Errorf("trust.anchor`, "", "TestNewPolicyRefuses/anchor_short"},
		{"denied commit is an id", "options.go", `err != nil {
			problems = append(problems, fmt.Errorf("deny: commit`, "", "TestNewPolicyRefuses/deny_short_commit"},
		{"denied certificate is hexadecimal", "options.go", `err != nil || len(raw) != 32`, `err != nil && false || len(raw) != 32`, "TestNewPolicyRefuses/deny_more_than_hex"},
		{"denied certificate is a SHA-256", "options.go", `len(raw) != 32`, "", "TestNewPolicyRefuses/deny_short_certificate"},
		{"denied certificate in lower case", "options.go", `strings.ToLower(text) != text`, "", "TestNewPolicyRefuses/deny_upper_case"},
		{"denied log index is not negative", "options.go", `index < 0`, "", "TestNewPolicyRefuses/deny_negative_index"},
		{"certificates name the branch", "options.go", `m.may(RoleChange) && !s.Extensions.namesRepositoryAndRef()`, "", "TestNewPolicyRefuses/certificate_unbound"},
		{"target matches the branch", "options.go", `o.Target == "" || !strings.HasSuffix(o.Target, "/"+o.Branch)`, "", "TestNewPolicyRefuses/target_other_branch"},
	}
}

// TestChecksAreListed compares the list of checks with the source and the documentation.
func TestChecksAreListed(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(filepath.Join("..", "docs", "internals", "checks.md"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, c := range checks() {
		source, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(source), c.code); n != 1 {
			t.Errorf("%s: got its code %d times in %s, want once", c.name, n, c.file)
		}
		if names[c.name] {
			t.Errorf("%s is listed twice", c.name)
		}
		names[c.name] = true
		if !strings.Contains(string(doc), c.row()) {
			t.Errorf("docs/internals/checks.md lacks the row %s", c.row())
		}
	}
}

// without returns the code with the expression switched before its condition. If switched is false, the check is off.
func (c check) without(switched string) string {
	condition, rest := c.code, ""
	if end := strings.Index(c.code, "\n"); end >= 0 {
		condition = strings.TrimRight(c.code[:end], " {:")
		rest = c.code[len(condition):]
	}
	return "(" + switched + " && (" + condition + "))" + rest
}

// row returns the line of the table in docs/internals/checks.md.
func (c check) row() string { return "| " + c.name + " | `" + c.test + "` |" }
