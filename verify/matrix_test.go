package verify_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A matrixCase is an attack or a valid special case, with its outcome and the tests of it.
type matrixCase struct {
	what    string
	outcome string
	folder  string // of the tests, below the module's root
	tests   []string
}

// cryptographic returns the cases about one object, its signature and the proof.
func cryptographic() []matrixCase {
	c := func(what, outcome string, tests ...string) matrixCase {
		return matrixCase{what, outcome, "verify", tests}
	}
	return []matrixCase{
		c("Rekor v1 entry", "accept", "TestProveAccepts/rekor_v1"),
		c("Rekor v1 entry and timestamp", "accept", "TestProveAccepts/rekor_v1_timestamp"),
		c("timestamp where one is required", "accept", "TestProveAccepts/timestamp_required"),
		c("Rekor v2 entry and timestamp", "accept", "TestProveAccepts/rekor_v2_timestamp"),
		c("Ed25519 and ECDSA logs, P-256 and P-384 authorities", "accept", "TestProveKeys"),
		c("workflow with its extensions", "accept", "TestProveAccepts/workflow"),
		c("trusted root written and read again", "accept", "TestProveAccepts/trusted_root_round_trip"),
		c("log key retired after the entry", "accept", "TestProveAccepts/log_retired_later"),
		c("timestamp of an untrusted authority, or an altered one, where none is required", "untrusted-timestamp", "TestOneFormOfTimestamp/of_another_authority", "TestOneFormOfTimestamp/signature_bit"),
		c("log entry written in another way", "malformed-signature", "TestOneFormOfLogEntry/fields_reversed", "TestOneFormOfLogEntry/long_varint", "TestOneFormOfLogEntry/kind", "TestOneFormOfLogEntry/v2_time"),
		c("checkpoint with another name or more signatures", "malformed-signature", "TestOneFormOfLogEntry/checkpoint_signer", "TestOneFormOfLogEntry/v2_checkpoint_witness"),
		c("timestamp written in another way", "malformed-signature", "TestOneFormOfTimestamp/unsigned_attribute", "TestOneFormOfTimestamp/attributes_reversed"),
		c("signature before another header", "malformed", "TestSplitCommitRefuses/signature_before_header"),
		c("annotated tag", "accept", "TestAuditTag"),
		c("unsigned", "unsigned", "TestProveForm/unsigned"),
		c("message changed", "content-mismatch", "TestProveContent/message_changed"),
		c("tree changed", "content-mismatch", "TestProveContent/tree_changed"),
		c("parent changed", "content-mismatch", "TestProveContent/parent_changed"),
		c("date changed", "content-mismatch", "TestProveContent/date_changed"),
		c("header added", "content-mismatch", "TestProveContent/header_added"),
		c("signature of another commit", "content-mismatch", "TestProveContent/signature_of_another_commit"),
		c("signature of a tag on a commit", "content-mismatch", "TestProveContent/signature_of_a_tag"),
		c("tree twice", "malformed", "TestSplitCommitRefuses/tree_twice"),
		c("signature twice", "malformed", "TestSplitCommitRefuses/signature_twice"),
		c("PGP signature", "not-sigstore", "TestProveForm/pgp"),
		c("SSH signature", "not-sigstore", "TestProveForm/ssh"),
		c("junk around the armor", "malformed-signature or not-sigstore", "TestProveForm/junk_before_armor", "TestProveForm/junk_after_armor"),
		c("bit of the signature flipped", "bad-signature", "TestProveLog/signature_bit"),
		c("digest rewritten to fit", "bad-signature", "TestProveContent/digest_rewritten_to_fit"),
		c("no log entry", "online-only", "TestProveForm/no_log_entry"),
		c("timestamp and no log entry", "online-only", "TestProveForm/timestamp_but_no_log_entry"),
		c("evidence of another object", "bad-evidence", "TestEvidence/another_object", "TestEvidence/another_object_of_this_certificate"),
		c("evidence with the signature of another object", "bad-signature", "TestEvidence/another_object_under_this_id", "TestEvidence/signature_of_another_object"),
		c("evidence of another certificate with the same key", "bad-evidence", "TestEvidence/another_certificate", "TestEvidence/logged_with_another_certificate"),
		c("evidence, and the signature of the commit altered", "bad-signature", "TestEvidence/signature_of_the_commit"),
		c("evidence altered", "bad-log-entry or bad-evidence", "TestEvidence/set_flipped", "TestEvidence/proof_hash", "TestEvidence/no_body"),
		c("evidence logged after the certificate's end", "expired-certificate", "TestEvidence/logged_after_expiry"),
		c("signature logged again later", "accept at the earliest time", "TestEarliestEvidenceCounts"),
		c("timestamp required and missing", "no-timestamp", "TestProveLog/timestamp_required_absent"),
		c("timestamp required and of an untrusted authority", "no-timestamp", "TestProveLog/timestamp_required_foreign"),
		c("signed entry timestamp altered", "bad-log-entry", "TestProveLog/set_flipped"),
		c("signed entry timestamp removed", "bad-log-entry", "TestProveLog/set_removed"),
		c("integrated time shifted", "bad-log-entry", "TestProveLog/time_shifted"),
		c("inclusion proof removed", "bad-log-entry", "TestProveLog/proof_removed"),
		c("hash of the proof altered", "bad-log-entry", "TestProveLog/proof_hash"),
		c("checkpoint signature altered", "bad-log-entry", "TestProveLog/checkpoint_signature"),
		c("wrong root hash", "bad-log-entry", "TestProveLog/root_hash"),
		c("entry of another commit", "bad-log-entry", "TestProveLog/entry_of_another"),
		c("unknown log", "untrusted-log", "TestProveLog/unknown_log"),
		c("certificate in no certificate log", "no-certificate-log", "TestProveCertificate/no_certificate_log"),
		c("another private Sigstore", "untrusted-log", "TestProveLog/another_sigstore"),
		c("logged after the certificate's end", "expired-certificate", "TestProveCertificate/logged_after_expiry"),
		c("logged before the certificate's beginning", "expired-certificate", "TestProveCertificate/logged_before_validity"),
		c("required timestamp after the certificate's end", "expired-certificate", "TestProveCertificate/timestamp_required_and_late"),
		c("optional timestamp after the certificate's end", "expired-certificate", "TestProveCertificate/timestamp_after_expiry"),
		c("wrong subject", "wrong-identity", "TestProveIdentity/wrong_subject"),
		c("right subject, wrong issuer", "wrong-identity", "TestProveIdentity/wrong_issuer"),
		c("allowed subject as a prefix", "wrong-identity", "TestProveIdentity/subject_as_prefix"),
		c("other repository", "wrong-identity", "TestProveIdentity/other_repository"),
		c("other ref", "wrong-identity", "TestProveIdentity/other_ref"),
		c("log key retired before the entry", "untrusted-log", "TestProveLog/log_retired_before"),
		c("certificate log retired before", "no-certificate-log", "TestProveCertificate/certificate_log_retired"),
		c("authority retired before", "untrusted-certificate", "TestProveCertificate/authority_retired_before"),
	}
}

