package pvesim

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// What the tools print that Proxmox runs for containers. The simulator has no files, so numbers of files and of used blocks, keys and speeds are made up.

const (
	fsBlock       = 4096
	fsGroup       = 32768 // blocks of a block group
	fsInodeRatio  = 16384 // bytes for each inode
	fsDescriptors = fsBlock / 64
	tarRecord     = 10240
	templateFiles = 73
)

// superblocks returns the groups that hold a copy of the superblock of a file system, apart from the first.
func superblocks(blocks int64) []int64 {
	groups := map[int64]bool{}
	for _, base := range []int64{3, 5, 7} {
		for g := int64(1); g*fsGroup < blocks; g *= base {
			groups[g] = true
		}
	}
	return slices.Sorted(maps.Keys(groups))
}

// logFilesystem logs the output of mkfs for a new file system of the given size in bytes.
func (t *task) logFilesystem(size int64) {
	blocks := size / fsBlock
	t.printf("Creating filesystem with %d 4k blocks and %d inodes", blocks, size/fsInodeRatio)
	t.printf("Filesystem UUID: %s", t.sim.newUUID())
	t.printf("Superblock backups stored on blocks: ")
	var at []string
	for _, g := range superblocks(blocks) {
		at = append(at, itoa64(g*fsGroup))
	}
	t.printf("\t%s", strings.Join(at, ", "))
}

// journalBlocks returns the size of the journal that mkfs makes.
func journalBlocks(blocks int64) int64 {
	size := int64(1024)
	for _, step := range []struct{ from, size int64 }{
		{32768, 4096}, {256 << 10, 8192}, {512 << 10, 16384}, {4096 << 10, 32768}, {8192 << 10, 65536}, {16384 << 10, 131072}, {32768 << 10, 262144},
	} {
		if blocks >= step.from {
			size = step.size
		}
	}
	return size
}

// fileSystemSize returns the bytes that statfs reports as the size of a file system on a volume: the volume without inodes, journal, bitmaps, superblocks,
// descriptors, and the descriptors that are reserved so that the file system can grow to 1024 times its size.
func fileSystemSize(volume int64) int64 {
	blocks := volume / fsBlock
	groups := (blocks + fsGroup - 1) / fsGroup
	descriptors := (groups + fsDescriptors - 1) / fsDescriptors
	reserved := min((min(blocks<<10, 1<<32)/fsGroup+fsDescriptors-1)/fsDescriptors-descriptors, 1024)
	copies := int64(len(superblocks(blocks))) + 1
	overhead := volume/fsInodeRatio*256/fsBlock + journalBlocks(blocks) + 2*groups + copies*(1+descriptors+reserved)
	return max(blocks-overhead, 0) * fsBlock
}

// fileSystem returns the size in bytes of the volume when its file system was last made or grown.
func (v *Volume) fileSystem() int64 {
	if v.FileSystem > 0 {
		return v.FileSystem
	}
	return v.Size
}

// logGrownFilesystem logs the tools that grow the file system of a container's volume from the old size in bytes to the volume's. The state is locked.
func (t *task) logGrownFilesystem(v *Volume, old int64, running bool) {
	const versions = " 1.47.2 (1-Jan-2025)"
	path, before, after := t.sim.pathOf(v.ID), old/fsBlock, v.Size/fsBlock
	if running {
		t.printf("resize2fs%s", versions)
		t.printf("Filesystem at /dev/loop0 is mounted on /tmp; on-line resizing required")
		t.printf("old_desc_blocks = %d, new_desc_blocks = %d", descriptorBlocks(before), descriptorBlocks(after))
		t.printf("The filesystem on /dev/loop0 is now %d (4k) blocks long.", after)
		t.printf("")
		return
	}
	t.printf("e2fsck%s", versions)
	for i, pass := range []string{"inodes, blocks, and sizes", "directory structure", "directory connectivity", "reference counts", "group summary information"} {
		t.printf("Pass %d: Checking %s", i+1, pass)
	}
	used := before - fileSystemSize(before*fsBlock)/fsBlock
	t.printf("%s: %d/%d files (0.0%% non-contiguous), %d/%d blocks", path, templateFiles, before*fsBlock/fsInodeRatio, used, before)
	t.printf("resize2fs%s", versions)
	t.printf("Resizing the filesystem on %s to %d (4k) blocks.", path, after)
	t.printf("The filesystem on %s is now %d (4k) blocks long.", path, after)
	t.printf("")
}

func descriptorBlocks(blocks int64) int64 {
	groups := (blocks + fsGroup - 1) / fsGroup
	return (groups + fsDescriptors - 1) / fsDescriptors
}

// logUnpacked logs the unpacking of a template and the keys that are made for the container's SSH server.
func (t *task) logUnpacked(template, hostname string) {
	size := (t.sim.volume(template).Size + tarRecord - 1) / tarRecord * tarRecord
	t.printf("extracting archive '%s'", t.sim.pathOf(template))
	t.printf("Total bytes read: %d (%.1fMiB, 100MiB/s)", size, float64(size)/float64(mib))
	t.printf("Detected container architecture: amd64")
	host, _, _ := strings.Cut(hostname, ".")
	if host == "" {
		host = "localhost"
	}
	types := []string{"rsa", "ecdsa", "ed25519"}
	rand.Shuffle(len(types), func(i, j int) { types[i], types[j] = types[j], types[i] }) // as the keys of a hash in Perl
	for _, typ := range types {
		t.printf("Creating SSH host key 'ssh_host_%s_key' - this may take some time ...", typ)
		t.printf("done: SHA256:%s root@%s", strings.ReplaceAll(t.sim.newUUID(), "-", "")+"abcdefghijk", host)
	}
}

// logRsync logs the copy of the files of a container's volume.
func (t *task) logRsync() {
	for _, l := range []string{
		"",
		"Number of files: 65 (reg: 22, dir: 22, link: 21)",
		"Number of created files: 63 (reg: 22, dir: 20, link: 21)",
		"Number of deleted files: 0",
		"Number of regular files transferred: 22",
		"Total file size: 2,000,000 bytes",
		"Total transferred file size: 2,000,000 bytes",
		"Literal data: 2,000,000 bytes",
		"Matched data: 0 bytes",
		"File list size: 0",
		"File list generation time: 0.001 seconds",
		"File list transfer time: 0.000 seconds",
		"Total bytes sent: 2,003,000",
		"Total bytes received: 592",
		"",
		"sent 2,003,000 bytes  received 592 bytes  4,007,184.00 bytes/sec",
		"total size is 2,000,000  speedup is 1.00",
	} {
		t.printf("%s", l)
	}
}

// warnOfOS logs that the files of a container are not of the distribution that its config states.
func (t *task) warnOfOS(v values) {
	root := t.sim.rootVolume(v)
	if root == nil || root.OS == "" || v["ostype"] == "" || v["ostype"] == "unmanaged" || v["ostype"] == root.OS {
		return
	}
	t.printf("got unexpected ostype (%s != %s)", root.OS, v["ostype"])
}
