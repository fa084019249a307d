package gitsource

// The space of a disk that a fetch leaves to others: the journal is on the same disk, and the agent writes nothing to the cluster without it.
const (
	reserved      = 1 << 30  // bytes
	reservedPart  = 10       // of the disk's size, if that is less: a tenth
	belowReserved = 16       // of a disk with less free space, a fetch takes at most a sixteenth
	untouched     = 64 << 20 // bytes that no fetch takes: the journal has 16 MiB
)

// spaceFor returns how many bytes the files of one fetch may have on a disk, at least one.
func spaceFor(free, size int64) int64 {
	return max(free-min(reserved, size/reservedPart), (free-untouched)/belowReserved, 1)
}
