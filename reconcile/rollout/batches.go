package rollout

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
)

// split orders the guests and divides them into batches: the canary, and then as many as may be unavailable at the same time.
func split(settings guest.Rollout, staged []member, total int, failed []int) [][]member {
	staged = slices.Clone(staged)
	rank := func(m member) int {
		switch {
		case isCanary(settings, m):
			return 0
		case slices.Contains(failed, m.VMID):
			return 1
		}
		return 2
	}
	slices.SortFunc(staged, func(a, b member) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), compareNames(a.Kind+"/"+a.Name, b.Kind+"/"+b.Name), cmp.Compare(a.VMID, b.VMID))
	})
	first := min(settings.Canary, len(staged))
	if settings.CanaryGuests != "" {
		first = 0
		for first < len(staged) && isCanary(settings, staged[first]) {
			first++
		}
	}
	var batches [][]member
	if first > 0 {
		batches, staged = append(batches, staged[:first]), staged[first:]
	}
	return slices.AppendSeq(batches, slices.Chunk(staged, settings.MaxUnavailable.Of(total)))
}

// Sizes returns the number of guests in each batch of a rollout of some guests.
func Sizes(settings guest.Rollout, labels []string, total int) []int {
	staged := make([]member, len(labels))
	for i, label := range labels {
		staged[i].Kind, staged[i].Name, _ = strings.Cut(label, "/")
	}
	var sizes []int
	for _, batch := range split(settings, staged, total, nil) {
		sizes = append(sizes, len(batch))
	}
	return sizes
}

// isCanary reports whether the settings name the guest as a canary.
func isCanary(settings guest.Rollout, m member) bool {
	return slices.ContainsFunc(strings.Fields(settings.CanaryGuests), func(pattern string) bool {
		matched, err := path.Match(pattern, m.Kind+"/"+m.Name)
		return err == nil && matched
	})
}

// compareNames compares names so that web-2 comes before web-10.
func compareNames(a, b string) int {
	for a != "" && b != "" {
		if n, m := digits(a), digits(b); n > 0 && m > 0 {
			x, y := strings.TrimLeft(a[:n], "0"), strings.TrimLeft(b[:m], "0")
			if c := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)); c != 0 {
				return c
			}
			a, b = a[n:], b[m:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

// digits returns the number of digits with which a text begins.
func digits(text string) int {
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return n
}
