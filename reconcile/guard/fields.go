package guard

import (
	"cmp"
	"slices"
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/schedule"
)

// field is a row of the table of guards.
type field struct {
	name guest.GuardField
	// text returns the value for people and digests.
	text func(g *journal.Guarded) string
	// isWeaker reports whether next is weaker than now. Values that cannot be compared count as weaker.
	isWeaker func(next, now *journal.Guarded, at time.Time) bool
	// take copies the guard.
	take func(to, from *journal.Guarded)
	// isSilent reports whether the present value stays in force without a step to approve; nil never does.
	isSilent func(next, now *journal.Guarded) bool
	// why says in what next is weaker, for people, and which native keys weaken the guard beside its own field; nil if the texts of both values say it.
	why func(next, now *journal.Guarded) (why, keys []string)
	// apply gives the guard to a guest whose manifest asks for a weaker one.
	apply func(d *guest.Desired, now *journal.Guarded)
}

// Names of values that no manifest spells out.
const (
	unlimited   = "without end"
	notManaged  = string(guest.ProtectionUnmanaged)
	modeObserve = "observe"
	modeEnforce = "enforce"

	adoptIfUnmanaged = "ifUnmanaged"

	backupRequired = "required"
)

// fields is the one place that describes the guards of a guest, except for its vmid.
var fields = []field{
	{
		name: guest.GuardDestroy,
		text: func(g *journal.Guarded) string { return g.Destroy },
		isWeaker: func(next, now *journal.Guarded, _ time.Time) bool {
			return isWeakerIn(permissions, next.Destroy, now.Destroy)
		},
		take:  func(to, from *journal.Guarded) { to.Destroy = from.Destroy },
		apply: func(d *guest.Desired, now *journal.Guarded) { d.Lifecycle.Destroy = guest.Permission(now.Destroy) },
	},
	{
		name: guest.GuardRecreate,
		text: func(g *journal.Guarded) string { return g.Recreate },
		isWeaker: func(next, now *journal.Guarded, _ time.Time) bool {
			return isWeakerIn(permissions, next.Recreate, now.Recreate)
		},
		take: func(to, from *journal.Guarded) {
			to.Recreate, to.Rules.RecreateDefault = from.Recreate, from.Rules.RecreateDefault
		},
		// The default depends on the disks of the guest. Who removes a disk does not ask for another permission.
		isSilent: func(next, now *journal.Guarded) bool { return next.Rules.RecreateDefault && now.Rules.RecreateDefault },
		apply:    func(d *guest.Desired, now *journal.Guarded) { d.Lifecycle.Recreate = guest.Permission(now.Recreate) },
	},
	{
		name:     guest.GuardRebootPolicy,
		text:     rebootText,
		isWeaker: isWeakerReboot,
		take: func(to, from *journal.Guarded) {
			to.Rules.RebootPolicy, to.Rules.Window = from.Rules.RebootPolicy, from.Rules.Window
		},
		apply: func(d *guest.Desired, now *journal.Guarded) {
			d.Lifecycle.RebootPolicy, d.Lifecycle.Window = guest.RebootPolicy(now.Rules.RebootPolicy), now.Rules.Window
		},
	},
	{
		name: guest.GuardShutdownTimeout,
		text: func(g *journal.Guarded) string {
			return (time.Duration(g.Rules.ShutdownSeconds) * time.Second).String()
		},
		isWeaker: func(next, now *journal.Guarded, _ time.Time) bool {
			return next.Rules.ShutdownSeconds < now.Rules.ShutdownSeconds
		},
		take: func(to, from *journal.Guarded) { to.Rules.ShutdownSeconds = from.Rules.ShutdownSeconds },
		apply: func(d *guest.Desired, now *journal.Guarded) {
			d.Lifecycle.ShutdownTimeout = time.Duration(now.Rules.ShutdownSeconds) * time.Second
		},
	},
	{
		name: guest.GuardForceStop,
		text: func(g *journal.Guarded) string {
			if g.Rules.ForceStop {
				return "true"
			}
			return "false"
		},
		isWeaker: func(next, now *journal.Guarded, _ time.Time) bool {
			return next.Rules.ForceStop && !now.Rules.ForceStop
		},
		take:  func(to, from *journal.Guarded) { to.Rules.ForceStop = from.Rules.ForceStop },
		apply: func(d *guest.Desired, now *journal.Guarded) { d.Lifecycle.ForceStop = now.Rules.ForceStop },
	},
	{
		name: guest.GuardProtection,
		text: func(g *journal.Guarded) string { return cmp.Or(g.Rules.Protection, notManaged) },
		isWeaker: func(next, now *journal.Guarded, _ time.Time) bool {
			on := string(guest.ProtectionOn)
			return now.Rules.Protection == on && next.Rules.Protection != on
		},
		take: func(to, from *journal.Guarded) {
			to.Rules.Protection, to.Rules.ProtectionLifted = from.Rules.Protection, from.Rules.ProtectionLifted
		},
		apply: func(d *guest.Desired, _ *journal.Guarded) { *d = d.WithProtection() },
	},
	{
		name: guest.GuardMode,
		text: func(g *journal.Guarded) string { return cmp.Or(g.Rules.Mode, modeEnforce) },
		isWeaker: func(next, now *journal.Guarded, _ time.Time) bool {
			return now.Rules.Mode == modeObserve && next.Rules.Mode == ""
		},
		take:  func(to, from *journal.Guarded) { to.Rules.Mode = from.Rules.Mode },
		apply: func(d *guest.Desired, _ *journal.Guarded) { d.Observe, d.Kept = true, true },
	},
	{
		name:     guest.GuardSuspend,
		text:     suspendText,
		isWeaker: isWeakerSuspension,
		take:     func(to, from *journal.Guarded) { to.Rules.Suspended = from.Rules.Suspended },
		apply:    applySuspension,
	},
	{
		name: guest.GuardAdopt,
		text: func(g *journal.Guarded) string { return cmp.Or(g.Rules.Adopt, "deny") },
		isWeaker: func(next, now *journal.Guarded, _ time.Time) bool {
			return next.Rules.Adopt != "" && now.Rules.Adopt == ""
		},
		take:  func(to, from *journal.Guarded) { to.Rules.Adopt = from.Rules.Adopt },
		apply: func(d *guest.Desired, _ *journal.Guarded) { d.Adopt = false },
	},
	{
		name: guest.GuardBackup,
		text: func(g *journal.Guarded) string { return cmp.Or(g.Rules.Backup, "not required") },
		isWeaker: func(next, now *journal.Guarded, _ time.Time) bool {
			return now.Rules.Backup == backupRequired && next.Rules.Backup != backupRequired
		},
		take:  func(to, from *journal.Guarded) { to.Rules.Backup = from.Rules.Backup },
		apply: func(d *guest.Desired, _ *journal.Guarded) { d.Backup = true },
	},
	{
		name:     guest.GuardFirewall,
		text:     firewallText,
		isWeaker: isWeakerFirewall,
		why:      weakerFirewall,
		take:     func(to, from *journal.Guarded) { to.Rules.Firewall = from.Rules.Firewall },
		apply:    applyFirewall,
	},
	{
		name: guest.GuardRollout,
		text: func(g *journal.Guarded) string { return rolloutOf(g).String() },
		isWeaker: func(next, now *journal.Guarded, _ time.Time) bool {
			return rolloutOf(next).IsWeakerThan(rolloutOf(now))
		},
		take:  func(to, from *journal.Guarded) { to.Rules.Rollout = from.Rules.Rollout },
		apply: func(d *guest.Desired, now *journal.Guarded) { d.Rollout = rolloutOf(now) },
	},
}

