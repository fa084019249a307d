package status

import (
	"fmt"
	"strings"

	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/report"
)

// shortID returns the first eight digits of a commit id.
func shortID(commit string) string { return commit[:min(len(commit), 8)] }

// plural returns "1 guest" or "2 guests".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// sentence returns the text with an upper-case first letter and a full stop. The text must begin with an ASCII letter.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }

// oneLine replaces each run of white space, line breaks included, by one blank.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// withReason returns a text after its reason, if it has one.
func withReason(reason, text string) string {
	if reason == "" {
		return text
	}
	return reason + ": " + text
}

// titled returns a title with its reason, if it has one.
func titled(title, reason string) string {
	if reason == "" {
		return title
	}
	return title + ": " + reason
}

// noRevisionReason returns why no revision is in force.
func noRevisionReason(r report.Report) string {
	switch {
	case r.Source.Refused != nil:
		return fmt.Sprintf("the head %s is refused (%s)", shortID(r.Source.Refused.Commit), r.Source.Refused.Reason)
	case r.Source.Error != "":
		return "the remote could not be read: " + r.Source.Error
	case r.Writes.Reason == gate.StopUnchecked, r.Writes.Reason == gate.StopPolicy, r.Writes.Reason == gate.StopNotReady:
		return r.Writes.Message
	case r.Source.Head == "":
		return "the remote has not been read yet"
	default:
		return "the head has not been verified yet"
	}
}
