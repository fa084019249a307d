package notify

import (
	"fmt"
	"strings"

	"gitops-agent/reconcile/event"
)

// Text returns an event as sentences, with the command that helps if there is one.
func Text(e Event) string {
	text, remedy := texts(e)
	return text + remedy
}

// texts returns what happened, and what a person can do.
func texts(e Event) (text, remedy string) {
	a := e.Attributes
	text = sentence(e)
	if e.began != "" {
		text = e.began + " " + text
	}
	if !e.Repeated.IsZero() {
		text = "Still: " + text
	}
	switch {
	case a["digest"] != "" && (e.Name == event.StepHeld || e.Name == event.GuardHeld):
		remedy = " To release it: gitops-agent approve " + a["digest"]
	case a["hint"] != "":
		remedy = " What to do: " + a["hint"]
	}
	return text, remedy
}

// shortened returns the text of an event with at most so many bytes; 0 is any. What a person can do is kept as long as it leaves room for what happened.
func shortened(e Event, most int) string {
	text, remedy := texts(e)
	text, remedy = oneLine(text), oneLine(remedy)
	switch {
	case most == 0 || len(text)+len(remedy) <= most:
		return text + remedy
	case e.began != "":
		e.began = ""
		return shortened(e, most)
	case len(remedy) > most/2:
		return cut(text+remedy, most)
	}
	return cut(text, most-len(remedy)) + remedy
}

// cut returns a text with at most so many bytes and a sign that something is missing.
func cut(text string, most int) string {
	const missing = "…"
	return strings.ToValidUTF8(text[:max(most-len(missing), 0)], "") + missing
}

// sentence returns what happened.
func sentence(e Event) string {
	row, known := event.RowOf(e.Name)
	if !known {
		row.Name = e.Name
	}
	return row.Say(e.Attributes)
}

// Title returns one line about a message.
func (m Message) Title() string {
	title := string(m.Events[0].Name)
	if subject := m.Events[0].Guest; subject != "" {
		title += " " + subject
	}
	if others := len(m.Events) + m.More - 1; others > 0 {
		title += fmt.Sprintf(" and %d more", others)
	}
	if m.parts > 1 {
		title += fmt.Sprintf(" (part %d of %d)", m.part, m.parts)
	}
	return "[" + m.Cluster + "] " + title
}

// Body returns the sentences of a message, one line for each event, and the link to the status page.
func (m Message) Body() string {
	var b strings.Builder
	for i, e := range m.Events {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(shortened(e, m.most))
	}
	if m.More > 0 {
		fmt.Fprintf(&b, "\nand %d more, which are in the log of the agent.", m.More)
	}
	if m.Link != "" {
		b.WriteString("\n" + m.Link)
	}
	return b.String()
}

// oneLine replaces line breaks and other control characters, which the text of a cluster or a commit may contain.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}
