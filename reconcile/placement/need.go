package placement

import (
	"slices"
	"strconv"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
)

// need is what a guest takes of a node.
type need struct {
	memory   int64            // bytes
	cpus     float64          // logical processors
	vcpus    float64          // of a virtual machine, which does not start on a node with fewer; 0 of a container
	storages map[string]int64 // bytes that its disks take, by storage; 0 if a storage is only read
}

const mib = int64(1) << 20

// defaultMemory is the memory of a guest whose configuration names none.
//
// Source: PVE API, the defaults of memory of the qemu and lxc config calls.
const defaultMemory = 512 * mib

// needOf returns what a guest needs. Template is the guest that it is cloned from; the zero Row if it is not cloned. What the manifest does not say
// comes from the template.
func needOf(d *guest.Desired, template cluster.Row) need {
	n := need{memory: template.MaxMem, cpus: template.MaxCPU, storages: d.DiskSpace()}
	cores, sockets := 0, 1
	for i := range d.Intents {
		in := &d.Intents[i]
		if in.Verb != guest.Want {
			continue
		}
		switch number, err := strconv.Atoi(in.Text); {
		case in.Key == "memory" && err == nil:
			n.memory = int64(number) * mib
		case in.Key == "cores" && err == nil:
			cores = number
		case in.Key == "sockets" && err == nil:
			sockets = number
		}
	}
	if cores > 0 {
		n.cpus = float64(cores * sockets)
	}
	if n.memory == 0 {
		n.memory = defaultMemory
	}
	if n.cpus == 0 {
		n.cpus = 1
	}
	if d.Kind == guest.VirtualMachine {
		n.vcpus = n.cpus
	}
	if clone := d.Source.Clone; clone != nil && clone.Full && clone.Storage != "" {
		n.storages[clone.Storage] += template.MaxDisk
	}
	return n
}

// Needs returns the memory that a guest needs, the processors without which it does not start, and what its disks take by storage, in bytes; 0 for a disk whose size is not known. Row is
// the guest, or the guest that it is cloned from: it has what the manifest does not say.
func Needs(d *guest.Desired, row cluster.Row) (memory int64, vcpus float64, storages map[string]int64) {
	n := needOf(d, row)
	return n.memory, n.vcpus, n.storages
}

// imageNodes returns the nodes that keep the Image of a guest, nil for every node.
func imageNodes(d *guest.Desired, images []image.Desired) []string {
	name := d.Source.Object()
	i := slices.IndexFunc(images, func(one image.Desired) bool { return name != "" && one.Name == name })
	if i < 0 {
		return nil
	}
	return images[i].Nodes
}
