package guest

import (
	"slices"
	"strings"

	"gitops-agent/reconcile/guest/form"
)

// Diff returns the changes that make the live guest what the manifest wants, sorted by key. It is empty if the two agree. A drive may have
// three changes: of its options, of its storage, then of its size. Apart from native keys it compares "ha", "node", "pool" and
// "template", which have calls of their own. For secrets see SecretChange.
//
// Values are compared by meaning, and with the configuration after the next start: a value that already waits for a restart is a Change
// with Waits and nothing to write. Keys that the manifest does not mention are not compared; a written value keeps the live sub-keys that the
// manifest does not mention. Classes depend on the guest's run state; an unknown state counts as running. The marker is compared even if tags
// are ignored. Locked guests and templates are compared like any other guest. Diff is pure.
func Diff(d Desired, o Observed) []Change {
	c := comparison{want: &d, live: &o}
	return c.run()
}

func (c *comparison) run() []Change {
	tagged, ignored := false, c.ignoredKeys()
	for i := range c.want.Intents {
		in := &c.want.Intents[i]
		switch {
		case in.Key == "tags":
			tagged = true
			c.compareTags(in)
		case len(ignored) == 0 || !ignores(ignored, in.Key, ""):
			c.compare(in)
		}
	}
	if !tagged {
		c.compareTags(nil)
	}
	if !c.creating {
		c.compareHA()
		c.compareNode()
		c.comparePool()
		c.compareTemplate()
	}
	c.checkBoot()
	if !slices.IsSortedFunc(c.changes, byKey) {
		slices.SortStableFunc(c.changes, byKey)
	}
	return c.changes
}

func byKey(a, b Change) int { return strings.Compare(a.Key, b.Key) }

// compare adds the changes of one intent.
func (c *comparison) compare(in *Intent) {
	r, _ := find(c.want.Kind, in.Key)
	switch {
	case r.once && !c.creating:
	case in.Verb == Absent, in.Sub == nil && r.syntax == nil && !r.device && r.isEmpty(in.Text):
		c.compareAbsent(in, r)
	case r.drive:
		c.compareDrive(in, r)
	case r.syntax != nil:
		c.compareProperties(in, r, r.syntax)
	case in.Sub != nil:
		c.compareProperties(in, r, &plainSyntax)
	default:
		c.compareScalar(in, r)
	}
}

// isEmpty reports whether the key has no value after text is written.
func (r *row) isEmpty(text string) bool {
	return isBlank(text) || r.Form == form.Notes && strings.TrimSpace(text) == ""
}

func (c *comparison) compareScalar(in *Intent, r *row) {
	c.compareValue(in, r, func(text string) bool {
		if text == "" {
			text = r.absentValue
		}
		return text != "" && r.Satisfied(in.Text, text)
	}, func(string) string { return r.Native(in.Text) })
}

func (c *comparison) compareProperties(in *Intent, r *row, s *syntax) {
	var wanted, found [24]pair
	w := newWantedProperties(wanted[:0], in, s, c.ignoredKeys(), c.live.Version)
	c.compareValue(in, r, func(text string) bool {
		if text == "" {
			text = r.absentValue
		}
		return (text != "" || !r.device) && w.heldBy(s.parse(found[:0], text))
	}, func(base string) string {
		merged := withRequiredSubKeys(in.Key, s, w.merge(s.parse(nil, base)))
		if r.device && len(merged) == 0 && s.checkDeviceNamed(w.pairs) == nil {
			merged = w.pairs // defaults, which must be named for the device to exist
		}
		return s.native(merged)
	})
}

// withRequiredSubKeys adds sub-keys that Proxmox requires of a network card or of the processor, if they are not set.
func withRequiredSubKeys(key string, s *syntax, p properties) properties {
	switch {
	case s == cardSyntax && p.text("model") == "":
		return append(p, pair{"model", "virtio"})
	case s == cpuSyntax && len(p) > 0 && p.text("cputype") == "":
		return append(p, pair{"cputype", s.sub("cputype").absentValue}) // Proxmox refuses flags without it, though it has a default
	case s == vethSyntax && p.text("name") == "":
		return slices.Insert(p, 0, pair{"name", "eth" + strings.TrimPrefix(key, "net")})
	default:
		return p
	}
}

func (c *comparison) compareAbsent(in *Intent, r *row) {
	if c.creating {
		return
	}
	c.compareValue(in, r, func(text string) bool {
		return text == "" || !r.device && r.absentValue != "" && r.Canonical(text) == r.Canonical(r.absentValue)
	}, func(string) string {
		if r.required {
			return r.absentValue
		}
		return ""
	})
}

// compareTags compares the tags, including the ownership marker. In is nil if the manifest has no tags.
func (c *comparison) compareTags(in *Intent) {
	open := in == nil || len(c.ignoredKeys()) > 0 && ignores(c.ignoredKeys(), "tags", "")
	if open && c.want.Marker == "" {
		return
	}
	var liveBuffer, wantedBuffer, ownedBuffer [16]string
	_, next := nowAndNext(c.live.Keys["tags"])
	live := form.AppendTags(liveBuffer[:0], next)
	wanted := live
	origin := c.want.Origin
	if !open {
		wanted, origin = wantedBuffer[:0], in.Origin
		if in.Verb != Absent {
			wanted = form.AppendTags(wanted, in.Text)
		}
	}
	owned := ownedTags(ownedBuffer[:0], wanted, live, c.want.Marker)
	if slices.Equal(owned, live) {
		return
	}
	r, _ := find(c.want.Kind, "tags")
	c.addWrite(&Intent{Key: "tags", Origin: origin}, edit{live: c.live, key: "tags", row: r, from: next, to: strings.Join(owned, ";")}, next)
}
