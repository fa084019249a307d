package selection

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/reconcile/report"
)

// Selection chooses guests: those that match every field that is set. It also states their order and groups.
type Selection struct {
	Search   string // each word is contained in the kind, name, vmid, node or a tag
	Node     string
	Tag      string
	Sync     []report.Sync   // one of them
	Health   []report.Health // one of them
	Held     bool            // only guests with a held step
	Problems bool            // only guests that need attention
	Order    Order           // "" is ByVMID
	Reverse  bool
	Group    Grouping // "" is ByAttention
}

// Order is how guests are sorted.
type Order string

// The orders. Guests that are equal are sorted by vmid, then label. Guests without a vmid or a time are last.
const (
	ByVMID   Order = "vmid"
	ByName   Order = "name"
	ByNode   Order = "node"
	BySync   Order = "sync"   // out of sync first
	ByHealth Order = "health" // the worst first
	ByDrift  Order = "drift"  // drifted for the longest time first
	ByRead   Order = "read"   // the oldest reading first
)

// Orders lists every order.
func Orders() []Order { return []Order{ByVMID, ByName, ByNode, BySync, ByHealth, ByDrift, ByRead} }

// Grouping is what guests are grouped by.
type Grouping string

// The groupings.
const (
	ByAttention Grouping = "attention" // guests that need attention, and the others
	ByNodes     Grouping = "node"
	ByKind      Grouping = "kind"
	ByTag       Grouping = "tag" // the first tag
	BySyncs     Grouping = "sync"
	ByHealths   Grouping = "health"
	Ungrouped   Grouping = "none"
)

// Groupings lists every grouping.
func Groupings() []Grouping {
	return []Grouping{ByAttention, ByNodes, ByKind, ByTag, BySyncs, ByHealths, Ungrouped}
}

// Group is selected guests that have something in common.
type Group struct {
	Key    string // what they have in common, "" for all or for guests that lack it; of ByAttention: Attention or NoAction
	Guests []report.Guest
}

// The keys of the groups of ByAttention.
const (
	Attention = "attention"
	NoAction  = "no-action"
)

// IsFilter reports whether the selection may leave out guests.
func (s Selection) IsFilter() bool {
	return s.Search != "" || s.Node != "" || s.Tag != "" || len(s.Sync) > 0 || len(s.Health) > 0 || s.Held || s.Problems
}

// NeedsAttention reports whether a person should look at the guest: it is not in sync, not healthy, has a condition or a held step, or was not read for
// too long.
func NeedsAttention(g report.Guest) bool {
	return g.Sync != report.Synced || g.Stale || len(g.Conditions) > 0 || len(g.Held) > 0 || g.Health == report.Degraded || g.Health == report.Missing
}

// Matches reports whether the selection contains a guest.
func (s Selection) Matches(g report.Guest) bool {
	switch {
	case s.Node != "" && !strings.EqualFold(g.Node, s.Node),
		s.Tag != "" && !slices.ContainsFunc(g.Tags, func(t string) bool { return strings.EqualFold(t, s.Tag) }),
		len(s.Sync) > 0 && !slices.Contains(s.Sync, g.Sync),
		len(s.Health) > 0 && !slices.Contains(s.Health, g.Health),
		s.Held && len(g.Held) == 0,
		s.Problems && !NeedsAttention(g):
		return false
	}
	if s.Search == "" {
		return true
	}
	text := strings.ToLower(strings.Join(append([]string{g.Label(), strconv.Itoa(g.VMID), g.Node}, g.Tags...), "\n"))
	for word := range strings.FieldsSeq(strings.ToLower(s.Search)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// Apply returns the selected guests in groups. No group is empty. It does not change its argument.
func (s Selection) Apply(guests []report.Guest) []Group {
	index := map[string]int{}
	var groups []Group
	for _, g := range guests {
		if !s.Matches(g) {
			continue
		}
		key := s.Group.key(g)
		i, found := index[key]
		if !found {
			i = len(groups)
			index[key], groups = i, append(groups, Group{Key: key})
		}
		groups[i].Guests = append(groups[i].Guests, g)
	}
	for i := range groups {
		slices.SortStableFunc(groups[i].Guests, s.compare)
	}
	slices.SortFunc(groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(s.Group.rank(a.Key), s.Group.rank(b.Key)), last(a.Key == "", b.Key == ""), cmp.Compare(a.Key, b.Key))
	})
	return groups
}

func (by Grouping) key(g report.Guest) string {
	switch by {
	case ByNodes:
		return g.Node
	case ByKind:
		return string(g.Kind)
	case ByTag:
		if len(g.Tags) > 0 {
			return g.Tags[0]
		}
	case BySyncs:
		return string(g.Sync)
	case ByHealths:
		return string(g.Health)
	case Ungrouped:
	case ByAttention, "":
		if NeedsAttention(g) {
			return Attention
		}
		return NoAction
	}
	return ""
}

// rank puts groups that have a natural order into it. Others are sorted by key.
func (by Grouping) rank(key string) int {
	switch by {
	case BySyncs:
		return syncRank(report.Sync(key))
	case ByHealths:
		return healthRank(report.Health(key))
	case ByAttention, ByNodes, ByKind, ByTag, Ungrouped:
	}
	return 0
}

func (s Selection) compare(a, b report.Guest) int {
	by := 0
	switch s.Order {
	case ByName:
		by = cmp.Compare(a.Name, b.Name)
	case ByNode:
		by = cmp.Or(last(a.Node == "", b.Node == ""), cmp.Compare(a.Node, b.Node))
	case BySync:
		by = cmp.Compare(syncRank(a.Sync), syncRank(b.Sync))
	case ByHealth:
		by = cmp.Compare(healthRank(a.Health), healthRank(b.Health))
	case ByDrift:
		by = cmp.Or(last(a.DriftSince.IsZero(), b.DriftSince.IsZero()), a.DriftSince.Compare(b.DriftSince))
	case ByRead:
		by = cmp.Or(last(a.ObservedAt.IsZero(), b.ObservedAt.IsZero()), a.ObservedAt.Compare(b.ObservedAt))
	case ByVMID:
	}
	order := cmp.Or(by, last(a.VMID == 0, b.VMID == 0), cmp.Compare(a.VMID, b.VMID), cmp.Compare(a.Label(), b.Label()))
	if s.Reverse {
		return -order
	}
	return order
}

// last puts what lacks a value behind what has it.
func last(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

func syncRank(s report.Sync) int {
	return slices.Index([]report.Sync{report.OutOfSync, report.SyncUnknown, report.Synced}, s)
}

func healthRank(h report.Health) int {
	return slices.Index([]report.Health{report.Degraded, report.Missing, report.HealthUnknown, report.Progressing, report.HealthSuspended, report.Healthy}, h)
}
