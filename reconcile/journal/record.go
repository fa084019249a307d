package journal

import (
	"slices"
	"strings"
	"time"

	"gitops-agent/reconcile/object"
)

// Record is one entry of the journal. Seq counts from 1 without gaps as records are appended; compaction leaves gaps.
// Time is the host's clock in UTC and may step back.
type Record struct {
	Seq  uint64
	Time time.Time
	Body Body
}

// Body is the content of a record: a value, not a pointer, of one of the types in this file. The table kinds describes each of them.
type Body interface{ isBody() }

// Accepted records that a revision became the desired state. It is durable before any step that follows from the revision.
type Accepted struct {
	Commit     string    `json:"commit"` // full hex object id
	Tree       string    `json:"tree,omitempty"`
	Branch     string    `json:"branch,omitempty"`
	ProvenTime time.Time `json:"provenTime,omitzero"`
	Sequence   uint64    `json:"sequence,omitempty"` // counts accepted revisions; outlives this journal elsewhere
	Subject    string    `json:"subject,omitempty"`
	Issuer     string    `json:"issuer,omitempty"`
}

// Evidence records what a transparency log knows of the accepted revision, if its signature does not contain that itself. It is part of the append of the
// acceptance, and proves the revision again after a restart or under another trusted root.
type Evidence struct {
	Commit string `json:"commit"` // of the accepted revision
	Bundle string `json:"bundle"` // a Sigstore bundle, which is public
}

// OpDestroy is the Begun.Op of the steps that State.Destroys counts.
const OpDestroy = "destroy"

// Begun records that a step is about to be dispatched. It is durable before the call that changes the cluster.
type Begun struct {
	Step       string            `json:"step"`           // never used for another step
	VMID       int               `json:"vmid,omitempty"` // 0 for an object that is no guest: kind and name identify it
	Kind       string            `json:"kind,omitempty"`
	Name       string            `json:"name,omitempty"`
	Node       string            `json:"node,omitempty"`
	Op         string            `json:"op"`
	Class      string            `json:"class,omitempty"`
	Revision   string            `json:"revision,omitempty"`
	StepDigest string            `json:"stepDigest,omitempty"`
	TaskVMID   int               `json:"taskVmid,omitempty"`  // the vmid in Proxmox's task list; for a clone, that of its source
	TaskTypes  []string          `json:"taskTypes,omitempty"` // types of the task in Proxmox's task list
	TaskID     string            `json:"taskId,omitempty"`    // what the task is about in Proxmox's task list, for an object that is no guest
	Detail     map[string]string `json:"detail,omitempty"`    // facts that crash recovery needs; never a secret
	TakesBack  map[string]string `json:"takesBack,omitempty"` // by key that the step may change and that others changed: the value of Seen before
}

// Key returns the object that the step is about.
func (b Begun) Key() object.Key { return object.KeyOf(b.VMID, b.Kind+"/"+b.Name) }

// DetailObject is the key of Begun.Detail with the id of an object that is no guest.
const DetailObject = "object"

// Object returns the object that is no guest, and that the step is about.
func (b Begun) Object() (id ObjectID, isObject bool) {
	object, isObject := b.Detail[DetailObject]
	return ObjectID{b.Kind, object}, isObject
}

// Downloaded records that a node downloaded the file of an Image in a task of the agent. It replaces the earlier record about the file on the node. A record
// with Gone ends it.
type Downloaded struct {
	Name   string `json:"name"` // of the Image
	Node   string `json:"node"`
	Volume string `json:"volume"`          // "local:import/debian-13-4a6b0d1c2e3f.qcow2"
	Size   int64  `json:"size"`            // in bytes, as the node lists it
	Task   string `json:"task,omitempty"`  // its UPID, if it is known
	Prune  bool   `json:"prune,omitempty"` // the last accepted manifest of the Image lets the agent delete files of it that nothing uses any more
	File   string `json:"file,omitempty"`  // of the last accepted manifest of the Image, in the repository; older releases did not record it
	Gone   bool   `json:"gone,omitempty"`  // the file is deleted, or is not on the node any more
}

