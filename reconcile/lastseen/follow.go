package lastseen

import (
	"maps"
	"slices"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/object"
)

// Of returns what the journal says of an object that the agent owns under an identity, nil if it says nothing. A record of another identity says nothing
// about the object.
func Of(state journal.State, key object.Key, identity string) Values {
	return OfRecord(state.Seen, key, identity)
}

// OfRecord is Of for the records of a journal.
func OfRecord(records map[object.Key]journal.Seen, key object.Key, identity string) Values {
	record, found := records[key]
	if !found || identity == "" || record.Identity != identity {
		return nil
	}
	return record.Keys
}

// IsAsSeen reports whether all values of a reading are the recorded ones, apart from those of some keys. It is false without a record.
func IsAsSeen(seen, now Values, except ...string) bool {
	was, is := maps.Clone(seen), maps.Clone(now)
	for _, key := range except {
		delete(was, key)
		delete(is, key)
	}
	return len(seen) > 0 && maps.Equal(was, is)
}

// AfterStep returns the record of an object after a step that did not certainly have its effect, and whether it differs from the one that the step began with: what
// others changed before is still theirs.
func AfterStep(state journal.State, begun journal.Begun) (journal.Seen, bool) {
	record, found := state.Seen[begun.Key()]
	if len(begun.TakesBack) == 0 || !found {
		return journal.Seen{}, false
	}
	keys := maps.Clone(begun.TakesBack)
	maps.Copy(keys, record.Keys)
	return journal.NewSeen(begun.Key(), record.Identity, keys), !maps.Equal(keys, record.Keys)
}

// Differences are how an object differs from its manifest in one reading.
type Differences struct {
	Changes  []guest.Change
	RunState bool // the run state is not the wanted one
	Gone     bool // the object existed, and does not exist any more
}

// keys returns the keys that differ. A value that is written and waits for a restart is as wanted.
func (d Differences) keys() map[string]bool {
	keys := make(map[string]bool, len(d.Changes))
	for _, c := range d.Changes {
		if !c.Waits {
			keys[keyOf(c)] = true
		}
	}
	if d.RunState {
		keys[keyState] = true
	}
	if d.Gone {
		keys[keyExists] = true
	}
	return keys
}

// Only returns those of some keys that differ, each once, sorted.
func (d Differences) Only(keys []string) []string {
	differs := d.keys()
	left := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return !differs[key] })
	slices.Sort(left)
	return slices.Compact(left)
}

// ByOthers returns the keys that differ from the manifest because others changed them, sorted: each has another value than the agent last saw in effect,
// and since then no step of the agent began that may have changed it. Now are the values of the reading with the differences.
func ByOthers(seen, now Values, d Differences) []string {
	var keys []string
	for key := range d.keys() {
		if was, known := seen[key]; known && was != now[key] && now[key] != notRead {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// Follow returns the values of the record after a reading that began when no step of the object was open, and whether they changed. What was not read stays as it was.
func Follow(seen, now Values, d Differences) (Values, bool) {
	differs := d.keys()
	next := make(Values, len(now))
	for key, value := range now {
		if was, known := seen[key]; known && (differs[key] || value == notRead) {
			value = was
		}
		if value != notRead {
			next[key] = value
		}
	}
	return next, !maps.Equal(next, seen)
}
