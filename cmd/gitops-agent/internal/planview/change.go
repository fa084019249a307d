package planview

import (
	"slices"
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/report"
)

// changeView is a change of the report, for printing.
type changeView struct{ report.Change }

// symbol returns "+" for a new key, "-" for a removed key, "~" for a changed key, and "!" for a change that is impossible.
func (c changeView) symbol() string {
	switch {
	case c.Class == guest.Impossible:
		return "!"
	case c.From == "":
		return "+"
	case c.To == "":
		return "-"
	default:
		return "~"
	}
}

func (c changeView) colour() term.Colour {
	switch c.Class {
	case guest.Restart:
		return term.Yellow
	case guest.Disruptive, guest.Destructive, guest.Impossible:
		return term.Red
	case guest.Live:
	}
	return map[string]term.Colour{"+": term.Green, "-": term.Red, "~": term.Yellow}[c.symbol()]
}

// effect returns the effect of the change on the guest.
func (c changeView) effect() string {
	switch {
	case c.Waits:
		return "restart needed: already written"
	case strings.HasPrefix(c.Note, string(c.Class)):
		return c.Note
	default:
		return string(c.Class) + term.Prefixed(": ", c.Note)
	}
}

// values returns the old and the new value. In a value with parts ("virtio=…,bridge=vmbr0", "a;b"), an ellipsis replaces the parts that are
// in both.
func (c changeView) values() (from, to string) {
	separator := ","
	if c.Key == "tags" {
		separator = ";"
	}
	before, after := strings.Split(c.From, separator), strings.Split(c.To, separator)
	from, to = differing(before, after, separator), differing(after, before, separator)
	if c.From == "" || c.To == "" || from == to {
		return c.From, c.To
	}
	return from, to
}

// differing returns the parts that are not in others, joined, after an ellipsis if there are also common parts.
func differing(parts, others []string, separator string) string {
	own := slices.DeleteFunc(slices.Clone(parts), func(part string) bool { return slices.Contains(others, part) })
	if len(own) < len(parts) {
		own = append([]string{"…"}, own...)
	}
	return strings.Join(own, separator)
}
