package audit

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The identity with the most objects is first, the unproven one last. The same subject of another issuer is another identity.
func TestSignerSums(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	verdict := func(word, subject, issuer string, at time.Time) verdictView {
		return verdictView{Verdict: word, Subject: subject, Issuer: issuer, ProvenTime: at}
	}
	var sums signerSums
	for _, v := range []verdictView{
		verdict(wordRefused, "", "", time.Time{}), verdict(wordRefused, "", "", time.Time{}), verdict(wordSealed, "", "", time.Time{}),
		verdict(wordAccepted, "bob", "a", day(3)),
		verdict(wordAccepted, "alice", "a", day(4)), verdict(wordRefused, "alice", "a", day(2)), verdict(wordAccepted, "alice", "a", day(5)),
		verdict(wordRefused, "alice", "b", day(1)),
	} {
		sums.add(v)
	}
	got := sums.sorted()
	want := []signerView{
		{Subject: "alice", Issuer: "a", Accepted: 2, Refused: 1, First: day(2), Last: day(5)},
		{Subject: "alice", Issuer: "b", Refused: 1, First: day(1), Last: day(1)},
		{Subject: "bob", Issuer: "a", Accepted: 1, First: day(3), Last: day(3)},
		{Refused: 2, Sealed: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("signers (-want +got):\n%s", diff)
	}
	if got := (signerSums{}).sorted(); got == nil || len(got) != 0 {
		t.Errorf("got %#v without verdicts, want an empty list", got)
	}
}
