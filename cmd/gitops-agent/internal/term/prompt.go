package term

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrNotInteractive is returned if a question cannot be asked, because the input is not a terminal.
var ErrNotInteractive = errors.New("cannot ask: standard input is not a terminal")

// A Prompt asks the user before a command does something that cannot be undone.
type Prompt struct {
	In          io.Reader
	Out         io.Writer
	Interactive bool // In is a terminal
}

// Confirm asks a question and reports whether the answer is y or yes. It returns ErrNotInteractive if Interactive is false.
func (p Prompt) Confirm(question string) (bool, error) {
	if !p.Interactive {
		return false, ErrNotInteractive
	}
	for line := range strings.Lines(question) {
		_, _ = fmt.Fprint(p.Out, Printable(strings.TrimSuffix(line, "\n")), "\n")
	}
	_, _ = fmt.Fprint(p.Out, "[y/N] ")
	line, err := bufio.NewReader(io.LimitReader(p.In, 1<<10)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read answer: %w", err)
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes", nil
}
