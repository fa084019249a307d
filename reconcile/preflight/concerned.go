package preflight

import (
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/plan"
)

// Concerned returns the guests of a plan that differ from their manifests, each with what the plan needs of it: of a guest that exists only the keys that
// change, since what it already uses exists. Guests in sync need nothing.
func Concerned(guests []guest.Desired, p plan.Plan, inventory cluster.Inventory) []guest.Desired {
	planned := make(map[string]plan.Guest, len(p.Guests))
	for _, g := range p.Guests {
		if g.Managed && !g.Empty() {
			planned[g.Ref.Label()] = g
		}
	}
	var concerned []guest.Desired
	for _, d := range guests {
		g, found := planned[d.Label()]
		if !found || d.Invalid != nil {
			continue
		}
		if _, exists := inventory.Row(d.VMID); exists && d.VMID != 0 {
			d = changesOnly(d, g)
		}
		concerned = append(concerned, d)
	}
	return concerned
}

// ConcernedImages returns the Images of a plan whose files are not all there, or could not be read, or that have former files to delete.
func ConcernedImages(images []image.Desired, p plan.Plan) []image.Desired {
	return slices.DeleteFunc(slices.Clone(images), func(d image.Desired) bool {
		return !slices.ContainsFunc(p.Guests, func(g plan.Guest) bool { return g.Ref == d.Ref() && !g.Empty() })
	})
}

// ConcernedFormer returns the storages from which a plan deletes files of removed Images.
func ConcernedFormer(p plan.Plan) []image.Former {
	var former []image.Former
	for _, g := range p.Guests {
		for _, s := range g.Steps {
			if s.Former != nil && !g.Managed {
				former = append(former, image.Former{Name: g.Ref.Name, Storage: guest.VolumeStorage(s.Former.Volume)})
			}
		}
	}
	return former
}

// ConcernedObjects returns the objects of package kinds that differ from their manifests.
func ConcernedObjects(objects []kind.Desired, p plan.Plan) []kind.Desired {
	return slices.DeleteFunc(slices.Clone(objects), func(d kind.Desired) bool {
		return !slices.ContainsFunc(p.Guests, func(g plan.Guest) bool { return g.Ref == d.Ref() && !g.Empty() })
	})
}

// changesOnly returns an existing guest with the keys that change. Neither its source nor its removal concerns the plan.
func changesOnly(d guest.Desired, g plan.Guest) guest.Desired {
	changes := func(key string) bool {
		return slices.ContainsFunc(g.Changes, func(c guest.Change) bool { return c.Key == key && !c.RootOnly })
	}
	does := func(op cluster.Op) bool {
		return slices.ContainsFunc(g.Steps, func(s plan.Step) bool { return s.Op == op })
	}
	d.Source = guest.Source{}
	d.Intents = slices.DeleteFunc(slices.Clone(d.Intents), func(in guest.Intent) bool { return !changes(in.Key) })
	d.Lifecycle.Destroy = guest.Deny
	if !does(cluster.OpReboot) {
		d.Lifecycle.RebootPolicy = guest.RebootNever
	}
	if !does(cluster.OpStart) && !does(cluster.OpShutdown) && !does(cluster.OpStop) {
		d.State = guest.Ignored
	}
	if !does(cluster.OpMigrate) {
		d.Migrate = guest.MigrateDeny
	}
	d.Template = d.Template && does(cluster.OpTemplate)
	if !changes("pool") {
		d.Pool = ""
	}
	if !changes("ha") {
		d.HA = nil
	}
	if !slices.ContainsFunc(g.Changes, func(c guest.Change) bool { return c.Write == guest.WriteFirewall }) {
		d.Firewall = nil
	}
	return d
}
