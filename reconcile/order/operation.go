package order

import (
	"slices"
	"strings"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// operation is a row of the table of one-shot operations.
type operation struct {
	op       cluster.Op
	vmOnly   bool // containers do not have the operation
	params   []param
	required []string // keys of params
}

// param is a key that an operation takes.
type param struct {
	key  string
	want string // the allowed values, for people
	ok   func(value string) bool
}

// Keys of parameters.
const (
	KeyFor     = "for"     // how long the order overrides the run state of the manifest
	KeyTimeout = "timeout" // how long the guest may take to shut down
	KeyForce   = "force"   // Yes: stop the guest hard after the timeout
)

// Yes is the value of a key that asks for something.
const Yes = "yes"

// The bounds of durations.
const (
	minOverride, maxOverride = time.Minute, 7 * 24 * time.Hour
	minTimeout, maxTimeout   = time.Second, time.Hour
)

var (
	override = param{KeyFor, "a duration from 1m to 168h, such as 2h", isDuration(minOverride, maxOverride)}
	timeout  = param{KeyTimeout, "a duration in whole seconds from 1s to 1h, such as 90s", isDuration(minTimeout, maxTimeout)}
	force    = param{KeyForce, "yes or no", isOneOf(Yes, "no")}
)

// operations is the one place that defines the one-shot operations, in the order in which messages list them.
var operations = []operation{
	{op: cluster.OpStart, params: []param{override}},
	{op: cluster.OpShutdown, params: []param{timeout, force, override}},
	{op: cluster.OpStop, params: []param{override}},
	{op: cluster.OpReboot, params: []param{timeout}},
	{op: cluster.OpReset, vmOnly: true},
	{op: cluster.OpSuspend, vmOnly: true},
	{op: cluster.OpResume, vmOnly: true},
}

// Operations lists the names of the one-shot operations.
func Operations() []string {
	names := make([]string, 0, len(operations))
	for _, row := range operations {
		names = append(names, string(row.op))
	}
	return names
}

// Keys lists the keys that an operation takes, nil for an unknown operation.
func Keys(op cluster.Op) []string {
	row, _ := find(string(op))
	return row.keys()
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

func (o operation) keys() []string {
	var keys []string
	for _, p := range o.params {
		keys = append(keys, p.key)
	}
	return keys
}

func (o operation) param(key string) (param, bool) {
	i := slices.IndexFunc(o.params, func(p param) bool { return p.key == key })
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

func isOneOf(values ...string) func(string) bool {
	return func(value string) bool { return slices.Contains(values, value) }
}
