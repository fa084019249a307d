package guest

import "strings"

// comparison compares one guest with its manifest.
type comparison struct {
	want     *Desired
	live     *Observed
	creating bool // the guest does not exist yet: every intent is written
	changes  []Change
	larger   []Larger
	buffer   [24]pair // room for the wanted properties of one drive at a time
}

// nowAndNext returns the native text of a value now and after the next start, "" for no value or an empty one.
func nowAndNext(v Value) (now, next string) {
	if v.Set && !isBlank(v.Text) {
		now = v.Text
	}
	if text, ok := v.Next(); ok && !isBlank(text) {
		next = text
	}
	return now, next
}

// ignoredKeys returns the keys that are not compared. A guest that does not exist yet has none.
func (c *comparison) ignoredKeys() []string {
	if c.creating {
		return nil
	}
	return c.want.Ignore
}

// ignoresKey reports whether the manifest excludes a whole key, native or not, from the comparison.
func (c *comparison) ignoresKey(key string) bool {
	return len(c.want.Ignore) > 0 && ignores(c.want.Ignore, key, "")
}

// compareValue adds the change that makes holds true for the key, if a change is needed. The function text returns the native text to write
// from the text that the key has after the next start.
func (c *comparison) compareValue(in *Intent, r *row, holds func(text string) bool, text func(base string) string) {
	now, next := nowAndNext(c.live.Keys[in.Key])
	switch {
	case c.creating:
		c.addWrite(in, edit{live: c.live, key: in.Key, row: r, to: text("")}, "")
	case !holds(next):
		c.addWrite(in, edit{live: c.live, key: in.Key, row: r, from: now, to: text(next)}, next)
		if now != next && holds(now) {
			c.markAsRevert()
		}
	case now != next && !holds(now):
		c.addWaiting(in, r, now, next)
	}
}

// addWrite adds the change for an edit. Next is the text of the key after the next start. Of an edit that only root@pam may make, a part that a token may write is
// a change of its own, before the rest.
func (c *comparison) addWrite(in *Intent, e edit, next string) {
	if e.row.blocks != nil && e.row.blocks.part != nil {
		part := e.row.blocks.part(e)
		switch {
		case part != next && e.row.Canonical(part) == e.row.Canonical(e.to):
			e.to = part
		case part != next:
			c.addWrite(in, edit{live: e.live, key: e.key, row: e.row, from: e.from, to: part}, next)
			next, e.to = part, e.row.syntax.beginningWith(part, e.to)
		case e.row.Canonical(next) != e.row.Canonical(e.from) && !c.creating:
			c.addWaiting(in, e.row, e.from, next)
		}
	}
	change := Change{
		Key: e.key, From: e.row.Canonical(next), To: e.row.Canonical(e.to),
		Write: WriteSet, Value: e.to, Origin: in.Origin, Guarded: !c.creating && e.guarded(),
	}
	if e.to == "" {
		change.Write = WriteDelete
	}
	if change.Class, change.Note = e.class(); c.creating {
		change.Class, change.Note = Live, ""
	}
	if block := e.blockedBy(); block.isSet() {
		change.Class, change.Note = Impossible, block.note
		if change.RootOnly = block.rootOnly; block.rootOnly {
			change.RootValue = e.to
		}
	} else if e.to == "" && next == "" && e.from == "" && !c.creating {
		change.Class, change.Note = Impossible, "the manifest names nothing that creates the device"
	}
	c.add(change)
}

// markAsRevert marks the last change as one that only reverts a waiting change. The running guest is not affected.
func (c *comparison) markAsRevert() {
	change := &c.changes[len(c.changes)-1]
	if change.Class != Impossible {
		change.Class, change.Note = Live, "reverts a waiting change"
	}
}

// addWaiting adds a change that is written already and waits for the next start.
func (c *comparison) addWaiting(in *Intent, r *row, now, next string) {
	c.add(Change{
		Key: in.Key, From: r.Canonical(now), To: r.Canonical(next), Class: Restart, Write: WriteNone,
		Waits: true, Note: restartNeeded, Origin: in.Origin,
	})
}

func (c *comparison) add(change Change) {
	if change.Class == Impossible {
		change.Write, change.Value, change.Guarded = WriteNone, "", false
	}
	c.changes = append(c.changes, change)
}

// ignores reports whether list names key, or its sub-key name.
func ignores(list []string, key, name string) bool {
	for _, entry := range list {
		rest, ok := strings.CutPrefix(entry, key)
		if ok && (rest == "" || name != "" && rest[0] == '.' && rest[1:] == name) {
			return true
		}
	}
	return false
}
