package guest

// Migration says whether a guest that is on another node than wanted is moved.
type Migration string

// The answers. MigrateDeny is the default: a node is where to create the guest, and where it lives is its owner's business.
const (
	MigrateDeny    Migration = "deny"
	MigrateOffline Migration = "offline" // while it is stopped
	MigrateOnline  Migration = "online"  // also while it runs; a container restarts
)

// HA is a guest's entry with the HA manager, as Proxmox shows it.
//
// Source: PVE API, GET /cluster/ha/resources.
type HA struct {
	State       string // started, stopped, disabled, ignored
	MaxRestart  int    // attempts on one node
	MaxRelocate int    // attempts on other nodes
	Group       string // before Proxmox VE 9
}

// HAWish is what a manifest wants of the HA manager. A nil or empty field is unmanaged.
type HAWish struct {
	Absent      bool // the guest is no resource
	State       string
	MaxRestart  *int
	MaxRelocate *int
	Origin      Origin
}
