package audit

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/verify"
)

// writeExplanations prints for each refusal the problem, the rules that passed, and the remedy.
func writeExplanations(out io.Writer, d Document, l Listing) {
	p := term.NewPalette(out)
	r := remedies{d.all}
	explained, leftOut := l.explained(d)
	for _, i := range explained {
		v := newVerdictView(d.all[i])
		_, _ = fmt.Fprintf(out, "\n%s %s\n  %s\n", p.Paint(term.Bold, v.Kind), v.ID, term.Printable(v.Message))
		if v.Verdict == wordSealed {
			_, _ = fmt.Fprintf(out, "  sealed by commit %s\n", v.SealedBy)
			continue
		}
		_, _ = fmt.Fprintf(out, "  rules: %s\n", v.rulesText())
		if v.Hint != "" {
			_, _ = fmt.Fprintf(out, "  remedy: %s\n", term.Printable(v.Hint))
		}
		for _, line := range r.commands(i) {
			_, _ = fmt.Fprintf(out, "    %s\n", term.Printable(line))
		}
	}
	if leftOut > 0 {
		_, _ = fmt.Fprintf(out, "\n%d more for the same reasons; --all explains each\n", leftOut)
	}
}

// rulesText returns "object, signature passed; content failed".
func (v verdictView) rulesText() string {
	var passed []string
	failed := "no rule was checked"
	for _, r := range v.Rules {
		switch r.Result {
		case rulePassed:
			passed = append(passed, r.Rule)
		case ruleFailed:
			failed = r.Rule + " failed"
		case ruleNotChecked:
		}
	}
	if len(passed) == 0 {
		return failed
	}
	return strings.Join(passed, ", ") + " passed; " + failed
}

// remedies returns commands for refused commits and tags. The comments in the commands are for the user who copies them.
type remedies struct{ verdicts []verdict }

// settings returns, for each reason that signing again corrects, the git settings that are needed first.
func settings() map[verify.Reason][]string {
	offline := "git config gitsign.rekorMode offline" // by default gitsign does not store the log entry in the commit
	gitsign := []string{"git config gpg.format x509", "git config gpg.x509.program gitsign", "git config commit.gpgsign true", offline}
	stamped := []string{"git config gitsign.timestampServerURL URL  # of an authority in the trusted root"}
	return map[verify.Reason][]string{
		verify.ReasonUnsigned: gitsign, verify.ReasonNotSigstore: gitsign, verify.ReasonOnlineOnly: {offline},
		verify.ReasonNoTrustedTime: stamped, verify.ReasonNoTimestamp: stamped, verify.ReasonUntrustedTimestamp: stamped,
		verify.ReasonMalformed: nil, verify.ReasonMalformedSignature: nil, verify.ReasonContentMismatch: nil, verify.ReasonBadSignature: nil,
		verify.ReasonBadLogEntry: nil, verify.ReasonExpiredCertificate: nil,
	}
}

// commands returns the commands that correct a refusal, or none if the reason does not determine them.
func (r remedies) commands(i int) []string {
	v := r.verdicts[i]
	if v.Reason == verify.ReasonWrongIdentity {
		return signerFor(v)
	}
	if lookup := evidenceFor(v); lookup != nil {
		return lookup
	}
	before, found := settings()[v.Reason]
	if !found {
		return nil
	}
	if v.below != "" {
		return before // the object itself is signed, and its remedy has the commands for the commit below it
	}
	again := r.signAgain(i)
	if len(again) == 0 {
		return []string{"# review the history, and have it verified from there on, in the agent's config:", "trust:", "  anchor: ID  # of a newer commit: git rev-parse HEAD"}
	}
	return slices.Concat(before, again)
}

// evidenceFor returns the command that fetches evidence about an object whose evidence is missing or wrong.
func evidenceFor(v verdict) []string {
	const fetch = "gitops-agent evidence fetch %s --rekor https://rekor.sigstore.dev%s"
	switch v.Reason { //nolint:exhaustive // the other reasons are not about evidence
	case verify.ReasonEvidenceMissing:
		return []string{fmt.Sprintf(fetch, v.Object, "")}
	case verify.ReasonBadEvidence:
		return []string{fmt.Sprintf(fetch, v.Object, " --again")}
	}
	return nil
}

// signerFor returns the signer that the config lacks. If a signer differs only in its extensions, it returns none: the extensions are what keeps other
// workflows out, so a person has to compare them.
func signerFor(v verdict) []string {
	if errors.As(v.Err, new(*verify.ClaimError)) {
		return nil
	}
	lines := []string{
		"# in the agent's config, if this identity may sign:", "trust:", "  signers:",
		fmt.Sprintf("    - {name: PERSON, issuer: %q, subject: %q, may: [change]}", v.Issuer, v.Subject),
	}
	if run := v.Run(); run.SourceRepositoryURI != "" { // a workflow: without extensions, every run with this subject would match
		lines[len(lines)-1] = fmt.Sprintf("    - {name: WORKFLOW, issuer: %q, subject: %q, may: [change],", v.Issuer, v.Subject)
		lines = append(lines, fmt.Sprintf("       extensions: {source_repository_uri: %q, source_repository_ref: %q, build_signer_uri: %q}}", run.SourceRepositoryURI, run.SourceRepositoryRef, run.BuildSignerURI))
	}
	return lines
}

// signAgain returns the commands that sign an object again. A commit below HEAD can be rewritten together with all later commits, if these are not those of
// several people, or sealed. It returns none for what is too old for both.
func (r remedies) signAgain(i int) []string {
	v := r.verdicts[i]
	switch {
	case v.kind == kindTag && v.name == "":
		return []string{"git tag --force --sign -m MESSAGE NAME 'NAME^{}'"}
	case v.kind == kindTag:
		return []string{fmt.Sprintf("git tag --force --sign -m MESSAGE %s '%s^{}'", v.name, v.name)}
	case v.depth == 0:
		return []string{"git commit --amend --no-edit --allow-empty --gpg-sign"}
	}
	below := string(v.Object) + "~1"
	if v.first {
		below = "--root"
	}
	var lines []string
	if v.depth > 0 && r.signersAbove(i) < 2 {
		lines = append(lines, fmt.Sprintf("git rebase --rebase-merges --exec 'git commit --amend --no-edit --allow-empty --gpg-sign' %s  # signs all of them again", below))
	}
	if v.depth > 0 && !v.first {
		lines = append(lines, "# if the history must not change, by a signer with the role seal:",
			fmt.Sprintf("git commit --allow-empty --gpg-sign -m Reviewed -m \"Gitops-Seal: $(git rev-parse %s)..$(git rev-parse HEAD)\"", below))
	}
	return lines
}

// signersAbove returns how many people, as far as signatures prove it, signed commits above one. A rebase would replace their signatures.
func (r remedies) signersAbove(i int) int {
	people := make(map[string]bool)
	for _, v := range r.verdicts[i+1:] {
		if v.Subject != "" {
			people[v.Issuer+" "+v.Subject] = true
		}
	}
	return len(people)
}