// On returns what identifies the file.
func (d Downloaded) On() FileOn { return FileOn{d.Node, d.Volume} }

// UnknownFile stands for the file of the last manifest of a guest, Image or object if it is not known: a signer with paths brought the manifest into a file, and no former file was
// recorded. Only approvers without a scope cover it.
const UnknownFile = "."

// OwnedObject records that the agent owns an object that is no guest, and the proof: the object's comment ends in the marker, which derives from the
// identity. It replaces the earlier record about the object.
type OwnedObject struct {
	Kind     string `json:"kind"`
	ID       string `json:"id"`   // in Proxmox
	Name     string `json:"name"` // in its last manifest
	Identity string `json:"identity"`
	Marker   string `json:"marker"`
	Origin   Origin `json:"origin"`
	Claiming bool   `json:"claiming,omitempty"` // true until a call has written the marker
	Destroy  string `json:"destroy,omitempty"`  // the strongest lifecycle.destroy that it had
	File     string `json:"file,omitempty"`     // of its last accepted manifest, in the repository; older releases did not record it

	Agreed map[string]AgreedText `json:"agreed,omitempty"` // by the keys on which guards of guests depend; a key without an entry is yet to be recorded
}

// AgreedText is the text that a key of an object had when the object agreed with its manifest.
type AgreedText struct {
	Text   string `json:"text,omitempty"`   // "" for none; "sha256:" and the sum in hex for a list
	Unsure bool   `json:"unsure,omitempty"` // it is no text to go back to: the manifest does not name the key, or somebody else gave the key a text that a later manifest wanted too
}

// Object returns what identifies the object in Proxmox.
func (o OwnedObject) Object() ObjectID { return ObjectID{o.Kind, o.ID} }

// DisownedObject records that the agent no longer owns an object that is no guest.
type DisownedObject struct {
	Kind   string `json:"kind"`
	ID     string `json:"id"`
	Reason string `json:"reason,omitempty"`
}

// Dispatched records that Proxmox accepted a call of a step. A step with several calls has one record for each. With Refused, Proxmox refused a call, or a task of it
// failed, and may have written a part of it; the record is written only if that part is to be taken back.
type Dispatched struct {
	Step    string `json:"step"`
	UPID    string `json:"upid,omitempty"` // empty if Proxmox answered synchronously
	Refused bool   `json:"refused,omitempty"`
}

// Waited records how long a step without an outcome has been open for certain: since its last call can have been sent, by the monotonic clocks of the
// processes that have waited since. The time between two processes is in it only if the step's node was up all the time. It replaces the step's earlier
// Waited record.
type Waited struct {
	Step     string `json:"step"`
	Seconds  int64  `json:"seconds"`
	Uptime   int64  `json:"uptime,omitempty"`   // of the step's node in seconds, as last read; 0 if it was not read
	UptimeAt int64  `json:"uptimeAt,omitempty"` // Seconds when the uptime was read
}

// Result is the outcome of a step.
type Result string

// The results of a step. Unknown means that the effect could not be determined and that the step must not be attempted again.
// NotRun means that the call certainly had no effect.
const (
	Done    Result = "done"
	Failed  Result = "failed"
	Unknown Result = "unknown"
	NotRun  Result = "not-run"
)

// Results lists every result.
func Results() []Result { return []Result{Done, Failed, Unknown, NotRun} }

// Ended records the outcome of a step and closes the step.
type Ended struct {
	Step   string `json:"step"`
	Result Result `json:"result"`
	Error  string `json:"error,omitempty"`
	Sent   bool   `json:"sent,omitempty"` // of a destroy: the call that destroys was sent, or may have been sent, regardless of the result
}

// Assigned binds a label to a vmid before the vmid is used. VMID 0 removes the assignment of the label.
type Assigned struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	VMID int    `json:"vmid"`
}

// Origin is the way in which the agent became the owner of a guest.
type Origin string

// The origins of an owned guest.
const (
	Created Origin = "created"
	Adopted Origin = "adopted"

	// Recovered is a guest whose record was lost. Its tag is the one that the guest had, which does not derive from the identity in the record.
	Recovered Origin = "recovered"
)

