package term

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// maxAnswer is the longest answer, in bytes. A terminal itself allows 4,095.
const maxAnswer = 4096

// A Dialogue asks questions at a terminal. A nil Dialogue asks nothing and returns ErrNotInteractive.
type Dialogue struct {
	in   *os.File
	read *bufio.Reader
	out  io.Writer
}

// NewDialogue returns a dialogue, or nil if in is not a terminal.
func NewDialogue(in *os.File, out io.Writer) *Dialogue {
	if !IsTerminal(in) {
		return nil
	}
	return &Dialogue{in: in, read: bufio.NewReaderSize(in, maxAnswer), out: out}
}

// Ask returns the answer to a question, or the proposal if the answer is empty. It asks again after an answer that CheckAnswer refuses.
func (d *Dialogue) Ask(ctx context.Context, question, proposal string) (string, error) {
	if d == nil {
		return "", ErrNotInteractive
	}
	for {
		_, _ = fmt.Fprintf(d.out, "%s%s: ", Printable(question), Prefixed(" [", strings.TrimSpace(Printable(proposal)))+closing(proposal))
		line, err := d.await(ctx, func() (string, error) {
			line, err := d.read.ReadSlice('\n') // bounded by the size of the reader
			return string(line), err
		})
		if err != nil {
			return "", err
		}
		answer := strings.TrimSpace(line)
		if answer == "" {
			return proposal, nil
		}
		if err := CheckAnswer(answer); err == nil {
			return answer, nil
		}
		_, _ = fmt.Fprintln(d.out, "The answer contains characters that are not printable.")
	}
}

func closing(proposal string) string {
	if proposal == "" {
		return ""
	}
	return "]"
}

// Confirm reports whether the answer to a question is y or yes.
func (d *Dialogue) Confirm(ctx context.Context, question string) (bool, error) {
	answer, err := d.Ask(ctx, question+" [y/N]", "")
	answer = strings.ToLower(answer)
	return answer == "y" || answer == "yes", err
}

// AskSecret returns the answer to a question without showing it. If ctx ends first, the terminal shows what is typed again.
func (d *Dialogue) AskSecret(ctx context.Context, question string) (string, error) {
	if d == nil {
		return "", ErrNotInteractive
	}
	_, _ = fmt.Fprintf(d.out, "%s: ", Printable(question))
	defer func() { _, _ = fmt.Fprintln(d.out) }()
	descriptor := int(d.in.Fd())
	before, err := term.GetState(descriptor)
	if err != nil {
		return "", fmt.Errorf("read the state of the terminal: %w", err)
	}
	defer func() { _ = term.Restore(descriptor, before) }()
	return d.await(ctx, func() (string, error) {
		secret, err := term.ReadPassword(descriptor)
		return strings.TrimSpace(string(secret)), err
	})
}

// await returns what read returns, or the error of ctx: a read from a terminal cannot be interrupted, and an interrupt must not wait for a line.
func (d *Dialogue) await(ctx context.Context, read func() (string, error)) (string, error) {
	type answer struct {
		line string
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		line, err := read()
		answered <- answer{line, err}
	}()
	select {
	case <-ctx.Done():
		_, _ = fmt.Fprintln(d.out)
		return "", ctx.Err()
	case a := <-answered:
		if errors.Is(a.err, io.EOF) {
			return "", errors.New("the input ended before the question was answered")
		}
		if a.err != nil {
			return "", fmt.Errorf("read answer: %w", a.err)
		}
		return a.line, nil
	}
}

// CheckAnswer returns an error for a text that a person did not mean: it is too long, is not UTF-8, or contains characters that are not printable.
func CheckAnswer(text string) error {
	switch {
	case len(text) > maxAnswer:
		return fmt.Errorf("got %d bytes, want at most %d", len(text), maxAnswer)
	case !utf8.ValidString(text):
		return errors.New("got a text that is not UTF-8")
	case strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("got %q, want only printable characters", text)
	}
	return nil
}
