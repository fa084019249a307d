package main

import (
	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/image"
)

// The sizes of the file of every Image, in bytes.
const (
	transferred = 64 << 20
	unpacked    = 256 << 20
	virtual     = 2 << 30 // of a disk image: what guests see
)

// publish puts the files of Images on the web servers that the nodes of the simulated cluster reach. Each file is what its manifest says: the sandbox cannot
// know whether the real one has this checksum.
func publish(sim *pvesim.Sim, images []image.Desired) {
	for _, d := range images {
		file := pvesim.WebFile{Size: transferred, Checksums: map[string]string{d.Algorithm: d.Checksum}, Compression: d.Decompression}
		if d.Decompression != "" {
			file.Unpacked = unpacked
		}
		if d.Content == image.Import {
			file.Format, file.VirtualSize = d.Format, virtual
		}
		sim.Publish(d.URL, file)
	}
}

// servers returns the servers of the Images, as images.allow of the config lists them.
func (w *world) servers() []string {
	var names []string
	for _, d := range w.images {
		names = append(names, d.Server())
	}
	return sorted(names)
}
