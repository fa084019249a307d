package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// Templates returns the vmids of the guests of which the manifests want clones that do not exist yet, sorted. The plan of a clone depends on what its template
// contains, so these guests are read as well.
func Templates(guests []guest.Desired, inventory cluster.Inventory) []int {
	var vmids []int
	for i := range guests {
		if vmid, found := templateToRead(&guests[i], inventory); found {
			vmids = append(vmids, vmid)
		}
	}
	slices.Sort(vmids)
	return slices.Compact(vmids)
}

// templateToRead returns the guest that is cloned if a guest is created, and whether its reading shows what the clone contains. The configuration of a snapshot is
// not part of a reading.
func templateToRead(d *guest.Desired, inventory cluster.Inventory) (vmid int, found bool) {
	if d.Source.Clone == nil || d.Source.Clone.Snap != "" || d.Invalid != nil {
		return 0, false
	}
	if _, exists := inventory.Row(d.VMID); exists && d.VMID != 0 {
		return 0, false
	}
	template, err := FindTemplate(d, inventory)
	return template.VMID, err == nil
}

// TemplateGuest returns the guest of a manifest from which another one is cloned, and whether there is one. A clone that names a snapshot, or a vmid, may be of a guest that
// is no template.
func TemplateGuest(d *guest.Desired, lists ...[]guest.Desired) (*guest.Desired, bool) {
	clone := d.Source.Clone
	if clone == nil {
		return nil, false
	}
	for _, list := range lists {
		for i := range list {
			g := &list[i]
			if g.Kind == d.Kind && g.Label() != d.Label() && (clone.VMID != 0 && g.VMID == clone.VMID || clone.VMID == 0 && g.Template && g.NameInProxmox() == clone.Name) {
				return g, true
			}
		}
	}
	return nil, false
}

// Awaited returns what a guest that is cloned from the guest of a manifest waits for: "does not exist yet", or "" if it may be cloned.
func Awaited(template *guest.Desired, inventory cluster.Inventory) string {
	row, exists := inventory.Row(template.VMID)
	switch {
	case !exists || template.VMID == 0:
		return "does not exist yet"
	case template.Template && !row.Template:
		return "is not a template yet"
	}
	return ""
}

// awaitedTemplate returns the guest of a manifest that a clone waits for, and why; "" if it waits for none. What manifests describe is looked up before what the cluster has.
func (want Desired) awaitedTemplate(d *guest.Desired, inventory cluster.Inventory) (template *guest.Desired, why string) {
	template, described := TemplateGuest(d, want.Guests, want.Others)
	if !described {
		return nil, ""
	}
	return template, Awaited(template, inventory)
}

// TemplateOf returns the reading of the guest that is cloned if a guest is created, and whether there is one.
func TemplateOf(d *guest.Desired, got cluster.Snapshot) (template guest.Observed, isRead bool) {
	vmid, found := templateToRead(d, got.Inventory)
	template, seen := got.Guests[vmid]
	return template, found && seen && template.Kind == d.Kind && got.Absent[vmid] == ""
}

// AwaitsTemplate reports whether the template of a clone is going to be read for the first time.
func AwaitsTemplate(d *guest.Desired, got cluster.Snapshot) bool {
	vmid, found := templateToRead(d, got.Inventory)
	_, seen := got.Guests[vmid]
	return found && !seen && got.ReadErrors[vmid] == "" && got.Absent[vmid] == ""
}

// neverWritten returns the changes of the first configuration of a new guest that no API token can make: those that are left to root@pam, and those that are impossible.
// What a template contains is known if it was read. What a backup or a snapshot contains is not known, so what only root@pam may write is all listed.
func neverWritten(d *guest.Desired, got cluster.Snapshot) (left, impossible []guest.Change) {
	template, isRead := TemplateOf(d, got)
	if !isRead {
		return guest.RootOnlyAtCreation(*d, got.Inventory.Version), nil
	}
	for _, change := range guest.CloneObstacles(*d, template) {
		if change.RootOnly {
			left = append(left, change)
		} else {
			impossible = append(impossible, change)
		}
	}
	return left, impossible
}

// describeImpossible returns changes that cannot be made, with the reasons, for people.
func describeImpossible(changes []guest.Change) string {
	var parts []string
	for _, c := range changes {
		part := c.Key + ": " + c.Note
		if c.Origin.File != "" {
			part = c.Key + " (" + c.Origin.String() + "): " + c.Note
		}
		parts = append(parts, part)
	}
	return "it is not cloned, because the clone could never be as the manifest wants it: " + strings.Join(parts, "; ")
}

// nodeAfterCreation returns the node on which a new guest stays after the call that creates it on a node: a clone is created on the node of its template.
func nodeAfterCreation(d *guest.Desired, created string) string {
	if d.Node == "" || slices.Contains(d.Nodes, created) {
		return created
	}
	return d.Node
}

// CloneStays returns why a clone could not get from the node of its template to a node, "" if nothing is known that prevents it. A clone is created on the node of its
// template. A linked clone of a disk on a local storage cannot leave that node, since its base stays there, and a full one needs its storage on both nodes.
// Proxmox moves no guest with a disc of a local storage, even if the other node has the same disc. Storages that the token may not see prevent nothing.
//
// Source: qemu-server, PVE/QemuMigrate.pm, scan_local_volumes ("local cdrom image"); seen in recording 74.
func CloneStays(d *guest.Desired, node string, got cluster.Snapshot) string {
	template, isRead := TemplateOf(d, got)
	if !isRead || node == template.Node {
		return ""
	}
	for _, key := range slices.Sorted(maps.Keys(template.Keys)) {
		disc := guest.DiscIn(template, key)
		storage, _, _ := strings.Cut(disc, ":")
		here, isHere := got.Inventory.Capacity.Storage(template.Node, storage)
		isChanged := slices.ContainsFunc(d.Intents, func(in guest.Intent) bool { return in.Key == key }) // before the move
		if disc != "" && isHere && !here.Shared && !isChanged {
			return fmt.Sprintf("a clone of the template on %s cannot leave that node while it has the disc %s (%s) of a local storage", template.Node, disc, key)
		}
	}
	clone := d.Source.Clone
	for _, volume := range guest.Volumes(template) {
		storage, name, _ := strings.Cut(volume, ":")
		if clone.Full && clone.Storage != "" {
			storage = clone.Storage
		}
		isBase := strings.HasPrefix(name[strings.LastIndexByte(name, '/')+1:], "base") // the others, such as a cloud-init drive, are copied
		here, isHere := got.Inventory.Capacity.Storage(template.Node, storage)
		_, isThere := got.Inventory.Capacity.Storage(node, storage)
		switch {
		case !isHere || here.Shared || slices.Contains(got.Inventory.Offline, node):
		case !clone.Full && isBase:
			return fmt.Sprintf("a linked clone of the template on %s cannot leave that node, since its disk is on the local storage %s", template.Node, storage)
		case !isThere:
			return fmt.Sprintf("the clone is made on %s, on the storage %s, which %s does not have", template.Node, storage, node)
		}
	}
	return ""
}

// CloneMisses returns why a clone could not get to the node of its manifest, "" if nothing is known that prevents it.
func CloneMisses(d *guest.Desired, got cluster.Snapshot) string {
	template, isRead := TemplateOf(d, got)
	if !isRead || !CloneLeaves(d, template) {
		return ""
	}
	why := CloneStays(d, d.Node, got)
	if why != "" {
		why += "; the manifest wants it on " + d.Node
	}
	return why
}
