package event

import (
	"strconv"
	"strings"
)

// Texts are the fields of an event as text, by name.
type Texts map[string]string

// Say returns the sentence of what happened. The texts are the fields of the event.
func (r Row) Say(a Texts) string {
	if r.Sentence == "" {
		return a.list(r.Name)
	}
	var out strings.Builder
	rest := r.Sentence
	for {
		before, after, found := strings.Cut(rest, "{")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		var place string
		place, rest, _ = strings.Cut(after, "}")
		out.WriteString(a.fill(place))
	}
}

// fill returns the text for what a sentence has in braces.
func (a Texts) fill(place string) string {
	switch {
	case strings.HasPrefix(place, ": "):
		if text := a[place[2:]]; text != "" {
			return ": " + text
		}
		return ""
	case strings.HasPrefix(place, `"`):
		return strconv.Quote(a[strings.Trim(place, `"`)])
	}
	name, missing, _ := strings.Cut(place, "|")
	switch text := a[name]; {
	case name == "guest":
		return a.guest()
	case name == "revision", name == "commit":
		return short(text)
	case text == "":
		return missing
	default:
		return text
	}
}

// list returns the name of an event and what its line says, for events without a sentence.
func (a Texts) list(name Name) string {
	var text strings.Builder
	text.WriteString("Event " + string(name))
	for _, key := range []string{"guest", "vmid", "op", "operation", "order", "signer", "commit", "change", "endpoint", "outcome", "result", "changed", "why", "error"} {
		if value := a[key]; value != "" {
			text.WriteString(", " + key + " " + value)
		}
	}
	return text.String() + "."
}

// guest returns the guest of an event with its vmid.
func (a Texts) guest() string {
	label, vmid := a["guest"], a["vmid"]
	switch {
	case label == "" && vmid == "":
		return "a guest"
	case label == "":
		return "guest " + vmid
	case vmid == "" || vmid == "0":
		return label
	}
	return label + " (" + vmid + ")"
}

// short returns the short id of a commit, or of the commit of a revision, "main@sha1:<40 hex>".
func short(id string) string {
	id = id[strings.LastIndex(id, ":")+1:]
	return id[:min(len(id), 12)]
}
