package verify

import (
	"regexp"
	"runtime/metrics"
	"testing"

	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"
)

// requireBounded runs f and fails the test if f allocates more than limit bytes plus 1 MiB.
func requireBounded(tb testing.TB, limit int, f func()) {
	tb.Helper()
	before := allocated()
	f()
	if got := allocated() - before; got > uint64(limit)+1<<20 {
		tb.Errorf("got %d bytes allocated, want at most %d", got, limit+1<<20)
	}
}

// allocated returns the bytes that the process has ever allocated.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// FuzzSignerPattern: an accepted pattern matches a subject only from its first to its last byte. Alternatives, flags, groups
// and line ends cannot escape the anchors.
func FuzzSignerPattern(f *testing.F) {
	for _, seed := range []struct{ pattern, subject string }{
		{"alice@lab[.]test", "alice@lab.test"},
		{"alice@lab[.]test|bob@lab[.]test", "bob@lab.test.evil.test"},
		{"a)|(?:b", "b"},
		{"(?m)^alice$", "alice\nmallory"},
		{"(?s)alice.", "alice\n"},
		{"alice$", "alice\n"},
		{"(?i)ALICE|(?U)a+", "aaa"},
		{`\Qa)|(b\E`, "a)|(b"},
		{"a|ab", "ab"},
		{"https://github[.]com/lab/guests/.+@refs/heads/main", "https://github.com/lab/guests/x@refs/heads/main"},
	} {
		f.Add(seed.pattern, seed.subject)
	}
	f.Fuzz(func(t *testing.T, pattern, subject string) {
		var m *matcher
		var err error
		requireBounded(t, 64<<20, func() {
			m, err = newMatcher(Signer{Name: "x", Issuer: "https://issuer.test", SubjectRegexp: pattern, May: []Role{RoleChange}})
		})
		if err != nil {
			return
		}
		alone := regexp.MustCompile(pattern)
		alone.Longest()
		at := alone.FindStringIndex(subject)
		whole := at != nil && at[0] == 0 && at[1] == len(subject)
		claims := certificate.Summary{SubjectAlternativeName: subject, Extensions: certificate.Extensions{Issuer: "https://issuer.test"}}
		if got := m.identity.Verify(claims) == nil; got != whole {
			t.Errorf("pattern %q on %q: got %v, want %v", pattern, subject, got, whole)
		}
		claims.Issuer += "/"
		if m.identity.Verify(claims) == nil {
			t.Errorf("pattern %q on %q of another issuer: got it accepted", pattern, subject)
		}
	})
}
