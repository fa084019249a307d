package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// errNobody says that a question could not be asked.
var errNobody = errors.New("nobody is there to be asked")

// person is whom a command may ask before it does what cannot be taken back.
type person struct {
	in      io.Reader
	out     io.Writer
	present bool // in is a terminal
}

// agrees asks a question. Only y and yes mean yes. Where nobody is present it fails with errNobody.
func (p person) agrees(question string) (bool, error) {
	if !p.present {
		return false, errNobody
	}
	for line := range strings.Lines(question) {
		_, _ = fmt.Fprint(p.out, printable(strings.TrimSuffix(line, "\n")), "\n")
	}
	_, _ = fmt.Fprint(p.out, "[y/N] ")
	line, err := bufio.NewReader(io.LimitReader(p.in, 1<<10)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read answer: %w", err)
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes", nil
}
