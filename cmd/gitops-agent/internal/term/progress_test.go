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
