package manifest

import (
	"gitops-agent/reconcile/guest"
)

// spec is what VirtualMachine and Container have in common as Go values.
type spec interface {
	object
	shared() *common
	defaultName(l *lowering, name opt[string])
	source(l *lowering) guest.Source
	refresh() bool // see guest.Desired.Refresh
}
