package manifest

import (
	"gitops-agent/reconcile/guest"
)

// clone is a guest to copy.
type clone struct {
	vmid                    opt[int]
	name, storage, snapshot opt[string]
	full                    opt[bool]
}

func (c *clone) fields() []field {
	return []field{
		{"template", "", "Vmid of the template.", withExamples(integer(&c.vmid, minVMID, maxVMID), `9000`)},
		{"name", "", "Name of the template, in place of its vmid.", withExamples(text(&c.name, dnsName), `"tmpl-debian-12"`)},
		{"full", "", "Copy the disks; false makes a linked clone, which keeps depending on the template. Default: true.", flag(&c.full)},
		{"storage", "", "Storage for the copied disks. Default: the template's.", text(&c.storage, storageName)},
		{"snapshot", "", "Snapshot to copy, of the guest whose vmid template names. Default: its current state.", text(&c.snapshot, snapshot)},
	}
}

func (c *clone) linked() bool { return c.full.set && !c.full.value }

func (c *clone) lower(l *lowering) {
	if c.storage.set && c.linked() {
		l.problem(c.storage.place, "got a storage for a linked clone, whose disks stay on the template's storage", "leave it out, or set full: true")
	}
	if c.snapshot.set && c.name.set {
		l.problem(c.snapshot.place, "got a snapshot of a template, which has none", "name the guest by its vmid: template: 9000")
	}
}

func (c *clone) source(l *lowering, p place) *guest.Clone {
	if c.vmid.set == c.name.set {
		l.missing(p, "want either the template's vmid (template) or its name (name)", "")
	}
	return &guest.Clone{VMID: c.vmid.value, Name: c.name.value, Full: !c.linked(), Storage: c.storage.value, Snap: c.snapshot.value}
}

// machineClone is a virtual machine to copy. The copy may change the format of its disks.
type machineClone struct {
	clone
	format opt[string]
}

func (c *machineClone) fields() []field {
	return append(c.clone.fields(), field{"format", "", "Image format of the copied disks on a storage that keeps files. Default: the storage's.", choice(&c.format, guest.ImageFormats()...)})
}

func (c *machineClone) lower(l *lowering) {
	c.clone.lower(l)
	if c.format.set && c.linked() {
		l.problem(c.format.place, "got a format for a linked clone, whose disks keep the template's format", "leave it out, or set full: true")
	}
}

func (c *machineClone) source(l *lowering, p place) *guest.Clone {
	out := c.clone.source(l, p)
	out.Format = c.format.value
	return out
}
