package manifest

import (
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/kinds"
	"gitops-agent/reconcile/policy"
)

// inheritedName is the field for what guests of a kind inherit, in a class, in a set and in the defaults.
var inheritedName = map[guest.Kind]string{guest.VirtualMachine: "virtualMachine", guest.Container: "container"}

// objectOf returns the spec of a kind, or nil for an unknown kind.
func objectOf(kind string) object {
	switch kind {
	case kindCluster:
		return &clusterSpec{}
	case kindClass:
		return &classSpec{}
	case kindSet:
		return &setSpec{}
	case string(image.Kind):
		return &imageSpec{}
	case string(policy.Kind):
		return &policySpec{}
	case string(guest.VirtualMachine), string(guest.Container):
		return newSpec(guest.Kind(kind))
	default:
		if k, known := kinds.Of(guest.Kind(kind)); known {
			return newObjectSpec(k)
		}
		return nil
	}
}

func newSpec(kind guest.Kind) spec {
	if kind == guest.Container {
		return &container{}
	}
	return &machine{}
}
