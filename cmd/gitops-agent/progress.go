package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progress shows on a terminal how far long work is, at most ten times a second. Anywhere else it is silent.
type progress struct {
	mu    sync.Mutex
	out   io.Writer // nil is silent
	last  time.Time
	shown bool
}

func newProgress(out io.Writer) *progress {
	if !isTerminal(out) {
		out = nil
	}
	return &progress{out: out}
}

func (p *progress) show(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out == nil || time.Since(p.last) < 100*time.Millisecond {
		return
	}
	p.last, p.shown = time.Now(), true
	_, _ = fmt.Fprintf(p.out, "\r\x1b[K%s", shortened(printable(fmt.Sprintf(format, args...)), 100))
}

// end wipes the line.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		_, _ = fmt.Fprint(p.out, "\r\x1b[K")
	}
	p.out = nil
}
