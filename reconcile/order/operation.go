package order

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// operation is a row of the table of one-shot operations.
type operation struct {
	op       cluster.Op
	vmOnly   bool // containers do not have the operation
	template bool // a template has the operation too
	params   []param
	required []string // keys of params
}

// param is a key that an operation takes.
type param struct {
	key    string
	want   string // the allowed values, for people
	ok     func(value string) bool
	values []string   // that it takes, if these are few
	only   guest.Kind // the only kind that has the key in this form; "" for both
}

// isOf reports whether guests of a kind have the parameter. An unknown kind has those of virtual machines.
func (p param) isOf(kind guest.Kind) bool {
	return p.only == "" || (p.only == guest.Container) == (kind == guest.Container)
}

// choice returns a parameter that takes one of a few values.
func choice(key string, values ...string) param {
	return param{key: key, want: oneOf(values), ok: func(value string) bool { return slices.Contains(values, value) }, values: values}
}

// Keys of parameters.
const (
	KeyFor       = "for"       // how long the order overrides the run state of the manifest
	KeyTimeout   = "timeout"   // how long the guest may take to shut down
	KeyForce     = "force"     // Yes: stop the guest hard after the timeout
	KeyName      = "name"      // of the snapshot
	KeyMemory    = "vmstate"   // Yes: the snapshot contains the memory of the running guest
	KeyStorage   = "storage"   // of the backup
	KeyMode      = "mode"      // of the backup, as Proxmox names it
	KeyProtected = "protected" // Yes: Proxmox refuses to delete the backup
	KeyNotes     = "notes"     // of the backup
	KeyTarget    = "target"    // node that the guest moves to
)

// Yes is the value of a key that asks for something.
const Yes = "yes"

// The bounds of durations.
const (
	minOverride, maxOverride = time.Minute, 7 * 24 * time.Hour
	minTimeout, maxTimeout   = time.Second, time.Hour
)

var (
	override  = param{key: KeyFor, want: "a duration from 1m to 168h, such as 2h", ok: isDuration(minOverride, maxOverride)}
	timeout   = param{key: KeyTimeout, want: "a duration in whole seconds from 1s to 1h, such as 90s", ok: isDuration(minTimeout, maxTimeout)}
	force     = choice(KeyForce, Yes, no)
	name      = param{key: KeyName, want: snapshotNames + "neither current nor pending", ok: isSnapshotName("current", "pending"), only: guest.VirtualMachine}
	nameInCT  = param{key: KeyName, want: snapshotNames + "not current", ok: isSnapshotName("current"), only: guest.Container}
	newInCT   = param{key: KeyName, want: snapshotNames + "neither current nor vzdump, which a backup makes and deletes", ok: isSnapshotName("current", "vzdump"), only: guest.Container}
	memory    = onlyVM(choice(KeyMemory, Yes, no))
	storage   = param{key: KeyStorage, want: "the name of a storage", ok: matches(storageName)}
	mode      = choice(KeyMode, ModeSnapshot, ModeSuspend, ModeStop)
	protected = choice(KeyProtected, Yes, no)
	notes     = param{key: KeyNotes, want: "up to 100 letters, digits and . _ : + -", ok: matches(note)}
	target    = param{key: KeyTarget, want: "the name of a node", ok: matches(nodeName)}
)

// no is the other value of a key that takes Yes.
const no = "no"

func onlyVM(p param) param {
	p.only = guest.VirtualMachine
	return p
}

// The modes of a backup: how the guest is kept consistent.
const (
	ModeSnapshot = "snapshot" // the guest goes on
	ModeSuspend  = "suspend"  // the guest is paused for a moment
	ModeStop     = "stop"     // the guest is shut down and started again
)

