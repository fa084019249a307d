package page

import (
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

// guestPage is the page of one guest.
type guestPage struct {
	frame

	Name    string          // as the request names the guest
	View    *guestView      // nil if there is no such guest
	Link    string          // to Proxmox, "" if it is unknown
	Waits   []conditionView // why it waits for other guests
	Needs   []neighbour     // guests on which this one depends
	Needed  []neighbour     // guests that depend on this one
	Rest    []conditionView
	Managed []report.Value
	Others  []report.Value // keys that the manifest does not manage
	Entries []entryView
	Orders  []orderView
}

// neighbour is a guest on which another one depends, or which depends on it.
type neighbour struct {
	guestLink

	Badges []badge
}

func newGuestPage(in Input, g GuestInput) guestPage {
	p := guestPage{frame: newFrame(in, g.Root, "guest"), Name: g.Name}
	p.Title = g.Name
	if g.Guest == nil {
		return p
	}
	v := newGuestView(*g.Guest, in.Now, p.links)
	p.View, p.Title, p.Link = &v, v.Label(), p.links.proxmox(*g.Guest)
	p.TitleTone = worst(*g.Guest)
	for _, label := range g.Guest.DependsOn {
		p.Needs = append(p.Needs, p.neighbour(label))
	}
	for _, c := range v.OtherConditions {
		if c.Type == plan.WaitsFor {
			p.Waits = append(p.Waits, c)
		} else {
			p.Rest = append(p.Rest, c)
		}
	}
	for _, other := range in.Report.NeededBy(v.Label()) {
		p.Needed = append(p.Needed, p.neighbour(other.Label()))
	}
	for _, value := range g.Values {
		if value.Desired != "" || value.Absent || value.Differs {
			p.Managed = append(p.Managed, value)
		} else {
			p.Others = append(p.Others, value)
		}
	}
	p.Orders = p.ordersHere(in.Report.OrdersOf(g.Guest.GuestName))
	for _, e := range g.History {
		p.Entries = append(p.Entries, p.newEntry(e))
	}
	return p
}

// Trouble returns the badges that say that a person should look at the guest.
func (n neighbour) Trouble() []badge {
	var list []badge
	for _, b := range n.Badges {
		if b.Tone != good {
			list = append(list, b)
		}
	}
	return list
}

// NoDifference returns why the page lists no difference.
func (p guestPage) NoDifference() string {
	switch {
	case p.View.IsOrphaned():
		return "No manifest names this guest, so there is nothing to compare it with."
	case p.View.Sync == report.SyncUnknown:
		return "It is not known whether the guest is as its manifest says."
	case p.View.Sync == report.OutOfSync:
		return "No key of its configuration differs from its manifest; the conditions say what does."
	}
	return "The guest is as its manifest says."
}

func (p guestPage) neighbour(label string) neighbour {
	n := neighbour{guestLink: p.links.guest(label)}
	for _, g := range p.Report.Guests {
		if g.Label() == label {
			n.Badges = []badge{syncBadge(g), healthBadge(g.Health)}
		}
	}
	return n
}

// worst returns the most severe colour of a guest's sync and health.
func worst(g report.Guest) tone {
	s, h := syncBadge(g).Tone, healthBadge(g.Health).Tone
	if severity(h) < severity(s) {
		return h
	}
	return s
}