// Owned records that the agent owns a guest, and the proof: the tag on the guest is derived from the identity in this record.
type Owned struct {
	VMID     int    `json:"vmid"`
	Kind     string `json:"kind,omitempty"`
	Name     string `json:"name,omitempty"`
	Identity string `json:"identity"`
	Tag      string `json:"tag,omitempty"`
	UUID     string `json:"uuid,omitempty"` // SMBIOS uuid; empty for containers
	Origin   Origin `json:"origin"`
	Claiming bool   `json:"claiming,omitempty"` // true until the tag has been read from the guest
	Task     string `json:"task,omitempty"`     // UPID of the task that created the guest, until the tag has been read from the guest

	// Configuring is true from the call that creates the guest until the guest was read as its manifest first wanted it: until then, the fields of ignoreFields
	// are written too. It is false in a record of an older release, and for a guest that the agent did not create.
	Configuring bool `json:"configuring,omitempty"`

	// CreatedWith is what the manifest said of the fields that are used at creation only, as the text of a secret.Baseline: keyed fingerprints. It is "" in a record of
	// an older release, and until an adopted guest was compared for the first time.
	CreatedWith string `json:"createdWith,omitempty"`

	// Unstarted is true from the call that creates the guest until the guest was seen started for the first time. It is false in a record of an older release, and
	// for a guest that the agent did not create.
	Unstarted bool `json:"unstarted,omitempty"`
}

// Disowned ends the ownership of a guest. It also removes the guest's Guarded, Applied, IneffectiveRestart, Attached, Snapshots,
// Repeated, Flapping, Seen, Overridden, Staged and Placed entries from the state.
type Disowned struct {
	VMID   int    `json:"vmid"`
	Reason string `json:"reason,omitempty"`
}

// Guarded records the guards of a guest that are in force. They stay in force after the manifest is removed, and a manifest that asks for weaker
// ones changes them only with approvals. Older releases recorded Destroy and Recreate only, and the oldest only Destroy.
type Guarded struct {
	VMID     int        `json:"vmid"`
	Kind     string     `json:"kind,omitempty"`
	Name     string     `json:"name,omitempty"`
	Destroy  string     `json:"destroy,omitempty"`  // deny, approve or allow
	Recreate string     `json:"recreate,omitempty"` // deny, approve or allow
	Identity string     `json:"identity,omitempty"` // of the guest; "" while the agent does not own it
	Gone     bool       `json:"gone,omitempty"`     // the guest vanished after its manifest was removed, and the agent did not destroy it
	File     string     `json:"file,omitempty"`     // of its last accepted manifest, in the repository; older releases did not record it
	Rules    GuardRules `json:"rules,omitzero"`     // zero in a record of an older release
}

// GuardRules are the guards that older releases did not record. RebootPolicy is never empty in a record of this release.
type GuardRules struct {
	RecreateDefault  bool   `json:"recreateDefault,omitempty"`  // Recreate follows from the rest of the manifest, no line sets it
	RebootPolicy     string `json:"rebootPolicy,omitempty"`     // never, approve, window or auto
	Window           string `json:"window,omitempty"`           // of the policy window
	ShutdownSeconds  int    `json:"shutdownSeconds,omitempty"`  // how long the guest may take to shut down
	ForceStop        bool   `json:"forceStop,omitempty"`        // the guest is stopped hard afterwards
	Protection       string `json:"protection,omitempty"`       // on, off, or "" if the manifest does not manage it
	ProtectionLifted bool   `json:"protectionLifted,omitempty"` // approvals allow to write protection: off once
	Mode             string `json:"mode,omitempty"`             // observe, or "" for enforce
	Suspended        string `json:"suspended,omitempty"`        // the time at which it ends, "without end", or "" if the guest is not suspended
	Adopt            string `json:"adopt,omitempty"`            // ifUnmanaged, or "" for deny
	DependsOn        string `json:"dependsOn,omitempty"`        // no guard: the labels of its dependencies, sorted, with spaces between them
	MovedTo          int    `json:"movedTo,omitempty"`          // another vmid that approvals allow its manifest to name
	Backup           string `json:"backup,omitempty"`           // required, or "" if no backup job has to cover the guest
	Firewall         string `json:"firewall,omitempty"`         // the guarded firewall with its network cards, guest.Desired.FirewallGuard; "" if none is guarded
	Rollout          string `json:"rollout,omitempty"`          // the settings of its rollout, guest.Rollout.Encode; "" for none
}

