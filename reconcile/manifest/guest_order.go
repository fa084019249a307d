package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// wait is a field that makes a guest wait for another guest.
type wait struct {
	on     string // label of the other guest
	reason string // completes "guest A ..." to a sentence: "depends on", "is cloned from", "attaches a volume of"
	volume bool   // a volume of the other guest is attached
	place
}

// checkOrder reports guests that can never be created, because they wait for themselves or for a guest of a higher wave. Without this check the
// guest and all higher waves would wait forever.
func (p *parser) checkOrder() {
	waits := p.waits()
	labels := slices.Sorted(maps.Keys(p.specs))
	for _, label := range labels {
		for _, w := range waits[label] {
			p.checkWave(label, w)
		}
	}
	next := func(label string) []string {
		var out []string
		for _, w := range waits[label] {
			out = append(out, w.on)
		}
		return out
	}
	for _, cycle := range cycles(labels, next) {
		p.reportCycle(cycle, waits)
	}
}

// waits returns what each guest waits for, by label.
func (p *parser) waits() map[string][]wait {
	labels := make(map[int]string) // by the vmids in manifests
	names := make(map[string]string)
	for _, g := range p.set.Guests {
		if g.VMID != 0 {
			labels[g.VMID] = g.Label()
		}
		names[string(g.Kind)+"/"+g.desired.NameInProxmox()] = g.Label()
	}
	waits := make(map[string][]wait)
	for _, g := range p.set.Guests {
		label := g.Label()
		for _, on := range p.specs[label].shared().dependsOn.value {
			if p.specs[on.value] != nil {
				waits[label] = append(waits[label], wait{on.value, "depends on", false, on.place})
			}
		}
		if c := g.desired.Source.Clone; c != nil {
			template := labels[c.VMID]
			if c.Name != "" {
				template = names[string(g.Kind)+"/"+c.Name]
			}
			if template != "" {
				waits[label] = append(waits[label], wait{template, "is cloned from", false, g.placeOf("source", "clone")})
			}
		}
		for _, a := range guest.WantedAttachments(g.desired) {
			if owner, _ := guest.VolumeOwner(a.Volume); owner != g.VMID && labels[owner] != "" {
				waits[label] = append(waits[label], wait{labels[owner], "attaches a volume of", true, place{tree.Position(a.Origin), a.Key}})
			}
		}
	}
	return waits
}

// placeOf returns the position of a field, given by its names below spec.
func (g Guest) placeOf(names ...string) place {
	at := g.merged
	for _, name := range names {
		at = at.Get(name)
	}
	return place{at.Key, strings.Join(names, ".")}
}

// checkWave reports a guest that waits for a guest of a higher wave, which in turn waits for all guests of lower waves. A volume may come from a
// higher wave, if that guest exists: only its creation waits.
func (p *parser) checkWave(label string, w wait) {
	own, other := p.specs[label].shared().wave, p.specs[w.on].shared().wave
	if other.value <= own.value || w.volume {
		return
	}
	at := other.at
	if !other.set { // the default, 0, is higher than a negative wave
		at = p.firsts[w.on]
	}
	p.report.add(Problem{
		Origin: guest.Origin(w.at), Guest: label, Field: w.path,
		Message: fmt.Sprintf("guest %s %s, whose wave %d comes after wave %d", w.reason, w.on, other.value, own.value),
		Hint:    fmt.Sprintf("%s is at %s: give this guest its wave or a higher one", w.on, at),
	})
}

// reportCycle reports guests that wait for each other. Guests that only attach each other's volumes are left alone: volumes keep their names
// when people exchange disks between existing guests.
func (p *parser) reportCycle(cycle []string, waits map[string][]wait) {
	var sentence []string
	onlyVolumes := true
	first := wait{}
	for i, label := range cycle {
		on := cycle[(i+1)%len(cycle)]
		w := waits[label][slices.IndexFunc(waits[label], func(w wait) bool { return w.on == on })]
		if i == 0 {
			first = w
		}
		onlyVolumes = onlyVolumes && w.volume
		sentence = append(sentence, fmt.Sprintf("%s %s (%s)", w.reason, on, w.at))
	}
	if onlyVolumes {
		return
	}
	p.report.add(Problem{
		Origin: guest.Origin(first.at), Guest: cycle[0], Field: first.path,
		Message: "guest waits for itself: it " + strings.Join(sentence, ", which "),
	})
}
