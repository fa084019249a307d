package planview

import (
	"slices"
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/guest"
)

// changeView is one difference of a guest, or one key of a guest to create.
type changeView struct {
	Key    string      `json:"key"`
	From   string      `json:"from"` // "" is unset
	To     string      `json:"to"`   // "" is unset
	Class  guest.Class `json:"class"`
	Note   string      `json:"note,omitempty"`
	Waits  bool        `json:"waits,omitempty"` // already written; takes effect at the next start
	Origin string      `json:"origin,omitempty"`
}

// concealed replaces a secret, as Proxmox itself does.
const concealed = "**********"

func newChangeView(c guest.Change) changeView {
	view := changeView{c.Key, c.From, c.To, c.Class, c.Note, c.Waits, c.Origin.String()}
	if c.Write == guest.WriteSecret || isSecretKey(c.Key) {
		view.From, view.To = conceal(c.From), conceal(c.To)
	}
	return view
}

// isSecretKey reports whether the value of a key is always a secret. The planner already hides secrets; this is a second check.
func isSecretKey(key string) bool { return key == "cipassword" || key == "password" }

func conceal(text string) string {
	if text == "" {
		return ""
	}
	return concealed
}

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
