package kind

import (
	"cmp"
	"slices"
	"strings"

	"gitops-agent/reconcile/edge"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/object"
)

// Desired is an object as its manifest wants it.
type Desired struct {
	Kind    guest.Kind
	Name    string // in the manifest
	ID      string // in Proxmox
	Origin  guest.Origin
	Keys    []Intent // sorted by key, the comment without the marker among them
	Destroy guest.Permission
	Adopt   bool // take ownership of an object that exists
	Observe bool
	Needs   []Need            // objects without which Proxmox refuses this one
	Guests  []GuestLabel      // that keys name by their labels; Kind.Resolve puts them into Keys
	Items   []guest.Origin    // of the items of Kind.Content, in order
	Keeps   bool              // items of Kind.Content that the manifest does not mention stay
	Selects map[string]string // metadata.labels that guests must have, each with this value; nil selects none
}

// Intent is what is wanted of one native key.
type Intent struct {
	Key    string
	Text   string // "" removes the key
	Origin guest.Origin
}

// Need is an object of another kind, by its id.
type Need struct {
	Kind guest.Kind
	ID   string
}

// Key returns the key of the object in a graph of edges.
func (n Need) Key() object.Key { return edge.Object(string(n.Kind), n.ID) }

// NeedsOf returns needs of objects of a kind.
func NeedsOf(name guest.Kind, ids []string) []Need {
	var needs []Need
	for _, id := range ids {
		needs = append(needs, Need{Kind: name, ID: id})
	}
	return needs
}

// GuestLabel is a guest that a manifest names.
type GuestLabel struct {
	Label  string // "VirtualMachine/web-1"
	Key    string // the native key that names the guest
	Origin guest.Origin
}

// Ref returns the label of the object. It has no vmid.
func (d Desired) Ref() guest.Ref { return guest.Ref{Kind: d.Kind, Name: d.Name} }

// Key returns the key of the object in a graph of edges.
func (d Desired) Key() object.Key { return edge.Object(string(d.Kind), d.ID) }

// Label returns "Pool/web".
func (d Desired) Label() string { return d.Ref().Label() }

// PlaceOf returns where the manifest has a key, the place of the document if it does not name it.
func (d Desired) PlaceOf(key string) guest.Origin {
	for _, in := range d.Keys {
		if in.Key == key {
			return in.Origin
		}
	}
	return d.Origin
}

// Text returns what is wanted of a key, and whether it is managed.
func (d Desired) Text(key string) (string, bool) {
	for _, in := range d.Keys {
		if in.Key == key {
			return in.Text, true
		}
	}
	return "", false
}

// Put sets what is wanted of a key. It keeps the keys sorted, and does not change the slice of the receiver's copies.
func (d *Desired) Put(in Intent) {
	keys := slices.DeleteFunc(slices.Clone(d.Keys), func(old Intent) bool { return old.Key == in.Key })
	keys = append(keys, in)
	slices.SortFunc(keys, func(a, b Intent) int { return cmp.Compare(a.Key, b.Key) })
	d.Keys = keys
}

// WithoutPositions returns the object without its positions in files: moving a line is not a change.
func (d Desired) WithoutPositions() Desired {
	d.Origin = guest.Origin{}
	d.Keys = slices.Clone(d.Keys)
	for i := range d.Keys {
		d.Keys[i].Origin = guest.Origin{}
	}
	d.Items = nil
	d.Guests = slices.Clone(d.Guests)
	for i := range d.Guests {
		d.Guests[i].Origin = guest.Origin{}
	}
	return d
}

// Complete gives an object the keys of the fields of its manifest: the keys of its fields, and what the kind adds to them.
func (k *Kind) Complete(d *Desired, spec Spec) []Problem {
	for _, f := range k.Fields {
		v, set := spec[f.Name]
		if !set || f.Key == "" {
			continue
		}
		text := v.Text
		if _, isList := f.Form.(List); isList {
			text = strings.Join(v.Texts(), cmp.Or(f.Joiner, ","))
		}
		d.Put(Intent{f.Key, text, v.Origin})
	}
	if k.Lower == nil {
		return nil
	}
	return k.Lower(spec, d)
}
