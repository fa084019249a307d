package audit

import (
	"slices"
	"strings"
	"testing"

	"gitops-agent/verify"
)

// Each remedy is possible and weakens nothing: amend only for HEAD, no rebase of what several people signed, no seal that is too far above, and no signer
// without the extensions that were compared.
func TestRemedies(t *testing.T) {
	t.Parallel()
	unsigned := func(depth int) verdict {
		return verdict{kind: "commit", depth: depth, Verdict: verify.Verdict{Object: "c0ffee", Reason: verify.ReasonUnsigned}}
	}
	by := func(subject string) verdict {
		return verdict{kind: "commit", Verdict: verify.Verdict{Object: "abc", Accepted: true, Subject: subject, Issuer: "https://issuer.test"}}
	}
	stranger := func(v verify.Verdict) verdict {
		v.Reason, v.Subject, v.Issuer = verify.ReasonWrongIdentity, "https://forge.test/w.yaml@refs/heads/main", "https://issuer.test"
		return verdict{kind: "commit", Verdict: v}
	}
	first := unsigned(5)
	first.first = true
	for name, test := range map[string]struct {
		verdicts []verdict
		want     []string // begin a line each, in this order
		not      string
	}{
		"head":               {[]verdict{unsigned(0)}, []string{"git commit --amend"}, "rebase"},
		"below_head":         {[]verdict{unsigned(1), by("alice")}, []string{"git rebase", "git commit --allow-empty"}, "anchor"},
		"below_two_people":   {[]verdict{unsigned(2), by("alice"), by("bob")}, []string{"git commit --allow-empty"}, "rebase"},
		"first_of_two":       {[]verdict{first, by("alice"), by("bob")}, []string{"  anchor:"}, "Gitops-Seal"},
		"too_old":            {[]verdict{unsigned(notBelowHead)}, []string{"  anchor:"}, "git config"},
		"person":             {[]verdict{stranger(verify.Verdict{})}, []string{"    - {name: PERSON"}, "extensions"},
		"workflow":           {[]verdict{stranger(verify.Verdict{Extensions: &verify.Extensions{SourceRepositoryURI: "https://forge.test/r", SourceRepositoryRef: "refs/heads/main"}})}, []string{"    - {name: WORKFLOW", "       extensions: {source_repository_uri"}, "PERSON"},
		"only_claims_differ": {[]verdict{stranger(verify.Verdict{Err: &verify.ClaimError{Signer: "merge"}})}, nil, "name:"},
	} {
		lines := remedies{test.verdicts}.commands(0)
		rest := lines
		for _, want := range test.want {
			at := slices.IndexFunc(rest, func(line string) bool { return strings.HasPrefix(line, want) })
			if at < 0 {
				t.Errorf("%s: got\n%s\nwant a line that begins with %q", name, strings.Join(lines, "\n"), want)
				break
			}
			rest = rest[at+1:]
		}
		if strings.Contains(strings.Join(lines, "\n"), test.not) {
			t.Errorf("%s: got\n%s\nwant no %q", name, strings.Join(lines, "\n"), test.not)
		}
	}
}
