package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/journal"
)

// writeRecord prints one record of the journal as a line: sequence, time, kind, and what it says.
func writeRecord(out io.Writer, r journal.Record) error {
	_, err := fmt.Fprintf(out, "%6d  %s  %-10s  %s\n", r.Seq, r.Time.UTC().Format(time.RFC3339), r.Kind(), term.Printable(recordText(r.Body)))
	return err
}

func recordText(body journal.Body) string {
	switch b := body.(type) {
	case journal.Accepted:
		return fmt.Sprintf("%.7s signed by %s, proven %s, sequence %d", b.Commit, b.Subject, b.ProvenTime.UTC().Format(time.RFC3339), b.Sequence)
	case journal.Begun:
		return fmt.Sprintf("%s of %s/%s (%d), step %s%s", b.Op, b.Kind, b.Name, b.VMID, b.Step, term.Prefixed(", digest ", b.StepDigest))
	case journal.Dispatched:
		return fmt.Sprintf("step %s%s", b.Step, term.Prefixed(", task ", b.UPID))
	case journal.Ended:
		return fmt.Sprintf("step %s %s%s", b.Step, b.Result, term.Prefixed(": ", b.Error))
	case journal.Assigned:
		if b.VMID == 0 {
			return fmt.Sprintf("%s/%s has no vmid any more", b.Kind, b.Name)
		}
		return fmt.Sprintf("%s/%s is %d", b.Kind, b.Name, b.VMID)
	case journal.Owned:
		return fmt.Sprintf("%s/%s (%d) %s, tag %s", b.Kind, b.Name, b.VMID, b.Origin, b.Tag)
	case journal.Disowned:
		return fmt.Sprintf("%d%s", b.VMID, term.Prefixed(": ", b.Reason))
	case journal.Guarded:
		return fmt.Sprintf("%s/%s (%d): destroy %s", b.Kind, b.Name, b.VMID, cmp.Or(b.Destroy, "approve"))
	case journal.Applied:
		return fmt.Sprintf("%d has the secrets of now for %s", b.VMID, cmp.Or(strings.Join(slices.Sorted(maps.Keys(b.Fingerprints)), ", "), "no key"))
	case journal.Futile:
		return fmt.Sprintf("%d was restarted in vain, digest %s", b.VMID, b.StepDigest)
	case journal.Ordered:
		return fmt.Sprintf("%s by %s: %s", cmp.Or(b.Order, term.Shorten(b.Key, 16)), cmp.Or(b.Subject, "nobody known"), b.State)
	case journal.Event:
		return b.Name + about(b.VMID) + term.Prefixed(": ", b.Message)
	default:
		return ""
	}
}

// about names the guest of an event; most events are not about one.
func about(vmid int) string {
	if vmid == 0 {
		return ""
	}
	return fmt.Sprintf(" of %d", vmid)
}
