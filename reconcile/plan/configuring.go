package plan

import (
	"slices"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// WantedNow returns what the manifest of a guest wants now. While the record says that the agent creates the guest and has not seen it configured, that includes the
// fields that the manifest lists under ignoreFields. It returns d itself if it wants nothing else.
//
// The pool and the node stay ignored: the call that creates the guest has set them, and a token without Pool.Audit does not see the pool.
func WantedNow(d *guest.Desired, owned journal.Owned) *guest.Desired {
	if !owned.Configuring || len(d.Ignore) == 0 {
		return d
	}
	now := *d
	now.Ignore = slices.DeleteFunc(slices.Clone(d.Ignore), func(entry string) bool { return entry != "pool" && entry != "node" })
	return &now
}

// differences returns what differs between a guest that exists and its manifest, its secrets included, and the conditions for secrets that cannot be sent.
func differences(want Desired, d *guest.Desired, live guest.Observed, owned journal.Owned, former map[string]guest.Former) ([]guest.Change, []Condition) {
	mine := *d
	mine.Marker, mine.Former = owned.Tag, former
	secrets, blocked := secretChanges(want, d, live, owned)
	return withSecrets(guest.Diff(mine, live), secrets), blocked
}

// holdsIgnored reports whether a new guest has what its manifest lists under ignoreFields: no change and no secret is left that the manifest does not ask for later. All and
// blocked are the differences without these entries. What no call can write, or what is written and waits for a restart, is not left.
func holdsIgnored(want Desired, later *guest.Desired, live guest.Observed, owned journal.Owned, former map[string]guest.Former, all []guest.Change, blocked []Condition) bool {
	rest, restBlocked := differences(want, later, live, owned, former)
	all = guest.KeepUUID(all, owned.UUID)
	return len(blocked) == len(restBlocked) && !slices.ContainsFunc(all, func(c guest.Change) bool {
		return c.Write != guest.WriteNone && !slices.ContainsFunc(rest, func(r guest.Change) bool { return r.Key == c.Key && r.Write == c.Write && r.Value == c.Value })
	})
}