// ClusterGuarded records the guards of the Cluster that are in force.
type ClusterGuarded struct {
	MaxDestroysPerDay int `json:"maxDestroysPerDay"`
	Approvals         int `json:"approvals"`
}

// Applied records the secrets that a guest received last, and which of its unlisted values (guest.Unlisted) are in effect. It replaces the guest's earlier
// Applied record. A fingerprint distinguishes one content from another; it is useless without the key that it was made with, and the key is not in the journal.
// Older releases recorded secrets only.
type Applied struct {
	VMID         int               `json:"vmid"`
	Identity     string            `json:"identity"`               // of the guest; another guest with this vmid has received nothing
	Fingerprints map[string]string `json:"fingerprints,omitempty"` // by native key

	Process  Process           `json:"process,omitzero"`   // in which the values are in effect; zero if it is not known which values are
	Booted   bool              `json:"booted,omitempty"`   // a step of the agent has started the guest since
	BootedAt time.Time         `json:"bootedAt,omitzero"`  // when that step ended; zero if it is not known
	InEffect map[string]Effect `json:"inEffect,omitempty"` // by native key; a key without an entry has no value in effect
	Waiting  map[string]string `json:"waiting,omitempty"`  // by native key: fingerprints of what the configuration has for the next boot, if that is not in effect
	Unlisted bool              `json:"unlisted,omitempty"` // Proxmox's list of what the cloud-init drive lacked at the first record was not read yet
}

// Process is a process of a guest.
type Process struct {
	Node   string    `json:"node"`
	PID    int       `json:"pid"`
	Uptime int64     `json:"uptime"` // in whole seconds, when it was read
	Start  time.Time `json:"start"`  // by the clock of the agent's host
}

// Effect is an unlisted value that is in effect.
type Effect struct {
	Device  string    `json:"device,omitempty"`  // that has the value
	Print   string    `json:"print,omitempty"`   // fingerprint, "" of no value
	Since   time.Time `json:"since,omitzero"`    // the start of the process that brought it into effect; zero if that was before the first record
	Unknown bool      `json:"unknown,omitempty"` // it is not known which value is in effect
}

// IneffectiveRestart records that a restart of a guest did not bring the waiting changes into effect, so that the same restart is not repeated
// under the same revision. It replaces the guest's earlier IneffectiveRestart record. In files its name is futile.
type IneffectiveRestart struct {
	VMID       int    `json:"vmid"`
	Revision   string `json:"revision"`
	StepDigest string `json:"stepDigest"`
	Over       bool   `json:"over,omitempty"` // a person asked to try the restart again; revision and digest are those of the record that ends
}

// Attached records the volume that each slot of a guest held last, for the slots into which the manifest puts a disk. It replaces the guest's
// earlier Attached record.
type Attached struct {
	VMID     int               `json:"vmid"`
	Identity string            `json:"identity"`          // of the guest; the record says nothing about another guest with this vmid
	Volumes  map[string]string `json:"volumes,omitempty"` // ids by slot; empty if it is unknown which volume the slot held
	Filling  []string          `json:"filling,omitempty"` // sorted slots for which a call that allocates a volume was journaled, and not seen to succeed or fail
	Others   []string          `json:"others,omitempty"`  // sorted ids of the guest's other volumes, when each slot was last seen with its volume
}

// Repeated records that a step of a guest ended without an effect although a process that has ended may have sent its call, so that the call is
// repeated. Proxmox refuses the late one, unless something removes what it is refused for. It replaces the guest's earlier Repeated record.
type Repeated struct {
	VMID int  `json:"vmid"`
	Over bool `json:"over,omitempty"` // the call can certainly not act any more
}

