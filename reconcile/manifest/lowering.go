package manifest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
)

func newLowering(r *report, ref guest.Ref, seen tables) *lowering {
	return &lowering{
		report: r, label: ref.Label(), kind: ref.Kind, seen: seen,
		intents: map[string]*guest.Intent{}, setBy: map[string]place{}, natives: map[string][]string{},
	}
}

func (l *lowering) problem(p place, message, hint string) {
	l.report.add(Problem{Origin: guest.Origin(p.at), Guest: l.label, Field: p.path, Message: message, Hint: hint})
}

// missing reports a missing field. It reports nothing if a part of the manifest was not understood, since the field may be there.
func (l *lowering) missing(p place, message, hint string) {
	if !l.partial {
		l.problem(p, message, hint)
	}
}

// put wants native text for a key, a sub-key, or a sub-key of the current slot. Empty text wants a key absent.
func (l *lowering) put(native string, p place, text string) {
	key, sub, isSub := strings.Cut(native, ".")
	if key == "" {
		key = l.slot
	}
	switch {
	case isSub && text == "":
		return
	case isSub:
		l.putSub(key, sub, p, text)
	case text == "":
		l.remove(key, p)
	default:
		l.intent(key, p).Text = text
		l.natives[p.path] = append(l.natives[p.path], key)
	}
}

// putSub wants native text for a sub-key. Empty text wants it absent.
func (l *lowering) putSub(key, sub string, p place, text string) {
	in := l.intent(key, p)
	if in.Sub == nil {
		in.Sub = map[string]string{}
	}
	in.Sub[sub] = text
	l.natives[p.path] = append(l.natives[p.path], key+"."+sub)
}

// remove wants a key, and the slot that it names, to be absent.
func (l *lowering) remove(key string, p place) {
	l.intent(key, p).Verb = guest.Absent
	l.natives[p.path] = append(l.natives[p.path], key)
}

// recordNative records the native name of a field that does not become an intent. ignoreFields and changes use this name.
func (l *lowering) recordNative(native string, p place) {
	l.natives[p.path] = append(l.natives[p.path], native)
}

func (l *lowering) intent(key string, p place) *guest.Intent {
	in, there := l.intents[key]
	if !there {
		in = &guest.Intent{Key: key, Verb: guest.Want, Origin: guest.Origin(p.at)}
		l.intents[key], l.setBy[key] = in, p
	}
	return in
}

// open begins a slot. Sub-keys that follow belong to it.
func (l *lowering) open(key string, p place) {
	if first, taken := l.setBy[key]; taken {
		l.problem(p, "slot is already taken by "+l.describePlace(first), "")
	}
	l.slot = key
	l.intent(key, p)
	l.natives[p.path] = append(l.natives[p.path], key)
}

// close ends a slot. A slot without any wanted value is dropped.
func (l *lowering) close() {
	if in := l.intents[l.slot]; in.Verb == guest.Want && in.Text == "" && len(in.Sub) == 0 {
		delete(l.intents, l.slot)
		delete(l.setBy, l.slot)
	}
	l.slot = ""
}

// raw wants native text as written. A key that a field also sets is refused. Keys that the key table does not contain are accepted, since they may
// be newer than the agent, unless they look like a typo of a known key.
func (l *lowering) raw(key string, value opt[string]) {
	if !l.settable(key, value.place) {
		return
	}
	if l.reportTypo(key, value.place) {
		return
	}
	if err := guest.Check(l.kind, key, value.value); err != nil && value.value != "" && !errors.Is(err, guest.ErrUnknownKey) {
		l.problem(value.place, err.Error(), "")
		return
	}
	l.put(key, value.place, value.value)
}

// unset wants a native key to be absent.
func (l *lowering) unset(key opt[string]) {
	if l.settable(key.value, key.place) && !l.reportTypo(key.value, key.place) {
		l.remove(key.value, key.place)
	}
}

// Reasons why a manifest cannot set a native key.
const (
	keptByProxmox = "only Proxmox writes it"
	notAKey       = "it is not a key of a guest"
)

// secretFields are the fields for native keys with secrets.
var secretFields = map[string]string{"cipassword": "spec.cloudInit.passwordFrom", "password": "spec.passwordFrom"}

// reservedKeys are other native keys that a manifest cannot set, with the reasons.
var reservedKeys = map[string]string{
	"digest": keptByProxmox, "lock": keptByProxmox, "meta": keptByProxmox, "parent": keptByProxmox,
	"snaptime": keptByProxmox, "vmstate": keptByProxmox, "vmgenid": keptByProxmox,
	"runningmachine": keptByProxmox, "runningcpu": keptByProxmox, "snapstate": keptByProxmox,
	"template": "set spec.template", "vmid": "set spec.vmid", "node": "set spec.node", "pool": "set spec.pool", "ha": "set spec.ha",
	"delete": "use unset", "revert": notAKey, "force": notAKey, "skiplock": notAKey,
	"archive": "set spec.source.backup", "ostemplate": "set spec.source.template", "storage": "set it in spec.source, or for each disk",
	"restore": "set spec.source.backup", "unique": "set spec.source.backup", "start": "set spec.state", "ha-managed": "set spec.ha",
	"background_delay": notAKey, "bwlimit": notAKey, "ignore-unpack-errors": notAKey,
	"import-working-storage": notAKey, "live-restore": notAKey,
}

// reservedReason returns why a manifest cannot set a native key, or "".
func reservedReason(key string) string {
	switch field := secretFields[key]; {
	case field != "":
		return "a secret must not be in a repository: set " + field
	case strings.HasPrefix(key, "unused"):
		return keptByProxmox
	default:
		return reservedKeys[key]
	}
}

// settable reports whether a native key may still be set by hand. If not, it reports the problem.
func (l *lowering) settable(key string, p place) bool {
	if reason := reservedReason(key); reason != "" {
		l.problem(p, "native key "+key+" cannot be set here: "+reason, "")
		return false
	}
	if first, set := l.setBy[key]; set {
		l.problem(p, fmt.Sprintf("native key %s is already set by %s", key, l.describePlace(first)), "set it in one place")
		return false
	}
	return true
}

func (l *lowering) describePlace(p place) string { return fmt.Sprintf("%s (%s)", p.path, p.at) }

// sorted returns the intents by key.
func (l *lowering) sorted() []guest.Intent {
	var out []guest.Intent
	for _, key := range slices.Sorted(maps.Keys(l.intents)) {
		out = append(out, *l.intents[key])
	}
	return out
}

// source returns how the guest is created, and records it under the name that ignoreFields uses.
func (l *lowering) source(s spec) guest.Source {
	source := s.source(l)
	if source != (guest.Source{}) {
		l.recordNative(guest.SourceKey, place{path: "source"})
	}
	return source
}

// nativesOf returns the native keys of a field and of all fields below it.
func (l *lowering) nativesOf(path string) []string {
	if exact, ok := l.natives[path]; ok {
		return exact
	}
	var out []string
	for field, keys := range l.natives {
		if strings.HasPrefix(field, path+".") {
			out = append(out, keys...)
		}
	}
	return out
}

// reportTypo reports a native key that is not in the key table but differs from a known key by one letter. Proxmox would refuse it, or it would always
// count as unset.
func (l *lowering) reportTypo(key string, p place) bool {
	meant := typoOf(l.kind, key)
	if meant == "" {
		return false
	}
	l.problem(p, "got the unknown native key "+key, didYouMean(meant)+" If "+key+" is new in Proxmox, a newer agent may know it")
	return true
}
