package reason

// Name is the name of a reason of a condition or of a held step, in kebab-case. Programs compare names; messages are for people. It is a label of metrics.
//
// A condition of a failed step has the name of the step's operation instead.
type Name string

// The reasons. The table says what each means.
const (
	Approval            Name = "approval"
	Awaits              Name = "awaits"
	Copied              Name = "copied"
	Denied              Name = "denied"
	DestroyLimit        Name = "destroy-limit"
	DifferentGuest      Name = "different-guest"
	Differs             Name = "differs"
	Error               Name = "error"
	FirewallIneffective Name = "firewall-ineffective"
	Flapping            Name = "flapping"
	Guard               Name = "guard"
	HAError             Name = "ha-error"
	Impossible          Name = "impossible"
	InUse               Name = "in-use"
	LeftOver            Name = "left-over"
	Locked              Name = "locked"
	ManifestForbids     Name = "manifest-forbids"
	NeedsRoot           Name = "needs-root"
	NoBackup            Name = "no-backup"
	NodeOffline         Name = "node-offline"
	NotAllowed          Name = "not-allowed"
	NotManaged          Name = "not-managed"
	NotObserved         Name = "not-observed"
	OtherNode           Name = "other-node"
	Overridden          Name = "overridden"
	OwnGuest            Name = "own-guest"
	Pending             Name = "pending"
	PendingRestart      Name = "pending-restart"
	Policy              Name = "policy"
	Rollout             Name = "rollout"
	Scope               Name = "scope"
	Secret              Name = "secret"
	Suspended           Name = "suspended"
	TaskHangs           Name = "task-hangs"
	VolumeLost          Name = "volume-lost"
	WaitsFor            Name = "waits-for"
	Warnings            Name = "warnings"
	Window              Name = "window"
	WritesStopped       Name = "writes-stopped"
)

// IsOrder reports whether the step waits for other guests, and for no person.
func (n Name) IsOrder() bool { return n == WaitsFor }
