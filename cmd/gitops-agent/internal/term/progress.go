package term

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Progress shows the state of long work on one line of a terminal, at most ten times a second. If the output is not a terminal, it prints
// nothing. Its methods may be called by several goroutines at once.
type Progress struct {
	mu    sync.Mutex
	out   io.Writer // nil prints nothing
	last  time.Time
	shown bool
}

// NewProgress returns a Progress that prints to out.
func NewProgress(out io.Writer) *Progress {
	if !IsTerminal(out) {
		out = nil
	}
	return &Progress{out: out}
}

// Show replaces the line.
func (p *Progress) Show(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out == nil || time.Since(p.last) < 100*time.Millisecond {
		return
	}
	p.last, p.shown = time.Now(), true
	_, _ = fmt.Fprintf(p.out, "\r\x1b[K%s", Shorten(Printable(fmt.Sprintf(format, args...)), 100))
}

// Count returns a function that shows how much of something is done, and, once there is something to judge by, the rate and the time that is left:
// "verified 3120 of 15507, 620/s, 20s left". The rate is that since the first call; another total begins another count.
// Without a total, of is 0 and no time is left to show.
func (p *Progress) Count(what string) func(n, of int) {
	c := counter{what: what}
	return func(n, of int) {
		if p.isSilent() {
			return
		}
		p.Show("%s", c.text(n, of, time.Now()))
	}
}

// isSilent reports whether nothing is printed.
func (p *Progress) isSilent() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out == nil
}

// A counter measures the rate of work. Its methods may be called by several goroutines at once.
type counter struct {
	what string

	mu    sync.Mutex
	start time.Time // of the count
	first int       // the number at start
	of    int       // another number begins another count
}

// text returns what is done at a time.
func (c *counter) text(n, of int, at time.Time) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.start.IsZero() || of != c.of {
		c.start, c.first, c.of = at, n, of
	}
	text := fmt.Sprintf("%s %d", c.what, n)
	if of > 0 {
		text += fmt.Sprintf(" of %d", of)
	}
	elapsed := at.Sub(c.start).Seconds()
	if done := n - c.first; done > 0 && elapsed > 0 {
		rate := float64(done) / elapsed
		text += fmt.Sprintf(", %.0f/s", rate)
		if of > 0 {
			left := time.Duration(float64(of-n) / rate * float64(time.Second))
			text += fmt.Sprintf(", %s left", left.Round(time.Second))
		}
	}
	return text
}

// End clears the line. Later calls of Show print nothing.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		_, _ = fmt.Fprint(p.out, "\r\x1b[K")
	}
	p.out = nil
}