// Flapping records how often the agent has repaired an object lately, as the level of a leaky bucket at the time of the record. It is written only above
// half of the limit, and replaces the object's earlier Flapping record.
type Flapping struct {
	VMID  int     `json:"vmid,omitempty"` // 0 for an object that is no guest: kind and name identify it
	Kind  string  `json:"kind,omitempty"`
	Name  string  `json:"name,omitempty"`
	Level float64 `json:"level"` // 0 ends the record
}

// NewFlapping returns the record of the object with a key.
func NewFlapping(key object.Key, level float64) Flapping {
	if key.VMID != 0 {
		return Flapping{VMID: key.VMID, Level: level}
	}
	kind, name, _ := strings.Cut(key.Label, "/")
	return Flapping{Kind: kind, Name: name, Level: level}
}

// Key returns the object that was repaired.
func (b Flapping) Key() object.Key { return object.KeyOf(b.VMID, b.Kind+"/"+b.Name) }

// Seen records which values of an object the agent last saw in effect, as fingerprints, and that no step of the agent is about to change. It replaces the
// object's earlier Seen record.
type Seen struct {
	VMID     int               `json:"vmid,omitempty"` // 0 for an object that is no guest: kind and name identify it
	Kind     string            `json:"kind,omitempty"`
	Name     string            `json:"name,omitempty"`
	Identity string            `json:"identity,omitempty"` // of the object; the record says nothing about another object with this vmid or name. "" ends the record
	Keys     map[string]string `json:"keys,omitempty"`
}

// NewSeen returns the record of the object with a key, without identity to end it.
func NewSeen(key object.Key, identity string, keys map[string]string) Seen {
	if key.VMID != 0 {
		return Seen{VMID: key.VMID, Identity: identity, Keys: keys}
	}
	kind, name, _ := strings.Cut(key.Label, "/")
	return Seen{Kind: kind, Name: name, Identity: identity, Keys: keys}
}

// Key returns the object whose values were seen.
func (b Seen) Key() object.Key { return object.KeyOf(b.VMID, b.Kind+"/"+b.Name) }

// OrderState is the progress of a signed order.
type OrderState string

// The states of an order. The last five are final: an order in a final state is never seen or released again.
const (
	OrderSeen     OrderState = "seen"
	OrderReleased OrderState = "released" // its step has begun
	OrderRun      OrderState = "run"
	OrderExpired  OrderState = "expired"
	OrderRefused  OrderState = "refused"
	OrderUnknown  OrderState = "unknown"
	OrderFailed   OrderState = "failed" // of a one-shot operation: Proxmox refused its call, or its task failed
)

// OrderStates lists every state, the final ones last.
func OrderStates() []OrderState {
	return []OrderState{OrderSeen, OrderReleased, OrderRun, OrderExpired, OrderRefused, OrderUnknown, OrderFailed}
}

// Ordered records the state of a signed order. Key is SHA-256 of the signed payload and the trailer's position.
type Ordered struct {
	Key        string     `json:"key"`
	Order      string     `json:"order,omitempty"` // the trailer's value
	Subject    string     `json:"subject,omitempty"`
	Issuer     string     `json:"issuer,omitempty"`
	Signer     string     `json:"signer,omitempty"` // name in the trust policy; older releases did not record it
	Commit     string     `json:"commit,omitempty"`
	ProvenTime time.Time  `json:"provenTime,omitzero"`
	State      OrderState `json:"state"`
	Step       string     `json:"step,omitempty"` // the step that executes the order

	// The signer's entry in the trust policy, verify.Signer.Entry, and its scope at the acceptance. Older releases recorded the entry of one-shot operations alone, and no scope.
	Entry  string   `json:"entry,omitempty"`
	Guests []string `json:"guests,omitempty"` // patterns of labels; none for all guests
	Paths  []string `json:"paths,omitempty"`  // none for all files

	// Of a one-shot operation. Guest and identity are those at the acceptance: the order means no other guest.
	VMID     int    `json:"vmid,omitempty"`
	Identity string `json:"identity,omitempty"`
	Limited  bool   `json:"limited,omitempty"` // the entry had guests at the acceptance
	Why      string `json:"why,omitempty"`     // of a refused, failed or expired order: the reason, for people
	UPID     string `json:"upid,omitempty"`    // of the task that executed the order
	Log      string `json:"log,omitempty"`     // the last lines of the task's log
	Volume   string `json:"volume,omitempty"`  // of the backup that the order made

	Change ListChange `json:"change,omitzero"` // of an approval: what it released a call of, if that is a change of a list
}

