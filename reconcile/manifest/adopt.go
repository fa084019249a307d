package manifest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"gitops-agent/reconcile/guest"
)

// AdoptOptions say how a live guest is written down. Cluster and Name are needed.
type AdoptOptions struct {
	Cluster string // name of the cluster, for the comment
	Name    string // metadata.name, see AdoptName
	Env     bool   // pin the environment of containers too, which may hold secrets
}

// Adopted is a manifest that was written from a live guest.
type Adopted struct {
	guest.Ref
	Data   []byte    // one YAML document with its comments
	Pinned []string  // native keys that it names, sorted
	Left   []LeftOut // what it does not name and a person should know of, sorted by key
}

// LeftOut is a native key, or key.sub-key, that an adopted manifest does not pin. Its value is not told: it may be a secret.
type LeftOut struct{ Key, Reason string }

// AdoptError is why no manifest can be written from a live guest.
type AdoptError struct {
	Key    string // native key or field that stands in the way; "" where it is the guest as a whole
	Reason string
	Hint   string
}

func (e *AdoptError) Error() string {
	if e.Key == "" {
		return e.Reason
	}
	return "cannot be pinned at " + e.Key + ": " + e.Reason
}

// Adopt writes the manifest of a live guest. It pins every key that the key table knows: in a field where one says all of it, else
// under raw. What is Proxmox's own business is left out, and what cannot be pinned is told in a comment.
//
// The manifest was tried when Adopt returns: parsed and lowered, it differs from the observation in nothing but the mark of
// ownership, and an API token could set all of it. A guest that is locked is an *AdoptError, since what was read of it may be half of
// something. It is pure.
func Adopt(o guest.Observed, opts AdoptOptions) (Adopted, error) {
	if err := adoptable(o); err != nil {
		return Adopted{}, err
	}
	a := newAdoption(o, opts)
	const steps = 4 // of a key at most: out of its field, part by part or to raw, and to the comment
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
	return Adopted{}, &AdoptError{Reason: "comes to no manifest that it fits", Hint: mistake}
}

const mistake = "this is a mistake of gitops-agent: please report it with the guest's configuration"

// demoteAll moves every key that something is wrong with one step on its way. A key that cannot go anywhere is an *AdoptError.
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

// adoptable returns why a guest cannot be adopted as it is now.
func adoptable(o guest.Observed) error {
	switch o.Lock {
	case "":
		return nil
	case "create", "clone":
		return &AdoptError{Reason: "is half-made (locked: " + o.Lock + ")", Hint: "if no task is at work on it any more, unlock it on its node and destroy it"}
	case "suspended":
		return &AdoptError{Reason: "is hibernated (locked: suspended)", Hint: "start it first"}
	default:
		return &AdoptError{Reason: "is locked (" + o.Lock + ")", Hint: "adopt it when the task that holds it has ended"}
	}
}

// adoption is a guest on its way into a manifest. Every key begins in the fields, and goes to raw and then to the comment when it cannot
// be said there.
type adoption struct {
	seen guest.Observed
	opts AdoptOptions
	live map[string]string // native keys to pin
	raw  map[string]bool   // of those, the ones under raw
	left map[string]string // key or key.sub -> reason
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
	if o.HA && o.Resource == nil {
		a.left["ha"] = "the HA manager's resources were not read"
	}
	return a
}

// pinAbsentAsZero pins a container's numbers that are 0 where the key is absent, and that a new container would have otherwise.
func (a *adoption) pinAbsentAsZero(keys ...string) {
	for _, key := range keys {
		if !a.seen.Keys[key].Set && a.left[key] == "" {
			a.live[key] = "0"
		}
	}
}

// resourceText returns what the HA manager does with a guest as a property string.
func resourceText(r *guest.HA) string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("state=%s,max_restart=%d,max_relocate=%d", r.State, r.MaxRestart, r.MaxRelocate)
}

// demoteWithoutField takes care of keys that the fields did not say, or not all of: they go to raw. A drive does not, since raw would name its
// volume, which a guest made anew cannot have: what is left of it goes to the comment, and so does what is left of any key that Proxmox
// would refuse as a whole. It reports whether something moved.
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
		case name == "env": // whose separator YAML has no plain text for
			a.leaveOut(name, "a manifest takes variables of letters, digits and _, each once")
		case !guest.IsDrive(a.seen.Kind, name) && key.inAnyField() && guest.Check(a.seen.Kind, name, key.raw()) != nil:
			a.leaveOutParts(key, unsaid)
		case !guest.IsDrive(a.seen.Kind, name):
			a.raw[name] = true
		case slices.ContainsFunc(unsaid, func(p *livePart) bool { return p.name == "mp" }):
			a.leaveOut(name, "a manifest takes "+folder.want)
		case volume == nil:
			a.leaveOutParts(key, unsaid)
		case strings.Contains(volume.text, ":") && !strings.HasPrefix(volume.text, "/"):
			a.leaveOut(name, "no field says its volume, and raw would name it")
		default:
			a.raw[name] = true
		}
	}
	return moved
}

// leaveOutParts leaves sub-keys out.
func (a *adoption) leaveOutParts(key *liveKey, parts []*livePart) {
	if slices.ContainsFunc(parts, func(p *livePart) bool { return p.name == "" }) {
		a.leaveOut(key.key, "this agent does not know what it says")
		return
	}
	for _, p := range parts {
		a.left[key.key+"."+p.name] = a.whyWithoutField(key, p)
	}
}

// whyWithoutField returns why no field says a sub-key, and raw beside them neither.
func (a *adoption) whyWithoutField(key *liveKey, p *livePart) string {
	switch gone := guest.UnsupportedSubKey(key.kind, key.key, p.name, a.seen.Version); {
	case errors.Is(guest.CheckSubKey(key.kind, key.key, p.name, p.text), guest.ErrUnknownKey):
		return "this agent does not know it"
	case key.count(p.name) > 1:
		return "its text says it twice"
	case gone != "":
		return gone
	case slices.ContainsFunc(key.parts, func(p livePart) bool { return cloudInitVolume.MatchString(p.text) }):
		return "cloudInit takes no options of its drive"
	default:
		return "a manifest does not take what it says"
	}
}

// pseudoKeys are live facts that are no native keys, with the reason where no field says one.
var pseudoKeys = map[string]string{
	"node": "no field takes the name of its node", "pool": "no field takes the name of its pool",
	"ha": "no field says what the HA manager does with it", "template": "no field says that it is a template",
}

// pinProblem is what is wrong with pinning a key, or one sub-key of it, "features.keyctl".
type pinProblem struct{ key, reason string }

// demote moves a key from its field to raw, or from there to the comment; a sub-key goes to the comment at once. It reports whether there was a way to go.
func (a *adoption) demote(f pinProblem) bool {
	_, pinned := a.live[f.key]
	_, again := a.left[f.key]
	switch key, _, isSub := strings.Cut(f.key, "."); {
	case isSub && (again || a.raw[key]): // what is left of the key still says it
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

func (a *adoption) leftOut() []LeftOut {
	var out []LeftOut
	for _, key := range slices.Sorted(maps.Keys(a.left)) {
		out = append(out, LeftOut{onOneLine(key), onOneLine(a.left[key])})
	}
	return out
}

// readAt returns when the guest was read, in whole seconds.
func (a *adoption) readAt() string {
	return a.seen.ReadAt.UTC().Truncate(time.Second).Format(time.RFC3339)
}

// onOneLine returns text in which nothing ends a comment, or is no character of YAML.
func onOneLine(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || strings.ContainsRune("\u2028\u2029\ufeff\ufffe\uffff", c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(text, "?"))
}
