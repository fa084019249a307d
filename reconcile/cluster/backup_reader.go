package cluster

import "context"

// BackupReader reads the backups of guests.
type BackupReader interface {
	// Backups lists the backups of a guest on a storage as a node shows them. It omits those that the token may not see.
	Backups(ctx context.Context, node, storage string, vmid int) ([]Backup, error)
}

// Backup is a backup of a guest on a storage.
type Backup struct {
	Volume string // its id, "pbs:backup/vm/201/2026-01-01T00:00:00Z"
	Notes  string // only their first line
}
