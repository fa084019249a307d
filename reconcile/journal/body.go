package journal

import "time"

// Body is what a record says. It is one of Accepted, Begun, Dispatched, Ended, Assigned, Owned, Disowned, Guarded,
// Applied, Futile, Ordered and Event.
type Body interface{ kind() string }

// Accepted says that a revision became the desired state. It is durable before any step that follows from it.
type Accepted struct {
	Commit     string    `json:"commit"` // full hex object id
	Tree       string    `json:"tree,omitempty"`
	Branch     string    `json:"branch,omitempty"`
	ProvenTime time.Time `json:"provenTime,omitzero"`
	Sequence   uint64    `json:"sequence,omitempty"` // counts accepted revisions; outlives this journal elsewhere
	Subject    string    `json:"subject,omitempty"`
	Issuer     string    `json:"issuer,omitempty"`
}

// OpDestroy is the Begun.Op whose steps State.Destroys counts.
const OpDestroy = "destroy"

// Begun says that a step is about to be dispatched. It is durable before the call that changes the cluster.
type Begun struct {
	Step       string            `json:"step"` // unique for ever
	VMID       int               `json:"vmid"`
	Kind       string            `json:"kind,omitempty"`
	Name       string            `json:"name,omitempty"`
	Node       string            `json:"node,omitempty"`
	Op         string            `json:"op"`
	Class      string            `json:"class,omitempty"`
	Revision   string            `json:"revision,omitempty"`
	StepDigest string            `json:"stepDigest,omitempty"`
	TaskVMID   int               `json:"taskVmid,omitempty"`  // vmid that Proxmox files the task under: a clone's source
	TaskTypes  []string          `json:"taskTypes,omitempty"` // worker types to look for in the task list
	Detail     map[string]string `json:"detail,omitempty"`    // what settling needs; never a secret
}

// Dispatched says that Proxmox took the call. A step of several calls has one record for each.
type Dispatched struct {
	Step string `json:"step"`
	UPID string `json:"upid,omitempty"` // empty where Proxmox answered synchronously
}

// Result is how a step ended.
type Result string

// The results of a step. Unknown says that the effect could not be established and must not be attempted again;
// NotRun says that the call is known to have had no effect.
const (
	Done    Result = "done"
	Failed  Result = "failed"
	Unknown Result = "unknown"
	NotRun  Result = "not-run"
)

// Ended closes a step.
type Ended struct {
	Step   string `json:"step"`
	Result Result `json:"result"`
	Error  string `json:"error,omitempty"`
}

// Assigned binds a label to a vmid before the vmid is used. VMID 0 gives the label back.
type Assigned struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	VMID int    `json:"vmid"`
}

// Origin is how the agent came to own a guest.
type Origin string

// The origins of an owned guest.
const (
	Created Origin = "created"
	Adopted Origin = "adopted"
)

// Owned says that a guest is the agent's, with what proves it: the tag on the guest fits the identity kept here.
type Owned struct {
	VMID     int    `json:"vmid"`
	Kind     string `json:"kind,omitempty"`
	Name     string `json:"name,omitempty"`
	Identity string `json:"identity"`
	Tag      string `json:"tag,omitempty"`
	UUID     string `json:"uuid,omitempty"` // SMBIOS uuid; empty for containers
	Origin   Origin `json:"origin"`
	Claiming bool   `json:"claiming,omitempty"` // true until the tag was seen on the guest
}

// Disowned ends ownership and drops the remembered lifecycle and secrets with it.
type Disowned struct {
	VMID   int    `json:"vmid"`
	Reason string `json:"reason,omitempty"`
}

// Guarded remembers the lifecycle that an accepted manifest gave a guest, so that removing the manifest cannot remove it.
type Guarded struct {
	VMID            int           `json:"vmid"`
	Kind            string        `json:"kind,omitempty"`
	Name            string        `json:"name,omitempty"`
	Destroy         string        `json:"destroy,omitempty"` // deny, approve or allow
	ShutdownTimeout time.Duration `json:"shutdownTimeoutNanos,omitempty"`
	Protection      bool          `json:"protection,omitempty"`
}

// Applied says which secrets a guest was given last. It replaces what was known of the guest before. A fingerprint tells one content
// from another and is worth nothing without the key that it was made with, which is not in the journal.
type Applied struct {
	VMID         int               `json:"vmid"`
	Identity     string            `json:"identity"`               // of the guest; another one under this vmid was given nothing
	Fingerprints map[string]string `json:"fingerprints,omitempty"` // by native key
}

// Futile says that a restart of a guest left waiting what it was to bring into effect, so that the same one is not repeated under the
// same revision. It replaces what was known of the guest before.
type Futile struct {
	VMID       int    `json:"vmid"`
	Revision   string `json:"revision"`
	StepDigest string `json:"stepDigest"`
}

// OrderState is how far a signed order came.
type OrderState string

// The states of an order. The last four are final: such an order is never seen or released again.
const (
	OrderSeen     OrderState = "seen"
	OrderReleased OrderState = "released"
	OrderRun      OrderState = "run"
	OrderExpired  OrderState = "expired"
	OrderRefused  OrderState = "refused"
	OrderUnknown  OrderState = "unknown"
)

func (s OrderState) final() bool {
	switch s {
	case OrderRun, OrderExpired, OrderRefused, OrderUnknown:
		return true
	case OrderSeen, OrderReleased:
	}
	return false
}

// Ordered says what became of a signed order. Key is SHA-256 of the signed payload and the trailer's position.
type Ordered struct {
	Key        string     `json:"key"`
	Order      string     `json:"order,omitempty"` // the trailer's value
	Subject    string     `json:"subject,omitempty"`
	Issuer     string     `json:"issuer,omitempty"`
	Commit     string     `json:"commit,omitempty"`
	ProvenTime time.Time  `json:"provenTime,omitzero"`
	State      OrderState `json:"state"`
	Step       string     `json:"step,omitempty"` // the step that carries it out
}

// Event is audit history only: no state follows from it, and compaction drops it with age.
type Event struct {
	Name     string `json:"name"`
	VMID     int    `json:"vmid,omitempty"`
	Revision string `json:"revision,omitempty"`
	Message  string `json:"message,omitempty"`
}

func (Accepted) kind() string   { return "accepted" }
func (Begun) kind() string      { return "begun" }
func (Dispatched) kind() string { return "dispatched" }
func (Ended) kind() string      { return "ended" }
func (Assigned) kind() string   { return "assigned" }
func (Owned) kind() string      { return "owned" }
func (Disowned) kind() string   { return "disowned" }
func (Guarded) kind() string    { return "guarded" }
func (Applied) kind() string    { return "applied" }
func (Futile) kind() string     { return "futile" }
func (Ordered) kind() string    { return "ordered" }
func (Event) kind() string      { return "event" }
