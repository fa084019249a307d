package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
)

// checkVMIDs reports vmids that two guests claim, that lie outside the cluster's range, or that nothing can give.
func (p *parser) checkVMIDs() {
	firsts := map[int]place{}
	owners := map[int]string{}
	allowed := p.set.Cluster.VMIDs
	for _, g := range p.set.Guests {
		label, c := g.Label(), p.specs[g.Label()].shared()
		vmid := c.vmid.value
		readable := p.set.Cluster.Name != "" && g.desired.Name != ""
		problem := func(at guest.Origin, message, hint string) {
			p.report.add(Problem{Origin: at, Guest: label, Field: "vmid", Message: message, Hint: hint})
		}
		first, taken := firsts[vmid]
		switch {
		case !c.vmid.set && allowed == (Range{}) && readable:
			problem(p.firsts[label], "got none, and the Cluster has no vmids to take one from", "set vmid here, or spec.vmids in the Cluster")
		case !c.vmid.set:
		case taken:
			problem(c.vmid.at, fmt.Sprintf("got %d, which %s has", vmid, owners[vmid]), "at "+first.at.String())
		case allowed != (Range{}) && !allowed.Has(vmid) && c.adopt.value != "ifUnmanaged":
			problem(c.vmid.at, fmt.Sprintf("got %d, want one of the Cluster's vmids, %d to %d", vmid, allowed.From, allowed.To), "only adopted guests may lie outside")
		}
		if c.vmid.set && !taken {
			firsts[vmid], owners[vmid] = c.vmid.place, label
		}
	}
}

// checkDependencies reports guests that depend on unknown ones or on themselves.
func (p *parser) checkDependencies() {
	labels := slices.Sorted(maps.Keys(p.specs))
	for _, label := range labels {
		for _, on := range p.specs[label].shared().dependsOn.value {
			if p.specs[on.value] == nil {
				p.report.add(Problem{
					Origin: on.at, Guest: label, Field: on.path, Message: "got the unknown guest " + quote(on.value),
					Hint: didYouMean(sibling(on.value, label, labels)),
				})
			}
		}
	}
	next := func(label string) []string {
		if p.specs[label] == nil {
			return nil
		}
		return texts(p.specs[label].shared().dependsOn)
	}
	for _, cycle := range cycles(labels, next) {
		on := p.specs[cycle[0]].shared().dependsOn
		p.report.add(Problem{
			Origin: on.at, Guest: cycle[0], Field: on.path,
			Message: "guest depends on itself: " + strings.Join(append(cycle, cycle[0]), " -> "),
		})
	}
}

// sibling returns the label, other than that of the guest itself, that an unknown one of its kind most likely meant, "" where none is near.
func sibling(unknown, self string, labels []string) string {
	kind, name, _ := strings.Cut(unknown, "/")
	var names []string
	for _, label := range labels {
		if rest, same := strings.CutPrefix(label, kind+"/"); same && label != self {
			names = append(names, rest)
		}
	}
	if meant := closest(name, names); meant != "" {
		return kind + "/" + meant
	}
	return ""
}

// checkShared reports volumes and addresses that two slots claim: both guests would write to the one, and answer to the other.
func (p *parser) checkShared() {
	type claim struct{ guest, key, at string }
	firsts := map[string]claim{}
	for _, g := range p.set.Guests {
		check := func(what, key, identity string, at guest.Origin) {
			first, taken := firsts[identity]
			if !taken {
				firsts[identity] = claim{g.Label(), key, at.String()}
				return
			}
			p.report.add(Problem{
				Origin: at, Guest: g.Label(), Field: key, Message: fmt.Sprintf("got the %s, which %s of %s has", what, first.key, first.guest), Hint: "at " + first.at,
			})
		}
		for _, a := range guest.Attached(g.desired) {
			check("volume "+a.Volume, a.Key, "volume "+guest.VolumeKey(a.Volume), a.Origin)
		}
		for _, in := range g.desired.Intents {
			if mac := guest.PinnedMAC(g.Kind, in); mac != "" {
				check("MAC address "+mac, in.Key, "mac "+mac, in.Origin)
			}
		}
	}
}