// OfObjects returns the guards in force of a guest that changes of other objects can weaken.
func OfObjects(g journal.Guarded) []guest.GuardField {
	return guest.GuardsOfObjects(g.Rules.Backup == backupRequired, g.Rules.Firewall != "")
}

// rolloutOf returns the settings in a record.
func rolloutOf(g *journal.Guarded) guest.Rollout {
	r, _ := guest.DecodeRollout(g.Rules.Rollout)
	return r
}

// permissions and rebootPolicies are sorted, the strongest first.
var (
	permissions    = []string{string(guest.Deny), string(guest.Approve), string(guest.Allow)}
	rebootPolicies = []string{string(guest.RebootNever), string(guest.RebootApprove), string(guest.RebootWindow), string(guest.RebootAuto)}
)

// isWeakerIn compares two words of a list that begins with the strongest one. A word that is not in the list is the weakest one as the next value,
// and the strongest one as the present value.
func isWeakerIn(order []string, next, now string) bool {
	to, from := slices.Index(order, next), slices.Index(order, now)
	if to < 0 {
		to = len(order)
	}
	return to > from
}

func rebootText(g *journal.Guarded) string {
	if g.Rules.RebootPolicy == string(guest.RebootWindow) {
		return g.Rules.RebootPolicy + " " + g.Rules.Window
	}
	return g.Rules.RebootPolicy
}

// isWeakerReboot compares the policies, and of two windows whether the next one is wider.
func isWeakerReboot(next, now *journal.Guarded, _ time.Time) bool {
	window := string(guest.RebootWindow)
	if next.Rules.RebootPolicy != window || now.Rules.RebootPolicy != window || next.Rules.Window == now.Rules.Window {
		return isWeakerIn(rebootPolicies, next.Rules.RebootPolicy, now.Rules.RebootPolicy)
	}
	wider, err := schedule.ParseWindow(next.Rules.Window)
	present, presentErr := schedule.ParseWindow(now.Rules.Window)
	return err != nil || presentErr != nil || !wider.Within(present)
}

func suspendText(g *journal.Guarded) string {
	switch g.Rules.Suspended {
	case "":
		return "none"
	case unlimited:
		return unlimited
	}
	return "until " + g.Rules.Suspended
}

// suspensionOf returns a suspension as the journal records it.
func suspensionOf(s *guest.Suspension) string {
	switch {
	case s == nil:
		return ""
	case s.Until.IsZero():
		return unlimited
	}
	return s.Until.UTC().Format(time.RFC3339)
}

// suspendedUntil returns the end of a recorded suspension, the zero time if it has none. A record that cannot be read has none.
func suspendedUntil(text string) time.Time {
	until, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return until
}

// isWeakerSuspension reports whether a suspension that is in force would end earlier.
func isWeakerSuspension(next, now *journal.Guarded, at time.Time) bool {
	if now.Rules.Suspended == "" || next.Rules.Suspended == unlimited || next.Rules.Suspended == now.Rules.Suspended {
		return false
	}
	end := suspendedUntil(now.Rules.Suspended)
	if !end.IsZero() && !at.Before(end) {
		return false
	}
	if next.Rules.Suspended == "" || end.IsZero() {
		return true
	}
	return suspendedUntil(next.Rules.Suspended).Before(end)
}

// applySuspension keeps a suspension until its end. The reason and the author are those of the manifest, if it still has a suspension.
func applySuspension(d *guest.Desired, now *journal.Guarded) {
	s := guest.Suspension{Reason: "its end is held until it is approved"}
	if d.Suspend != nil {
		s = *d.Suspend
	}
	s.Until, s.Kept = suspendedUntil(now.Rules.Suspended), true
	d.Suspend = &s
}
