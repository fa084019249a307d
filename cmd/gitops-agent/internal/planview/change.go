package planview

import (
	"slices"
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/guest"
)

// changeView is one difference of a guest, or one key of a guest to be made.
type changeView struct {
	Key    string      `json:"key"`
	From   string      `json:"from"` // "" is unset
	To     string      `json:"to"`   // "" is unset
	Class  guest.Class `json:"class"`
	Note   string      `json:"note,omitempty"`
	Waits  bool        `json:"waits,omitempty"` // it is written, and takes effect at the next start
	Origin string      `json:"origin,omitempty"`
}

// concealed stands for a secret, as Proxmox itself shows one.
const concealed = "**********"

func newChangeView(c guest.Change) changeView {
	view := changeView{c.Key, c.From, c.To, c.Class, c.Note, c.Waits, c.Origin.String()}
	if c.Write == guest.WriteSecret || isSecretKey(c.Key) {
		view.From, view.To = conceal(c.From), conceal(c.To)
	}
	return view
}

// isSecretKey names the keys whose text is a secret wherever it comes from. The planner shows none; this is the second look.
func isSecretKey(key string) bool { return key == "cipassword" || key == "password" }

func conceal(text string) string {
	if text == "" {
		return ""
	}
	return concealed
}

// symbol tells whether a key appears, goes, changes, or cannot.
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

// effect returns what the change does to the guest, in plain words.
func (c changeView) effect() string {
	switch {
	case c.Waits:
		return "restart needed: it is written already"
	case strings.HasPrefix(c.Note, string(c.Class)):
		return c.Note
	default:
		return string(c.Class) + term.Prefixed(": ", c.Note)
	}
}

// values returns both sides as far as they differ: of a value with parts ("virtio=…,bridge=vmbr0", "a;b") those that both sides have are
// one ellipsis.
func (c changeView) values() (from, to string) {
	glue := ","
	if c.Key == "tags" {
		glue = ";"
	}
	old, fresh := strings.Split(c.From, glue), strings.Split(c.To, glue)
	from, to = differing(old, fresh, glue), differing(fresh, old, glue)
	if c.From == "" || c.To == "" || from == to {
		return c.From, c.To
	}
	return from, to
}

// differing returns the parts that others lack.
func differing(parts, others []string, glue string) string {
	own := slices.DeleteFunc(slices.Clone(parts), func(part string) bool { return slices.Contains(others, part) })
	if len(own) < len(parts) {
		own = append([]string{"…"}, own...)
	}
	return strings.Join(own, glue)
}
