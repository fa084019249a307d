package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// cell is one text of a table and its colour.
type cell struct {
	text  string
	paint colour
}

// table prints rows in columns. Widths are counted in runes without colours, which text/tabwriter would count.
type table struct {
	indent string
	rows   [][]cell
}

func (t *table) add(cells ...cell) { t.rows = append(t.rows, cells) }

// addText adds a row without colours.
func (t *table) addText(texts ...string) {
	row := make([]cell, len(texts))
	for i, text := range texts {
		row[i] = cell{text: text}
	}
	t.rows = append(t.rows, row)
}

func (t *table) write(w io.Writer, p palette) {
	var widths []int
	for _, row := range t.rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if i < len(row)-1 { // what follows a row's last cell needs no place
				widths[i] = max(widths[i], utf8.RuneCountInString(printable(c.text)))
			}
		}
	}
	for _, row := range t.rows {
		var line strings.Builder
		line.WriteString(t.indent)
		for i, c := range row {
			text := printable(c.text)
			line.WriteString(p.paint(c.paint, text))
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text)+2))
			}
		}
		_, _ = fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}