// ListChange is a change of the list that an object contains. It takes several calls.
type ListChange struct {
	Kind  string `json:"kind"`
	ID    string `json:"id"`    // of the object in Proxmox
	Final string `json:"final"` // SHA-256 of the list after all calls
}

// Object returns what identifies the object in Proxmox.
func (c ListChange) Object() ObjectID { return ObjectID{c.Kind, c.ID} }

// Overridden records that an order gave a guest another run state than its manifest wants, until a time. It replaces the guest's earlier Overridden
// record. A record without Until ends it.
type Overridden struct {
	VMID  int       `json:"vmid"`
	Order string    `json:"order,omitempty"` // key
	State string    `json:"state,omitempty"` // running or stopped
	Until time.Time `json:"until,omitzero"`  // by the host's clock
}

// Writer records the mark that this process is about to write into the pool's comment, which names the process that may write to the cluster. The
// nonces of earlier processes on this state directory identify their marks.
type Writer struct {
	Number uint64 `json:"number"`
	Nonce  string `json:"nonce"`
}

// Introduced records which signers introduced what the manifest of a guest wants, as accepted commit by commit. It replaces the label's earlier
// Introduced record. A record without By ends it: who introduced the fields is then unknown.
type Introduced struct {
	Kind    string         `json:"kind"`
	Name    string         `json:"name"`
	VMID    int            `json:"vmid,omitempty"`    // of a guest whose manifest was removed
	Removed bool           `json:"removed,omitempty"` // By removed the manifest
	By      []Introduction `json:"by,omitempty"`
}

// Introduction is the fields of a manifest that one commit introduced, and that no later commit changed.
type Introduction struct {
	Signer  string   `json:"signer"`            // name in the trust policy
	Entry   string   `json:"entry"`             // the signer's entry in the trust policy, verify.Signer.Entry
	Limited bool     `json:"limited,omitempty"` // the entry had guests when the commit was accepted
	Commit  string   `json:"commit"`
	Fields  []string `json:"fields"` // sorted: native keys, "spec.vmid" and others; AllFields is all that no other introduction lists

	// Paths and Guests are the scope of the entry when the commit was accepted. They are recorded for policies, which apply within it.
	Paths  []string `json:"paths,omitempty"`
	Guests []string `json:"guests,omitempty"`
}

// AllFields stands for every field of a manifest that no other introduction lists.
const AllFields = "*"

// PolicyInForce records a policy of the repository that is in force. It replaces the name's earlier PolicyInForce record. A record without When ends it.
type PolicyInForce struct {
	Name              string         `json:"name"`
	File              string         `json:"file,omitempty"` // in the repository; the policy applies in and below its folder
	Line              int            `json:"line,omitempty"`
	Column            int            `json:"column,omitempty"`
	On                string         `json:"on,omitempty"` // guest or step
	Operations        []string       `json:"operations,omitempty"`
	Classes           []string       `json:"classes,omitempty"`
	Kinds             []string       `json:"kinds,omitempty"`
	When              string         `json:"when,omitempty"`
	Result            string         `json:"result,omitempty"` // deny, requireApproval or warn
	Approvals         int            `json:"approvals,omitempty"`
	Message           string         `json:"message,omitempty"`
	MessageExpression string         `json:"messageExpression,omitempty"`
	By                []PolicySigner `json:"by,omitempty"` // who introduced it
}

// PolicySigner is a signer of a policy, with the scope of the signer's entry in the trust policy when the policy was accepted.
type PolicySigner struct {
	Signer string   `json:"signer"`
	Paths  []string `json:"paths,omitempty"`
	Guests []string `json:"guests,omitempty"`
}

// Left records that the manifest of an owned guest left files or labels, while policies in force that apply there do not apply where it is now. They still apply to the
// guest. It replaces the vmid's earlier Left record. A record without files ends it.
type Left struct {
	VMID  int      `json:"vmid"`
	Files []string `json:"files,omitempty"` // in the order in which they were left
	// Labels are the labels that the guest had in these files, "" for the present one; nil if it had no other one.
	Labels []string `json:"labels,omitempty"`
}

