package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

// palette colours text where a person looks at it: on a terminal, unless NO_COLOR is set.
type palette struct{ on bool }

func newPalette(w io.Writer) palette { return palette{isTerminal(w) && os.Getenv("NO_COLOR") == ""} }

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// plainWidth is the width of lines that are not for a terminal.
const plainWidth = 120 // runes

// widthOf returns how many runes a line may have.
func widthOf(w io.Writer) int {
	if file, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return plainWidth
}

// colour is the number of an SGR sequence; "" is none.
type colour string

const (
	plain  colour = ""
	bold   colour = "1"
	faint  colour = "2"
	red    colour = "31"
	green  colour = "32"
	yellow colour = "33"
)

func (p palette) paint(c colour, text string) string {
	if !p.on || c == plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}
