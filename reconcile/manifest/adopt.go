package manifest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
)

// Adopted is a manifest that Adopt wrote from a live guest.
type Adopted struct {
	guest.Ref
	Data   []byte    // one YAML document with its comments
	Pinned []string  // native keys that it sets, sorted
	Left   []LeftOut // omitted keys that a person should know about, sorted
}

// AdoptError is the reason why a live guest cannot be adopted.
type AdoptError struct {
	Key    string // native key or field that cannot be pinned; "" for the guest as a whole
	Reason string
	Hint   string
}

func (e *AdoptError) Error() string {
	if e.Key == "" {
		return e.Reason
	}
	return "cannot be pinned at " + e.Key + ": " + e.Reason
}

// Adopt writes the manifest of a live guest. It pins every key that the key table contains: in a field if a field can express all of it, otherwise
// under raw. Keys that only Proxmox writes are left out. A comment lists what cannot be pinned.
//
// Adopt checks the manifest before it returns it: parsed and lowered, it differs from the observed guest only in the ownership marker, and an API
// token could set all of it. For a locked guest it returns an *AdoptError, since the observed configuration may be incomplete. It is pure.
func Adopt(o guest.Observed, opts AdoptOptions) (Adopted, error) {
	if err := adoptable(o); err != nil {
		return Adopted{}, err
	}
	a := newAdoption(o, opts)
	const steps = 4 // of a key at most: from its field to its sub-keys or raw, then to the comment
	for range steps * (len(a.live) + 1) {
		text, raised := a.write()
		if a.demoteWithoutField(raised) {
			continue
		}
		desired, findings := a.check(text, raised)
		if len(findings) == 0 {
			return a.result(text, raised, desired.Ref), nil
		}
		if err := a.demoteAll(findings); err != nil {
			return Adopted{}, err
		}
	}
	return Adopted{}, &AdoptError{Reason: "no manifest describes this guest", Hint: mistake}
}

const mistake = "this is a bug in gitops-agent: please report it with the guest's configuration"

// demoteAll moves every key with a problem one step further. If a key cannot be moved, it returns an *AdoptError.
func (a *adoption) demoteAll(findings []pinProblem) error {
	moved := map[string]bool{}
	for _, f := range findings {
		if moved[f.key] {
			continue
		}
		if !a.demote(f) {
			return &AdoptError{Key: f.key, Reason: f.reason, Hint: mistake}
		}
		moved[f.key] = true
	}
	return nil
}

// adoptable returns why a guest cannot be adopted in its current state, or nil.
func adoptable(o guest.Observed) error {
	switch o.Lock {
	case "":
		return nil
	case "create", "clone":
		return &AdoptError{Reason: "was only partly created (locked: " + o.Lock + ")", Hint: "if no task works on it any more, unlock it on its node and destroy it"}
	case "suspended":
		return &AdoptError{Reason: "is hibernated (locked: suspended)", Hint: "start it first"}
	default:
		return &AdoptError{Reason: "is locked (" + o.Lock + ")", Hint: "adopt it when the task that locked it has ended"}
	}
}

func newAdoption(o guest.Observed, opts AdoptOptions) *adoption {
	a := &adoption{seen: o, opts: opts, live: map[string]string{}, raw: map[string]bool{}, left: map[string]string{}}
	for key, value := range o.Keys {
		text, reason := adoptValue(o.Kind, key, value, opts)
		switch {
		case reason != "":
			a.left[key] = reason
		case text != "":
			a.live[key] = text
		}
	}
	for key, text := range map[string]string{"node": o.Node, "pool": o.Pool, "ha": resourceText(o.Resource)} {
		if text != "" {
			a.live[key] = text
		}
	}
	if o.Template {
		a.live["template"] = "1"
	}
	if o.Kind == guest.Container {
		a.pinAbsentAsZero("swap", "unprivileged")
	}
	a.adoptFirewall()
	if o.HA && o.Resource == nil {
		a.left["ha"] = "the HA manager's resources were not read"
	}
	return a
}

// pinAbsentAsZero pins numbers of a container that are 0 if the key is absent, since a new container would have another default.
func (a *adoption) pinAbsentAsZero(keys ...string) {
	for _, key := range keys {
		if !a.seen.Keys[key].Set && a.left[key] == "" {
			a.live[key] = "0"
		}
	}
}

// resourceText returns an entry with the HA manager as a property string.
func resourceText(r *guest.HA) string {
	if r == nil {
		return ""
	}
	text := fmt.Sprintf("state=%s,max_restart=%d,max_relocate=%d", r.State, r.MaxRestart, r.MaxRelocate)
	if r.NoFailback {
		text += ",failback=0"
	}
	return text
}