// The names that parameters have, as Proxmox accepts them. No note contains braces, which are variables of Proxmox.
//
// Source: PVE::JSONSchema, formats pve-storage-id and pve-node; PVE::API2::Qemu and PVE::API2::LXC::Snapshot for the reserved names.
var (
	snapshotName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^" + guest.SnapshotName + "$") })
	storageName  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,98}[A-Za-z0-9]$`) })
	nodeName     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`) })
	note         = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._:+-]{1,100}$`) })
)

func matches(shape func() *regexp.Regexp) func(string) bool {
	return func(value string) bool { return shape().MatchString(value) }
}

const snapshotNames = "the name of a snapshot: 2 to 40 letters, digits, - and _, a letter first, and "

// isSnapshotName accepts names of snapshots except reserved ones, in capitals too.
func isSnapshotName(reserved ...string) func(string) bool {
	return func(value string) bool {
		return snapshotName().MatchString(value) && !slices.Contains(reserved, strings.ToLower(value))
	}
}

// operations is the one place that defines the one-shot operations, in the order in which messages list them.
var operations = []operation{
	{op: cluster.OpStart, params: []param{override}},
	{op: cluster.OpShutdown, params: []param{timeout, force, override}},
	{op: cluster.OpStop, params: []param{override}},
	{op: cluster.OpReboot, params: []param{timeout}},
	{op: cluster.OpReset, vmOnly: true},
	{op: cluster.OpSuspend, vmOnly: true},
	{op: cluster.OpResume, vmOnly: true},
	{op: cluster.OpSnapshot, params: []param{name, newInCT, memory}, required: []string{KeyName}},
	{op: cluster.OpDeleteSnapshot, params: []param{name, nameInCT}, required: []string{KeyName}},
	{op: cluster.OpRollback, params: []param{name, nameInCT}, required: []string{KeyName}},
	{op: cluster.OpBackup, template: true, params: []param{storage, mode, protected, notes}, required: []string{KeyStorage}},
	{op: cluster.OpMigrate, template: true, params: []param{target}, required: []string{KeyTarget}},
}

// Operations lists the names of the one-shot operations.
func Operations() []string {
	names := make([]string, 0, len(operations))
	for _, row := range operations {
		names = append(names, string(row.op))
	}
	return names
}

// Keys lists the keys that an operation takes for a guest of a kind, nil for an unknown operation.
func Keys(op cluster.Op, kind guest.Kind) []string {
	row, _ := find(string(op))
	return row.keys(kind)
}

// Kinds lists the kinds of guests that have an operation, nil for an unknown operation.
func Kinds(op cluster.Op) []string {
	if row, known := find(string(op)); known {
		return row.kinds()
	}
	return nil
}

// Values lists the values of a key of an operation that takes one of a few, nil for any other key.
func Values(op cluster.Op, key string) []string {
	row, _ := find(string(op))
	p, _ := row.param(key, guest.VirtualMachine)
	return p.values
}

// AllowsTemplate reports whether a template has the operation too.
func AllowsTemplate(op cluster.Op) bool {
	row, _ := find(string(op))
	return row.template
}

func find(name string) (operation, bool) {
	i := slices.IndexFunc(operations, func(row operation) bool { return string(row.op) == name })
	if i < 0 {
		return operation{}, false
	}
	return operations[i], true
}

// kinds returns the kinds of guests that have the operation.
func (o operation) kinds() []string {
	if o.vmOnly {
		return []string{string(guest.VirtualMachine)}
	}
	return []string{string(guest.VirtualMachine), string(guest.Container)}
}

func (o operation) keys(kind guest.Kind) []string {
	var keys []string
	for _, p := range o.params {
		if p.isOf(kind) {
			keys = append(keys, p.key)
		}
	}
	return keys
}

// param returns the parameter with a key of a guest of a kind.
func (o operation) param(key string, kind guest.Kind) (param, bool) {
	i := slices.IndexFunc(o.params, func(p param) bool { return p.key == key && p.isOf(kind) })
	if i < 0 {
		return param{}, false
	}
	return o.params[i], true
}

// isDuration accepts a positive duration in whole seconds within bounds.
func isDuration(least, most time.Duration) func(string) bool {
	return func(value string) bool {
		d, err := time.ParseDuration(value)
		return err == nil && d >= least && d <= most && d%time.Second == 0 && !strings.HasPrefix(value, "+")
	}
}
