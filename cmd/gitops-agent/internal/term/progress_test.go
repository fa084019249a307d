package term

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var terminal bytes.Buffer
		p := &Progress{out: &terminal}
		p.Show("verified %d of %d", 1, 9)
		p.Show("verified %d of %d", 2, 9) // within 100 ms, so not printed
		time.Sleep(time.Second)
		p.Show("verified %d of %d\x1b[2J", 3, 9)
		p.End()
		p.Show("verified %d of %d", 4, 9)
		want := "\r\x1b[Kverified 1 of 9\r\x1b[Kverified 3 of 9\uFFFD[2J\r\x1b[K"
		if terminal.String() != want {
			t.Errorf("got %q, want %q", terminal.String(), want)
		}
	})
}

// A writer that is not a terminal gets no progress, and no escape sequence that clears it.
func TestProgressIsSilentElsewhere(t *testing.T) {
	t.Parallel()
	var file strings.Builder
	p := NewProgress(&file)
	p.Show("verified 1 of 9")
	p.End()
	if file.Len() > 0 {
		t.Errorf("got %q, want nothing", file.String())
	}
}

// A count has its rate and the time that is left as soon as there is something to judge by. Another total begins another count.
func TestCount(t *testing.T) {
	t.Parallel()
	c := counter{what: "verified"}
	start := time.Unix(1_700_000_000, 0)
	for _, test := range []struct {
		n, of int
		after time.Duration
		want  string
	}{
		{1, 1001, 0, "verified 1 of 1001"},
		{101, 1001, 500 * time.Millisecond, "verified 101 of 1001, 200/s, 5s left"},
		{1001, 1001, 5 * time.Second, "verified 1001 of 1001, 200/s, 0s left"},
		{1, 61, 6 * time.Second, "verified 1 of 61"},
		{2, 61, 7 * time.Second, "verified 2 of 61, 1/s, 59s left"},
		{10, 0, 8 * time.Second, "verified 10"},
		{30, 0, 10 * time.Second, "verified 30, 10/s"},
	} {
		if got := c.text(test.n, test.of, start.Add(test.after)); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

// The first number is shown at once.
func TestCountBeginsAtOnce(t *testing.T) {
	t.Parallel()
	var terminal bytes.Buffer
	(&Progress{out: &terminal}).Count("verified")(1, 9)
	if !strings.Contains(terminal.String(), "verified 1 of 9") {
		t.Errorf("got %q, want the first number", terminal.String())
	}
	NewProgress(&strings.Builder{}).Count("verified")(1, 9)
}
