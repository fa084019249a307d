package reason

import (
	"fmt"
	"regexp"
	"strings"
)

// File says where an edit is made.
type File string

// The files.
const (
	Manifest File = "manifest"       // of the object that has the condition
	Cluster  File = "Cluster"        // the manifest of the kind Cluster
	Config   File = "agent's config" // on the agent's host
)

// Edit is a field that a remedy changes.
type Edit struct {
	File  File
	Field string // such as spec.adopt; {placeholders} as in the text
	Value string // that ends the reason, "" if the field is removed or a person decides
}

// Remedy is what ends a reason. Text says it to people. If a command or edits end it, Command or Edits have them in a form that a program can carry out, and
// the text contains the command. A word in braces is a placeholder, which With fills.
type Remedy struct {
	Text    string
	Command string // run on the agent's host, unless the text names a node
	Edits   []Edit // each alone ends the reason, or is a part of it
}

var placeholder = regexp.MustCompile(`\{[a-z ]+\}`)

// With returns the text with a value for each placeholder, in the order in which they appear first. The number of values must be that of the placeholders.
func (r Remedy) With(values ...any) string {
	text := r.Text
	for _, v := range values {
		name := placeholder.FindString(text)
		if name == "" {
			break
		}
		text = strings.ReplaceAll(text, name, strings.ReplaceAll(fmt.Sprint(v), "{", "\x00"))
	}
	return strings.ReplaceAll(text, "\x00", "{")
}

// String returns the text as documents show it: a placeholder is a word in capitals.
func (r Remedy) String() string {
	return placeholder.ReplaceAllStringFunc(r.Text, func(name string) string {
		return strings.ToUpper(strings.ReplaceAll(strings.Trim(name, "{}"), " ", "_"))
	})
}
