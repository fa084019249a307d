// Package words contains the small texts that the status page and the probes share.
package words

import (
	"fmt"
	"strings"
	"time"

	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// ShortID returns the first eight digits of a commit id.
func ShortID(commit string) string { return commit[:min(len(commit), 8)] }

// Plural returns "1 guest" or "2 guests".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Sentence returns the text with an upper-case first letter and a full stop. The text must begin with an ASCII letter.
func Sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }

// OneLine replaces each run of white space, line breaks included, by one blank.
func OneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// WithReason returns a text after its reason, or the one of them that is not empty.
func WithReason(reason, text string) string {
	if reason == "" || text == "" {
		return reason + text
	}
	return reason + ": " + text
}

// Titled returns a title with its reason, if it has one.
func Titled(title, reason string) string {
	if reason == "" {
		return title
	}
	return title + ": " + reason
}

// NoRevision returns why no revision is in force.
func NoRevision(r report.Report) string {
	switch {
	case r.Journal.Unread:
		return "the journal was not read in full: " + r.Journal.Error
	case r.Source.Refused != nil:
		return fmt.Sprintf("the head %s is refused (%s)", ShortID(r.Source.Refused.Commit), r.Source.Refused.Reason)
	case r.Source.Waiting != nil:
		return fmt.Sprintf("the head %s waits (%s)", ShortID(r.Source.Waiting.Commit), r.Source.Waiting.Reason)
	case r.Source.Error != "":
		return "the remote could not be read: " + r.Source.Error
	case r.Writes.Reason == reason.StopUnchecked, r.Writes.Reason == reason.StopPolicy, r.Writes.Reason == reason.StopNotReady:
		return r.Writes.Message
	case r.Source.Head == "":
		return "the remote has not been read yet"
	default:
		return "the head has not been verified yet"
	}
}

// Span rounds down to the largest unit that fits: "59 s", "5 min", "3 h", "12 d".
func Span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", max(d, 0)/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%d h", d/time.Hour)
	default:
		return fmt.Sprintf("%d d", d/day)
	}
}

// RootExpired describes an expired trusted root.
func RootExpired(r report.Report) string {
	return fmt.Sprintf("the trusted root expired at %s, so no new signature can be verified", r.Source.RootExpires.UTC().Format(time.RFC3339))
}
