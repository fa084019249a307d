package term

import (
	"io"
	"os"

	"golang.org/x/term"
)

// A Palette colours text. The zero value prints text without colours.
type Palette struct{ On bool }

// NewPalette returns the palette for a writer: on if it is a terminal and NO_COLOR is not set.
func NewPalette(w io.Writer) Palette { return Palette{IsTerminal(w) && os.Getenv("NO_COLOR") == ""} }

// IsTerminal reports whether a writer is a terminal.
func IsTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// DefaultWidth is the width of lines if the output is not a terminal.
const DefaultWidth = 120 // runes

// Width returns the width of a line in runes: that of the terminal, or DefaultWidth.
func Width(w io.Writer) int {
	if file, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return DefaultWidth
}

// A Colour is the parameter of an SGR escape sequence (ECMA-48). Plain means no colour.
type Colour string

// The colours and styles.
const (
	Plain  Colour = ""
	Bold   Colour = "1"
	Faint  Colour = "2"
	Red    Colour = "31"
	Green  Colour = "32"
	Yellow Colour = "33"
)

// Paint returns text in a colour, or text itself if the palette is off.
func (p Palette) Paint(c Colour, text string) string {
	if !p.On || c == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}
