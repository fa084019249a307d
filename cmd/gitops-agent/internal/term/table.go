package term

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// A Cell is a text of a table and its colour.
type Cell struct {
	Text   string
	Colour Colour
}

// A Table prints rows in columns. It counts widths in runes and ignores colours; text/tabwriter would count them.
type Table struct {
	Indent string // before each row
	rows   [][]Cell
}

// Add adds a row.
func (t *Table) Add(cells ...Cell) { t.rows = append(t.rows, cells) }

// AddText adds a row without colours.
func (t *Table) AddText(texts ...string) {
	row := make([]Cell, len(texts))
	for i, text := range texts {
		row[i] = Cell{Text: text}
	}
	t.rows = append(t.rows, row)
}

// Empty reports whether the table has no rows.
func (t *Table) Empty() bool { return len(t.rows) == 0 }

// Write prints the rows with two spaces between columns. Texts are made printable; see Printable.
func (t *Table) Write(w io.Writer, p Palette) {
	var widths []int
	for _, row := range t.rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if i < len(row)-1 { // the last cell of a row needs no padding
				widths[i] = max(widths[i], utf8.RuneCountInString(Printable(c.Text)))
			}
		}
	}
	for _, row := range t.rows {
		var line strings.Builder
		line.WriteString(t.Indent)
		for i, c := range row {
			text := Printable(c.Text)
			line.WriteString(p.Paint(c.Colour, text))
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text)+2))
			}
		}
		_, _ = fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}
