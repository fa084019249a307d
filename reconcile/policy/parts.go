package policy

import "slices"

// parts are the parts of a guest that are derived from property strings, and are left out if no policy reads them.
type parts struct {
	tags, cpu, memory, onBoot, protection, privileged, disks, networks bool
	sizes                                                              bool // of disks
	links                                                              bool // all of networks but slot, bridge and signers
}

// allParts are the parts of a guest that any expression may read.
var allParts = parts{true, true, true, true, true, true, true, true, true, true}

// parts returns the parts of a guest that are read.
func (r reads) parts() parts {
	var p parts
	of := map[string]*bool{
		"tags": &p.tags, "cpu": &p.cpu, "memory": &p.memory, "onBoot": &p.onBoot, "protection": &p.protection, "privileged": &p.privileged, "disks": &p.disks, "networks": &p.networks,
	}
	for _, f := range r[typeGuest] {
		if part := of[f.name]; part != nil {
			*part = true
		}
	}
	p.links = slices.ContainsFunc(r[typeNetwork], func(f fieldType) bool { return f.name != "slot" && f.name != "bridge" && f.name != "signers" })
	p.sizes = slices.ContainsFunc(r[typeDisk], func(f fieldType) bool { return f.name == "size" })
	return p
}

// or returns the parts that are in either.
func (p parts) or(other parts) parts {
	return parts{
		p.tags || other.tags, p.cpu || other.cpu, p.memory || other.memory, p.onBoot || other.onBoot, p.protection || other.protection,
		p.privileged || other.privileged, p.disks || other.disks, p.networks || other.networks, p.sizes || other.sizes, p.links || other.links,
	}
}

// parts returns the parts of a guest that a policy about guests reads.
func (c *compiled) parts() parts {
	if c.memo == nil { // it is not known what it reads
		return allParts
	}
	return c.memo.reads.parts()
}
