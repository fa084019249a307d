package planview

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/guest"
)

// Bounds of a text plan; -o json has the full values.
const (
	maxShownValue = 60 // runes of one side of a change
	maxColumn     = 42 // runes of a cell if the columns are too wide for the line; a longer text gets its own line
	wholeRow      = 1 << 10
)

// changeRow is one change of a guest, ready to print.
type changeRow struct {
	symbol, key, value, effect, place string
	mark, paint                       term.Colour // of the symbol and the effect
}

func newChangeRow(g guestView, c changeView, runes int) changeRow {
	r := changeRow{
		symbol: c.symbol(), key: term.Printable(c.Key), value: term.Printable(c.shown(runes)), effect: term.Printable(c.effect()), place: term.Printable(c.place(g)),
		mark: c.colour(),
	}
	if c.Class != guest.Live {
		r.paint = r.mark
	}
	if g.Action == actionCreate { // a new guest: its changes affect nothing that runs
		if r.effect = ""; c.Key == "protection" { // that of its template
			r.effect = term.Printable(c.Note)
		}
	}
	return r
}

// place returns the manifest line of the change. It omits the file if that is the file in the heading of the guest.
func (c changeView) place(g guestView) string {
	file, _, _ := strings.Cut(g.Origin, ":")
	if rest, own := strings.CutPrefix(c.Origin, file+":"); own && file != "" {
		line, _, _ := strings.Cut(rest, ":")
		return "line " + line
	}
	return c.Origin
}

// isLong reports whether a cell of the row is longer than the bound, so that it would widen the columns of all other rows.
func (r changeRow) isLong(longest int) bool {
	return utf8.RuneCountInString(r.value) > longest || utf8.RuneCountInString(r.effect) > longest
}

// columnWidths are the widths of a guest's columns, in runes.
type columnWidths struct {
	key, value, effect, place int
	longest                   int // longer texts are not aligned
}

// columnsOf returns the widths that the rows need, without those that are longer than a bound.
func columnsOf(rows []changeRow, longest int) columnWidths {
	c := columnWidths{longest: longest}
	for _, r := range rows {
		c.key = max(c.key, utf8.RuneCountInString(r.key))
		if !r.isLong(longest) {
			c.value, c.effect = max(c.value, utf8.RuneCountInString(r.value)), max(c.effect, utf8.RuneCountInString(r.effect))
			c.place = max(c.place, utf8.RuneCountInString(r.place))
		}
	}
	return c
}

// lead is the column in which values begin: after an indent, a symbol and the key.
func (c columnWidths) lead() int { return 4 + 2 + c.key + 2 }

func (c columnWidths) width() int { return c.lead() + c.value + 2 + c.effect + 2 + c.place }

// writeChanges prints one line per change, in columns. If the columns do not fit, or a single change is long, the effect is on a second line.
func (t textPrinter) writeChanges(g guestView) {
	rows := make([]changeRow, len(g.Changes))
	for i, c := range g.Changes {
		rows[i] = newChangeRow(g, c, maxShownValue)
	}
	columns := columnsOf(rows, wholeRow)
	if columns.width() > t.width {
		columns = columnsOf(rows, maxColumn)
	}
	narrow := columns.width() > t.width
	if t.wraps { // values are cut to the width of the terminal
		for i, c := range g.Changes {
			rows[i] = newChangeRow(g, c, min(maxShownValue, max((t.width-columns.lead()-len(" > "))/2, 8)))
		}
	}
	for _, r := range rows {
		_, _ = fmt.Fprint(t.out, "    ", t.Paint(r.mark, r.symbol), " ", padded(r.key, columns.key), "  ")
		if !narrow && !r.isLong(columns.longest) {
			t.writeColumns(r, columns)
			continue
		}
		_, _ = fmt.Fprintln(t.out, r.value)
		t.line(cmp.Or(r.paint, term.Faint), strings.Repeat(" ", columns.lead()), strings.TrimPrefix(strings.TrimRight(r.effect+"  "+r.place, " "), "  "))
	}
}

func (t textPrinter) writeColumns(r changeRow, columns columnWidths) {
	text := padded(r.value, columns.value)
	if columns.effect > 0 {
		text += "  " + t.Paint(r.paint, r.effect) + strings.Repeat(" ", columns.effect-utf8.RuneCountInString(r.effect))
	}
	if r.place != "" {
		text += "  " + t.Paint(term.Faint, r.place)
	}
	_, _ = fmt.Fprintln(t.out, strings.TrimRight(text, " "))
}

func padded(text string, width int) string {
	return text + strings.Repeat(" ", max(width-utf8.RuneCountInString(text), 0))
}

// shown returns the old and the new value, each cut to a number of runes, or only the one that is set; the symbol shows which one.
func (c changeView) shown(runes int) string {
	from, to := c.values()
	switch {
	case from == "":
		return term.Shorten(cmp.Or(to, "(empty)"), 2*runes)
	case to == "":
		return term.Shorten(from, 2*runes)
	default:
		return term.Shorten(from, runes) + " → " + term.Shorten(to, runes)
	}
}
