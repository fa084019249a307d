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

// End clears the line. Later calls of Show print nothing.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		_, _ = fmt.Fprint(p.out, "\r\x1b[K")
	}
	p.out = nil
}