// demoteWithoutField moves keys that no field expresses completely to raw. A drive is not moved, since raw would name its volume, which a newly
// created guest cannot have: its remaining sub-keys go to the comment, like the remaining sub-keys of any key that Proxmox would refuse as a
// whole. It reports whether anything moved.
func (a *adoption) demoteWithoutField(r *raising) bool {
	moved := false
	for _, name := range slices.Sorted(maps.Keys(r.keys)) {
		key := r.keys[name]
		unsaid := key.partsWithoutField()
		if len(unsaid) == 0 {
			continue
		}
		moved = true
		switch volume := key.find("volume"); {
		case pseudoKeys[name] != "":
			a.leaveOut(name, pseudoKeys[name])
		case name == "env": // its separator, NUL, cannot be written as plain text in YAML
			a.leaveOut(name, "a manifest accepts variables of letters, digits and _, each once")
		case !guest.IsDrive(a.seen.Kind, name) && key.inAnyField() && guest.Check(a.seen.Kind, name, key.raw()) != nil:
			a.leaveOutParts(key, unsaid)
		case !guest.IsDrive(a.seen.Kind, name):
			a.raw[name] = true
		case slices.ContainsFunc(unsaid, func(p *livePart) bool { return p.name == "mp" }):
			a.leaveOut(name, "a manifest accepts "+folder.want)
		case volume == nil:
			a.leaveOutParts(key, unsaid)
		case strings.Contains(volume.text, ":") && !strings.HasPrefix(volume.text, "/"):
			a.leaveOut(name, "no field can express its volume, and raw would name it")
		default:
			a.raw[name] = true
		}
	}
	return moved
}

// leaveOutParts leaves sub-keys out of the manifest.
func (a *adoption) leaveOutParts(key *liveKey, parts []*livePart) {
	if slices.ContainsFunc(parts, func(p *livePart) bool { return p.name == "" }) {
		a.leaveOut(key.key, "this agent does not know its meaning")
		return
	}
	for _, p := range parts {
		a.left[key.key+"."+p.name] = a.whyWithoutField(key, p)
	}
}

// whyWithoutField returns why neither a field nor raw can express a sub-key.
func (a *adoption) whyWithoutField(key *liveKey, p *livePart) string {
	switch gone := guest.UnsupportedSubKey(key.kind, key.key, p.name, a.seen.Version); {
	case errors.Is(guest.CheckSubKey(key.kind, key.key, p.name, p.text), guest.ErrUnknownKey):
		return "this agent does not know it"
	case key.count(p.name) > 1:
		return "its text contains it twice"
	case gone != "":
		return gone
	case slices.ContainsFunc(key.parts, func(p livePart) bool { return cloudInitVolume().MatchString(p.text) }):
		return "cloudInit has no options for its drive"
	default:
		return "a manifest does not accept its value"
	}
}

// pseudoKeys are properties of a live guest that are not native keys, with the reason if no field can express them.
var pseudoKeys = map[string]string{
	"node": "no field accepts the name of its node", "pool": "no field accepts the name of its pool",
	"ha": "no field can express its entry with the HA manager", "template": "no field can express that it is a template",
}

// demote moves a key from its field to raw, or from there to the comment. A sub-key goes to the comment at once. It returns false if the key
// cannot be moved.
func (a *adoption) demote(f pinProblem) bool {
	_, pinned := a.live[f.key]
	_, again := a.left[f.key]
	switch key, _, isSub := strings.Cut(f.key, "."); {
	case key == "firewall" && a.firewall != nil: // as a whole
		a.firewall, a.left["firewall"] = nil, f.reason
	case isSub && (again || a.raw[key]): // the rest of the key still contains it
		a.leaveOut(key, f.reason)
	case isSub && a.live[key] != "":
		a.left[f.key] = f.reason
	case !pinned:
		return false
	case a.raw[f.key] || guest.IsDrive(a.seen.Kind, f.key) || pseudoKeys[f.key] != "":
		a.leaveOut(f.key, f.reason)
	default:
		a.raw[f.key] = true
	}
	return true
}

func (a *adoption) leaveOut(key, reason string) {
	delete(a.live, key)
	delete(a.raw, key)
	maps.DeleteFunc(a.left, func(part, _ string) bool { return strings.HasPrefix(part, key+".") })
	a.left[key] = reason
}

func (a *adoption) result(text []byte, raised *raising, ref guest.Ref) Adopted {
	out := Adopted{Ref: ref, Data: text}
	for key := range a.raw {
		out.Pinned = append(out.Pinned, key)
	}
	for name, key := range raised.keys {
		if key.inAnyField() {
			out.Pinned = append(out.Pinned, name)
		}
	}
	slices.Sort(out.Pinned)
	out.Left = a.leftOut()
	return out
}