// Former is a place that the manifest of a guest left: a file, and the label of the guest there, "" for the present one.
type Former struct{ File, Label string }

// Places returns the places of a record.
func (b Left) Places() []Former {
	places := make([]Former, len(b.Files))
	for i, file := range b.Files {
		if places[i].File = file; i < len(b.Labels) {
			places[i].Label = b.Labels[i]
		}
	}
	return places
}

// LeftAt returns the record of some places.
func LeftAt(vmid int, places []Former) Left {
	b := Left{VMID: vmid}
	hasLabel := false
	for _, p := range places {
		b.Files, b.Labels, hasLabel = append(b.Files, p.File), append(b.Labels, p.Label), hasLabel || p.Label != ""
	}
	if !hasLabel {
		b.Labels = nil
	}
	return b
}

// Placed records which node was chosen to create a guest on, before the guest is created. It replaces the vmid's earlier Placed record. It is of no use
// for a guest with another label. A record without a node ends it.
type Placed struct {
	VMID   int    `json:"vmid"`
	Kind   string `json:"kind,omitempty"`
	Name   string `json:"name,omitempty"`
	Node   string `json:"node,omitempty"`
	Reason string `json:"reason,omitempty"` // for people
}

// Event is audit history only: it does not change the state, and compaction drops old events.
type Event struct {
	Name     string `json:"name"`
	VMID     int    `json:"vmid,omitempty"`
	Revision string `json:"revision,omitempty"`
	Message  string `json:"message,omitempty"`
	Detail   string `json:"detail,omitempty"` // of a refusal: what is wrong, for people
	Hint     string `json:"hint,omitempty"`   // of a refusal: the remedy
}

func (Accepted) isBody()           {}
func (Evidence) isBody()           {}
func (Begun) isBody()              {}
func (Downloaded) isBody()         {}
func (Dispatched) isBody()         {}
func (Waited) isBody()             {}
func (Ended) isBody()              {}
func (Assigned) isBody()           {}
func (OwnedObject) isBody()        {}
func (DisownedObject) isBody()     {}
func (Owned) isBody()              {}
func (Disowned) isBody()           {}
func (Guarded) isBody()            {}
func (ClusterGuarded) isBody()     {}
func (PolicyInForce) isBody()      {}
func (Left) isBody()               {}
func (Applied) isBody()            {}
func (IneffectiveRestart) isBody() {}
func (Attached) isBody()           {}
func (Snapshots) isBody()          {}
func (Repeated) isBody()           {}
func (Flapping) isBody()           {}
func (Seen) isBody()               {}
func (Ordered) isBody()            {}
func (Overridden) isBody()         {}
func (Writer) isBody()             {}
func (Introduced) isBody()         {}
func (Placed) isBody()             {}
func (Event) isBody()              {}

func (b Applied) inUTC() Applied {
	b.Process.Start, b.BootedAt = b.Process.Start.UTC(), b.BootedAt.UTC()
	for key, e := range b.InEffect {
		e.Since = e.Since.UTC()
		b.InEffect[key] = e
	}
	return b
}

func (b Introduced) complete() bool {
	incomplete := func(i Introduction) bool {
		return i.Signer == "" || i.Entry == "" || i.Commit == "" || len(i.Fields) == 0
	}
	return b.Kind != "" && b.Name != "" && !slices.ContainsFunc(b.By, incomplete)
}

func (r Result) valid() bool { return slices.Contains(Results(), r) }

func (o Origin) valid() bool { return o == Created || o == Adopted || o == Recovered }

func (s OrderState) valid() bool { return s.IsOpen() || s.final() }

// IsOpen reports whether an order in this state has no outcome yet.
func (s OrderState) IsOpen() bool { return s == OrderSeen || s == OrderReleased }

func (s OrderState) final() bool {
	switch s {
	case OrderRun, OrderExpired, OrderRefused, OrderUnknown, OrderFailed:
		return true
	case OrderSeen, OrderReleased:
	}
	return false
}
