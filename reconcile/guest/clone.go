package guest

import (
	"slices"
	"strings"

	"gitops-agent/reconcile/guest/form"
)

// CloneObstacles returns the changes of the first configuration of a clone that no API token can make, sorted by key: those that only root@pam may make, and those
// that Proxmox cannot make on an existing guest. Template is the reading of the guest that is cloned, not of one of its snapshots.
//
// The result has no boot order with a device that the manifest adds: the first configuration makes it possible.
func CloneObstacles(d Desired, template Observed) []Change {
	d.Ignore = nil // the first configuration writes every field
	live := cloned(&d, &template)
	c := comparison{want: &d, live: &live}
	var obstacles []Change
	for _, change := range c.run() {
		_, isKey := find(d.Kind, change.Key)
		if isKey && change.Class == Impossible && (change.Key != "boot" || !c.addsBootDevices()) {
			obstacles = append(obstacles, change)
		}
	}
	return obstacles
}

// RestoreObstacles returns the changes after the restoration of a backup that Proxmox cannot make on an existing guest, sorted by key. Archived has the keys in the backup. What the
// call itself sets is none of them, and neither is what only root@pam may make, since the backup may have it.
func RestoreObstacles(d Desired, archived Observed) []Change {
	return slices.DeleteFunc(CloneObstacles(d, archived), func(c Change) bool {
		r, _ := find(d.Kind, c.Key)
		return c.RootOnly || d.restores(c.Key, r)
	})
}

// addsBootDevices reports whether the manifest adds every device of its boot order that does not exist yet.
func (c *comparison) addsBootDevices() bool {
	i := slices.IndexFunc(c.want.Intents, func(in Intent) bool { return in.Key == "boot" })
	if i < 0 {
		return true
	}
	order := newWantedProperties(nil, &c.want.Intents[i], bootSyntax, nil, c.live.Version).pairs.text("order")
	for device, rest := form.CutWord(order); device != ""; device, rest = form.CutWord(rest) {
		if !c.bootable(device) && !c.want.Names(device) {
			return false
		}
	}
	return true
}

// cloned returns the guest that the call of CloneParams makes of a template, as far as a Diff depends on it.
func cloned(d *Desired, template *Observed) Observed {
	live := Observed{Ref: d.Ref, Node: template.Node, Version: template.Version, Status: StatusStopped, Pool: d.Pool, Keys: make(map[string]Value, len(template.Keys))}
	for key, value := range template.Keys {
		if value.Set && !strings.HasPrefix(key, "unused") && key != "parent" && key != "description" {
			live.Keys[key] = Value{Text: value.Text, Set: true}
		}
	}
	live.Keys[nameKey(d.Kind)] = Value{Text: d.NameInProxmox(), Set: true}
	return live
}
