package term

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

func newTestDialogue(t *testing.T, typed string) (*Dialogue, *bytes.Buffer, *os.File) {
	t.Helper()
	in, keyboard, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = in.Close(), keyboard.Close() })
	if _, err := io.WriteString(keyboard, typed); err != nil {
		t.Fatal(err)
	}
	out := new(bytes.Buffer)
	return &Dialogue{in: in, read: bufio.NewReaderSize(in, maxAnswer), out: out}, out, keyboard
}

func TestDialogue(t *testing.T) {
	t.Parallel()
	d, out, keyboard := newTestDialogue(t, "bad\x01answer\n home \n\nYES\nno\n"+strings.Repeat("x", 2*maxAnswer))
	for _, want := range []string{"home", "main"} {
		if got, err := d.Ask(t.Context(), "Name", "main"); err != nil || got != want {
			t.Errorf("got %q and %v, want %q", got, err, want)
		}
	}
	for _, want := range []bool{true, false} {
		if got, err := d.Confirm(t.Context(), "Sure?"); err != nil || got != want {
			t.Errorf("got %v and %v, want %v", got, err, want)
		}
	}
	if !strings.Contains(out.String(), "Name [main]: The answer contains characters that are not printable.\nName [main]: ") {
		t.Errorf("got %q, want the question again after the first answer", out)
	}
	if _, err := d.Ask(t.Context(), "Long", ""); err == nil {
		t.Error("got no error for an answer without an end")
	}
	_ = keyboard.Close()
	for range 3 { // what is left of the long answer
		_, _ = d.Ask(t.Context(), "Long", "")
	}
	if _, err := d.Ask(t.Context(), "After the end", ""); err == nil || !strings.Contains(err.Error(), "the input ended") {
		t.Errorf("got %v, want the end of the input", err)
	}
}

// An interrupt ends a question at once, without Enter.
func TestDialogueEndsWithContext(t *testing.T) {
	t.Parallel()
	d, _, _ := newTestDialogue(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Ask(ctx, "Name", ""); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if _, err := (*Dialogue)(nil).Ask(t.Context(), "Name", ""); !errors.Is(err, ErrNotInteractive) {
		t.Errorf("got %v without a terminal, want ErrNotInteractive", err)
	}
}
