package guard

import (
	"cmp"
	"fmt"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"
)

// Minimum is the bound that the host's configuration sets. No guard in effect is weaker, whatever is approved. The zero Minimum sets no bound.
type Minimum struct {
	Approvals         int                // 0 sets no bound
	MaxDestroysPerDay *int               // nil sets no bound
	Destroy           guest.Permission   // "" sets no bound, as in the fields below
	Recreate          guest.Permission   // of guests that are gone
	RebootPolicy      guest.RebootPolicy // never or approve
}

// IsZero reports whether no bound is set.
func (m Minimum) IsZero() bool { return m == (Minimum{}) }

// Texts returns the bounds for people: "approvals: at least 2".
func (m Minimum) Texts() []string {
	var list []string
	if m.Approvals > 0 {
		list = append(list, fmt.Sprintf("approvals: at least %d", m.Approvals))
	}
	if m.MaxDestroysPerDay != nil {
		list = append(list, fmt.Sprintf("destroys in a day: at most %d", *m.MaxDestroysPerDay))
	}
	for _, bound := range []struct{ field, value string }{
		{string(guest.GuardDestroy), string(m.Destroy)}, {string(guest.GuardRecreate), string(m.Recreate)}, {string(guest.GuardRebootPolicy), string(m.RebootPolicy)},
	} {
		if bound.value != "" {
			list = append(list, fmt.Sprintf("%s: at least %s", bound.field, bound.value))
		}
	}
	return list
}

// ofCluster returns the Cluster's guards within the bounds.
func (m Minimum) ofCluster(g manifest.Guards) manifest.Guards {
	g.Approvals = max(g.Approvals, m.Approvals, 1)
	if m.MaxDestroysPerDay != nil {
		g.MaxDestroysPerDay = min(g.MaxDestroysPerDay, *m.MaxDestroysPerDay)
	}
	return g
}

// of returns a guest's guards within the bounds.
func (m Minimum) of(g journal.Guarded) journal.Guarded {
	g.Destroy = string(stronger(guest.Permission(g.Destroy), m.Destroy))
	g.Recreate = string(stronger(guest.Permission(g.Recreate), m.Recreate))
	if m.RebootPolicy != "" && isWeakerIn(rebootPolicies, g.Rules.RebootPolicy, string(m.RebootPolicy)) {
		g.Rules.RebootPolicy, g.Rules.Window = string(m.RebootPolicy), ""
	}
	return g
}

// stronger returns the stronger permission. An empty bound is none.
func stronger(permission, bound guest.Permission) guest.Permission {
	if bound != "" && isWeakerIn(permissions, string(permission), string(bound)) {
		return bound
	}
	return permission
}

// Recreate returns whether a guest that is gone may be created again: the stronger one of the manifest's permission, of the one in force, and of
// the bound. A record without it means approve.
func Recreate(wanted guest.Permission, g journal.Guarded, m Minimum) guest.Permission {
	return stronger(stronger(wanted, recreate(g)), m.Recreate)
}

// recreate returns the permission in force to create a guest again that is gone. A guest that required backups needs an approval: they are all that is left of it, and those of the next guest
// with its vmid take their places.
func recreate(g journal.Guarded) guest.Permission {
	permission := guest.Permission(cmp.Or(g.Recreate, string(guest.Approve)))
	if permission == guest.Allow && g.Rules.Backup != "" {
		return guest.Approve
	}
	return permission
}
