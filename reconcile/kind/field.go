package kind

import "gitops-agent/reconcile/guest"

// Field is a field of the spec of a kind. Manifests are decoded and checked by it, and the JSON schema and docs/manifests.md are generated from it.
type Field struct {
	Name     string // in manifests: "schedule"
	Key      string // native key whose text the field is; "" if Lower puts it into a key
	Doc      string // one or two sentences
	Form     Form
	Required string // what is missing, for the problem: "the time of the backups"; "" if the field may be left out
	Fixed    bool   // Proxmox cannot change it
	Joiner   string // of a list: what separates the items in the native text; "" is a comma
}

// Form says which values a field accepts.
type Form interface{ isForm() }

// Text is a text that matches a pattern.
type Text struct {
	Want     string // "the name of a storage"
	Pattern  string // of the whole text, without anchors
	Examples []string
	Max      int                      // bytes; 0 is 255
	Number   bool                     // a YAML number is accepted as its text
	Accept   func(text string) bool   // what the pattern does not say; nil accepts all
	Hint     func(text string) string // for a text that is refused, "" for none; may be nil

	isEvent bool // a calendar event, see CalendarEvent
}

// Flag is true or false. Its text is 1 or 0.
type Flag struct{}

// Integer is a whole number. Most 0 is no upper limit.
type Integer struct{ Least, Most int }

// Choice is one of some words.
type Choice struct{ Words []string }

// List is a list of texts. An empty list removes the key.
type List struct{ Item Text }

// Labels is a mapping of names to texts, as metadata.labels of a guest.
type Labels struct{}

// Group is a mapping with fields of its own.
type Group struct{ Fields []Field }

// Items is an ordered list of mappings.
type Items struct {
	Fields []Field
	Most   int // items
}

func (Text) isForm()    {}
func (Flag) isForm()    {}
func (Integer) isForm() {}
func (Choice) isForm()  {}
func (List) isForm()    {}
func (Labels) isForm()  {}
func (Group) isForm()   {}
func (Items) isForm()   {}

// Value is what a manifest has for a field, with its position.
type Value struct {
	Origin guest.Origin
	Text   string // of Text, Flag, Integer and Choice
	List   []Value
	Fields Spec // of Group, and of each item of Items
	Labels map[string]string
}

// Spec contains the fields that a manifest sets, by name.
type Spec map[string]Value

// Has reports whether the manifest sets a field.
func (s Spec) Has(name string) bool {
	_, set := s[name]
	return set
}

// Texts returns the texts of a list.
func (v Value) Texts() []string {
	var out []string
	for _, item := range v.List {
		out = append(out, item.Text)
	}
	return out
}

// Problem is something that is wrong between fields.
type Problem struct {
	Field   string // "spec" is left out: "retention.keepLast"; "" for the whole object
	Origin  guest.Origin
	Message string
	Hint    string
	New     bool // earlier releases accepted it; Lower lowers the object as they did
}
