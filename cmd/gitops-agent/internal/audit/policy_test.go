package audit

import (
	"testing"

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
