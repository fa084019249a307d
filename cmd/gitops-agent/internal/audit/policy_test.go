package audit

import (
	"testing"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/clone"
	"gitops-agent/cmd/gitops-agent/internal/term"
)

func TestParseSigner(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, issuer, subject string }{
		"mail":            {"https://accounts.google.com=alice@example.org", "https://accounts.google.com", "alice@example.org"},
		"workflow":        {"https://token.actions.githubusercontent.com=https://github.com/a/b/.github/workflows/c.yaml@refs/heads/main", "https://token.actions.githubusercontent.com", "https://github.com/a/b/.github/workflows/c.yaml@refs/heads/main"},
		"issuer_query":    {"https://idp.test/?realm=home=alice@example.org", "https://idp.test/?realm=home", "alice@example.org"},
		"no_separator":    {"alice@example.org", "", ""},
		"empty_issuer":    {"=alice@example.org", "", ""},
		"empty_subject":   {"https://accounts.google.com=", "", ""},
		"nothing_at_all":  {"", "", ""},
		"only_separators": {"=", "", ""},
		"issuer_pattern":  {"https://*=alice@example.org", "", ""},
		"everyone":        {"https://accounts.google.com=**", "", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := parseSigner(test.text)
			if (err != nil) != (test.issuer == "") || got.Issuer != test.issuer || got.Subject != test.subject {
				t.Errorf("got %q, %q, %v, want %q, %q", got.Issuer, got.Subject, err, test.issuer, test.subject)
			}
			if err != nil && term.ExitStatus(err) != term.ExitUsage {
				t.Errorf("got exit status %d, want %d", term.ExitStatus(err), term.ExitUsage)
			}
		})
	}
}

// A wildcard stands for any text in a subject. Everything else in a subject is compared exactly, also with a wildcard beside it.
func TestSignerWithAWildcard(t *testing.T) {
	t.Parallel()
	const issuer = "https://issuer.test"
	_, root := longHistory(t, 0)
	for _, test := range []struct {
		signer, subject string
		want            bool
	}{
		{"*@example.org", "alice@example.org", true},
		{"*@example.org", "alice@example.org.evil.test", false},
		{"*@example.org", "alice@exampleXorg", false},
		{"alice@*", "alice@example.org", true},
		{"alice@*", "malice@example.org", false},
		{"https://github.com/lab/*@refs/heads/main", "https://github.com/lab/a/.github/workflows/b.yaml@refs/heads/main", true},
		{"https://github.com/lab/*@refs/heads/main", "https://github.com/lab/a/.github/workflows/b.yaml@refs/heads/main2", false},
		{"al.ce@example.org", "alice@example.org", false},
		{"al.ce@example.org", "al.ce@example.org", true},
	} {
		policy, err := policyOf(root, []string{issuer + "=" + test.signer}, clone.Trust{})
		if err != nil {
			t.Fatal(err)
		}
		if got := policy.SignerName(issuer, test.subject, time.Now()) != ""; got != test.want {
			t.Errorf("%s: got %t for %s, want %t", test.signer, got, test.subject, test.want)
		}
	}
}
