package agent

import (
	"log/slog"
	"syscall"

	"gitops-agent/internal/status"
)

// Descriptors that the agent itself needs: the API (six reads and six writes for each endpoint), a fetch, the repository's packs, the journal.
const (
	reservedDescriptors = 64
	fewestConnections   = 8
)

// maxConnections returns how many connections to the status page may be open: half of the file descriptors of this process beyond those that the agent
// itself needs.
func maxConnections(log *slog.Logger) int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return status.DefaultConnections
	}
	if limit.Cur < reservedDescriptors+2*fewestConnections {
		log.Warn("limit of file descriptors is too low", "limit", limit.Cur, "want", reservedDescriptors+2*fewestConnections)
	}
	return connectionsWithin(limit.Cur)
}

// connectionsWithin is maxConnections for a limit of file descriptors.
func connectionsWithin(descriptors uint64) int {
	if descriptors <= reservedDescriptors {
		return fewestConnections
	}
	return int(max(min((descriptors-reservedDescriptors)/2, status.DefaultConnections), fewestConnections)) //nolint:gosec // at most 256
}