// histories returns the cases about branches, remotes and time.
func histories() []matrixCase {
	in := func(folder, what, outcome string, tests ...string) matrixCase {
		return matrixCase{what, outcome, folder, tests}
	}
	c := func(what, outcome string, tests ...string) matrixCase { return in("verify", what, outcome, tests...) }
	return []matrixCase{
		c("unsigned tip", "unsigned", "TestCheckHistory/unsigned_tip"),
		c("PGP or SSH tip, merge by a forge", "not-sigstore", "TestCheckHistory/forge_merge_tip", "TestCheckHistory/ssh_tip"),
		c("unsigned commit below a signed tip", "unsigned; accept with history tip", "TestCheckHistory/unsigned_in_the_middle"),
		c("commit of an untrusted identity below a signed tip", "wrong-identity; accept with history tip", "TestCheckHistory/wrong_identity_in_the_middle"),
		c("signed merge of an unsigned side branch", "accept; unsigned with history all", "TestCheckHistory/signed_merge_of_unsigned_side"),
		c("signed commit on a forge's merge", "not-sigstore; accept with history tip", "TestCheckHistory/signed_on_top_of_forge_merge"),
		c("merge that makes the accepted commit the second parent", "not-descendant", "TestCheckHistory/accepted_becomes_second_parent"),
		c("force push to an older signed commit", "not-descendant", "TestCheckRefusesRollback"),
		c("force push to a sibling branch", "not-descendant", "TestCheckHistory/sibling_branch"),
		c("history of another repository of the same signer", "not-descendant; on first sync missing-anchor; accept on first use", "TestCheckOtherRepository"),
		c("state lost, then rolled back", "too-old or missing-anchor", "TestCheckNotBefore", "TestCheckAnchor"),
		c("unreviewed signed branch moved onto the target", "wrong-target; accept with binding none", "TestCheckTarget"),
		c("shallow or incomplete history", "incomplete-history", "TestCheckHistory/shallow"),
		c("thousands of commits", "too-many-commits", "TestCheckLimitsRange"),
		c("signature picked onto another parent, tree or message", "content-mismatch", "TestProveContent/parent_changed", "TestProveContent/tree_changed", "TestProveContent/message_changed"),
		c("tree twice, parent after author, two signatures, signature that covers nothing", "malformed",
			"TestSplitCommitRefuses/tree_twice", "TestSplitCommitRefuses/parent_after_author", "TestSplitCommitRefuses/signature_twice", "TestSplitCommitRefuses/sha256_signature"),
		c("log entry removed, altered, exchanged, from an unknown log", "online-only, bad-log-entry or untrusted-log",
			"TestProveForm/no_log_entry", "TestProveLog/index_changed", "TestProveLog/entry_of_another", "TestProveLog/unknown_log"),
		c("stolen key used after the certificate's end", "expired-certificate", "TestProveCertificate/logged_after_expiry"),
		c("retired log, certificate log or authority", "refuse after its end, accept before",
			"TestProveLog/log_retired_before", "TestProveCertificate/certificate_log_retired", "TestProveCertificate/authority_retired_before",
			"TestProveAccepts/log_retired_later", "TestProveAccepts/authority_retired"),
		c("removed signer", "accept before until, outside-window after", "TestCheckRemovedSigner"),
		c("entry of a leaked identity with an old time", "time-went-back or not-descendant", "TestCheckLeakedIdentity"),
		c("clock of the agent wrong", "no effect on verdicts", "TestClockIsNotUsed"),
		c("remote keeps serving an old tip (freeze)", "cannot be detected; alert on age", "TestCheckFreezeIsNotDetected"),
		in("internal/agent", "TUF mirror rolled back", "last root stays in force", "TestRefreshKeepsTheLastRoot/rolled_back"),
		in("internal/agent", "TUF metadata expired", "last root stays in force", "TestRefreshKeepsTheLastRoot/expired"),
		in("gitsource", "symlink, submodule, .. or .git in the tree", "refuse when the tree is read",
			"TestFilesRefusesEntries/symlink", "TestFilesRefusesEntries/submodule", "TestFilesRefusesEntries/dot_dot", "TestFilesRefusesEntries/dot_git"),
		in("gitsource", "interrupted fetch", "error, nothing changes, fetch again", "TestFetchSurvivesCuts"),
	}
}

// row returns the line of the table in docs/internals/checks.md.
func (c matrixCase) row() string {
	return "| " + c.what + " | " + c.outcome + " | `" + strings.Join(c.tests, "`, `") + "` |"
}

// TestMatrixIsCovered compares the matrices with the documentation and with the tests that they name.
func TestMatrixIsCovered(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(filepath.Join("..", "docs", "internals", "checks.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range append(cryptographic(), histories()...) {
		if !strings.Contains(string(doc), c.row()) {
			t.Errorf("docs/internals/checks.md lacks the row %s", c.row())
		}
		for _, test := range c.tests {
			if !hasTest(t, filepath.Join("..", filepath.FromSlash(c.folder)), test) {
				t.Errorf("%s: got no %s in %s", c.what, test, c.folder)
			}
		}
	}
}

// hasTest reports whether a folder has a test, Test or Test/row, in one of its files.
func hasTest(t *testing.T, folder, test string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	function, row, hasRow := strings.Cut(test, "/")
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, body, found := strings.Cut(string(source), "\nfunc "+function+"(")
		body, _, _ = strings.Cut(body, "\n}\n")
		if found && (!hasRow || strings.Contains(body, `"`+row+`"`)) {
			return true
		}
	}
	return false
}
