package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kinds"
	"gitops-agent/reconcile/manifest/tree"
	"gitops-agent/reconcile/reason"
)

// checkVMIDs reports vmids that two guests have, vmids outside the cluster's range, and guests for which no vmid can be chosen.
func (p *parser) checkVMIDs() {
	firsts := map[int]place{}
	owners := map[int]string{}
	allowed := p.set.Cluster.VMIDs
	for _, g := range p.set.Guests {
		label, c := g.Label(), p.specs[g.Label()].shared()
		vmid := c.vmid.value
		readable := p.set.Cluster.Name != "" && g.desired.Name != ""
		problem := func(at tree.Position, message, hint string) {
			p.report.add(Problem{Origin: guest.Origin(at), Guest: label, Field: "vmid", Message: message, Hint: hint})
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

// checkDependencies reports guests that depend on unknown guests.
func (p *parser) checkDependencies() {
	labels := slices.Sorted(maps.Keys(p.specs))
	for _, label := range labels {
		for _, on := range p.specs[label].shared().dependsOn.value {
			if p.specs[on.value] == nil {
				p.report.add(Problem{
					Origin: guest.Origin(on.at), Guest: label, Field: on.path, Message: "got the unknown guest " + tree.Quote(on.value),
					Hint: didYouMean(sibling(on.value, label, labels)),
				})
			}
		}
	}
}

// sibling returns the most similar label of the same kind to an unknown one, other than the guest's own. It returns "" if none is similar.
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

// checkPlacements reports guests that the agent would move to nodes from which a rule of affinity makes the HA manager move them away.
func (p *parser) checkPlacements() {
	guests := make([]guest.Desired, 0, len(p.set.Guests))
	for i := range p.set.Guests {
		guests = append(guests, p.set.Guests[i].desired)
	}
	for _, c := range kinds.Conflicts(p.set.Objects, guests) {
		migrate := p.specs[c.Guest].shared().placement.migrate
		p.report.add(Problem{
			Origin: guest.Origin(migrate.at), Guest: c.Guest, Field: migrate.path, New: true,
			Message: fmt.Sprintf("got migrate: %s, but %s %s", migrate.value, c.Rule, c.Says),
			Hint:    "at " + c.Origin.String() + "; " + reason.RuleDecides.Text,
		})
	}
}

// checkVolumes reports volumes of guests that two slots claim: both guests would write to the volume.
func (p *parser) checkVolumes() {
	claims := claims{report: p.report, firsts: map[string]claim{}}
	for _, g := range p.set.Guests {
		for _, a := range guest.WantedAttachments(g.desired) {
			if _, owned := guest.VolumeOwner(a.Volume); owned {
				claims.add("volume "+a.Volume, guest.VolumeKey(a.Volume), claim{g, a.Key, a.Origin})
			}
		}
	}
}

// checkShared warns of MAC addresses that two slots claim, which bonds and standby guests do on purpose. It also warns of shared volumes without a
// vmid in their name, such as units of a disk array that clusters of guests share.
func (p *parser) checkShared(warnings *report) {
	claims := claims{report: warnings, firsts: map[string]claim{}}
	for _, g := range p.set.Guests {
		for _, a := range guest.WantedAttachments(g.desired) {
			if _, owned := guest.VolumeOwner(a.Volume); !owned {
				claims.add("volume "+a.Volume, guest.VolumeKey(a.Volume), claim{g, a.Key, a.Origin})
			}
		}
		for _, in := range g.desired.Intents {
			if mac := guest.PinnedMAC(g.Kind, in); mac != "" {
				claims.add("MAC address "+mac, mac, claim{g, in.Key, in.Origin})
			}
		}
	}
}

// claims reports everything that is claimed twice.
type claims struct {
	report *report
	firsts map[string]claim // by what is claimed
}

// claim is a slot that claims a resource.
type claim struct {
	guest Guest
	key   string
	at    guest.Origin
}

func (c *claims) add(what, identity string, by claim) {
	first, taken := c.firsts[identity]
	if !taken {
		c.firsts[identity] = by
		return
	}
	c.report.add(Problem{
		Origin: by.at, Guest: by.guest.Label(), Field: by.key,
		Message: fmt.Sprintf("got the %s, which %s of %s has", what, first.key, first.guest.Label()), Hint: "at " + first.at.String(),
	})
}
