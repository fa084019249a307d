package journalview

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

// writeRecord prints one record of the journal as a line: sequence, time, kind and content.
func writeRecord(out io.Writer, r journal.Record) error {
	_, err := fmt.Fprintf(out, "%6d  %s  %-10s  %s\n", r.Seq, r.Time.UTC().Format(time.RFC3339), r.Kind(), term.Printable(recordText(r.Body)))
	return err
}

func recordText(body journal.Body) string {
	switch b := body.(type) {
	case journal.Accepted:
		return fmt.Sprintf("%.7s signed by %s, proven %s, sequence %d", b.Commit, b.Subject, b.ProvenTime.UTC().Format(time.RFC3339), b.Sequence)
	case journal.Evidence:
		return fmt.Sprintf("%.7s is proven by %d bytes from the log", b.Commit, len(b.Bundle))
	case journal.Begun:
		object := b.Kind + "/" + b.Name
		if b.VMID != 0 {
			object += fmt.Sprintf(" (%d)", b.VMID)
		}
		return fmt.Sprintf("%s of %s, step %s%s", b.Op, object, b.Step, term.Prefixed(", digest ", b.StepDigest))
	case journal.Dispatched:
		if b.Refused {
			return fmt.Sprintf("step %s refused", b.Step)
		}
		return fmt.Sprintf("step %s%s", b.Step, term.Prefixed(", task ", b.UPID))
	case journal.Ended:
		return fmt.Sprintf("step %s %s%s", b.Step, b.Result, term.Prefixed(": ", b.Error))
	case journal.Assigned:
		if b.VMID == 0 {
			return fmt.Sprintf("%s/%s no longer has a vmid", b.Kind, b.Name)
		}
		return fmt.Sprintf("%s/%s is %d", b.Kind, b.Name, b.VMID)
	case journal.Owned:
		return fmt.Sprintf("%s/%s (%d) %s, tag %s", b.Kind, b.Name, b.VMID, b.Origin, b.Tag)
	case journal.Disowned:
		return fmt.Sprintf("%d%s", b.VMID, term.Prefixed(": ", b.Reason))
	case journal.Downloaded:
		text := fmt.Sprintf("Image/%s: %s on %s, %d bytes", b.Name, b.Volume, b.Node, b.Size)
		if b.Gone {
			text += ", gone"
		} else if b.Prune {
			text += ", deleted when nothing uses it"
		}
		return text
	case journal.OwnedObject:
		return fmt.Sprintf("%s/%s, id %s, %s, marker %s", b.Kind, b.Name, b.ID, b.Origin, b.Marker)
	case journal.DisownedObject:
		return fmt.Sprintf("%s with the id %s%s", b.Kind, b.ID, term.Prefixed(": ", b.Reason))
	case journal.Waited:
		return fmt.Sprintf("%s open for at least %s", b.Step, time.Duration(b.Seconds)*time.Second)
	case journal.Guarded:
		text := fmt.Sprintf("%s/%s (%d): destroy %s", b.Kind, b.Name, b.VMID, cmp.Or(b.Destroy, "approve"))
		if b.Gone {
			text += ", gone without the agent"
		}
		return text
	case journal.ClusterGuarded:
		return fmt.Sprintf("%d approvals, %d destroys in a day", b.Approvals, b.MaxDestroysPerDay)
	case journal.Applied:
		return appliedText(b)
	case journal.IneffectiveRestart:
		if b.Over {
			return fmt.Sprintf("%d may be restarted again, digest %s", b.VMID, b.StepDigest)
		}
		return fmt.Sprintf("%d was restarted without effect, digest %s", b.VMID, b.StepDigest)
	case journal.Attached:
		return fmt.Sprintf("%d held %s", b.VMID, cmp.Or(strings.Join(volumesBySlot(b), ", "), "no volume"))
	case journal.Snapshots:
		return describeSnapshots(b)
	case journal.Repeated:
		if b.Over {
			return fmt.Sprintf("%d has no call of an earlier process any more", b.VMID)
		}
		return fmt.Sprintf("%d may still get a call of an earlier process", b.VMID)
	case journal.Flapping:
		return fmt.Sprintf("%s was repaired often: level %.1f", b.Key(), b.Level)
	case journal.Seen:
		if b.Identity == "" {
			return fmt.Sprintf("%s is no longer compared with what was last seen of it", b.Key())
		}
		return fmt.Sprintf("%s was last seen with the values of %d keys", b.Key(), len(b.Keys))
	case journal.Introduced:
		return fmt.Sprintf("%s/%s by %s", b.Kind, b.Name, cmp.Or(strings.Join(signers(b.By), ", "), "an unknown signer"))
	case journal.Ordered:
		return fmt.Sprintf("%s by %s: %s", cmp.Or(b.Order, term.Shorten(b.Key, 16)), cmp.Or(b.Subject, "an unknown signer"), b.State)
	case journal.Rollout:
		if b.Revision == "" {
			return fmt.Sprintf("Rollout/%s is over", b.Name)
		}
		return fmt.Sprintf("Rollout/%s of %.7s %s, batch %d of %d%s", b.Name, b.Revision, b.State, b.Batch, b.Batches, term.Prefixed(": ", b.Why))
	case journal.PolicyInForce:
		if b.When == "" {
			return fmt.Sprintf("Policy/%s is over", b.Name)
		}
		return fmt.Sprintf("Policy/%s of %s is in force: %s", b.Name, b.File, b.Result)
	case journal.Left:
		if len(b.Files) == 0 {
			return fmt.Sprintf("%d is under the policies of its folder alone", b.VMID)
		}
		return fmt.Sprintf("%d is also under the policies that apply to %s", b.VMID, strings.Join(slices.DeleteFunc(slices.Concat(b.Files, b.Labels), func(text string) bool { return text == "" }), ", "))
	case journal.Placed:
		if b.Node == "" {
			return fmt.Sprintf("%d needs no node any more", b.VMID)
		}
		return fmt.Sprintf("%s (%d) on %s: %s", labelOf(b.Kind, b.Name), b.VMID, b.Node, b.Reason)
	case journal.Staged:
		return stagedText(b)
	case journal.Writer:
		return fmt.Sprintf("claims the cluster as writer %d %s", b.Number, b.Nonce)
	case journal.Event:
		return b.Name + about(b.VMID) + term.Prefixed(": ", b.Message)
	default:
		return ""
	}
}

// stagedText says which revision a guest of a rollout has.
func stagedText(b journal.Staged) string {
	guest := strings.TrimSpace(labelOf(b.Kind, b.Name) + fmt.Sprintf(" (%d)", b.VMID))
	switch {
	case b.Batch == 0:
		return guest + " has the revision in force"
	case b.Released:
		return fmt.Sprintf("%s is released, batch %d of Rollout/%s", guest, b.Batch, b.Rollout)
	case b.Commit == "":
		return fmt.Sprintf("%s waits, batch %d of Rollout/%s", guest, b.Batch, b.Rollout)
	}
	return fmt.Sprintf("%s is held to %.7s, batch %d of Rollout/%s", guest, b.Commit, b.Batch, b.Rollout)
}

// signers returns the names of those who introduced fields, sorted and each once.
func signers(by []journal.Introduction) []string {
	var names []string
	for _, i := range by {
		names = append(names, i.Signer)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// describeSnapshots names the snapshots that the agent took of a guest by its schedule.
func describeSnapshots(b journal.Snapshots) string {
	var names []string
	for _, s := range b.Taken {
		names = append(names, s.Name)
	}
	text := fmt.Sprintf("%d has the agent's snapshots %s", b.VMID, cmp.Or(strings.Join(names, ", "), "none"))
	if b.Failed != "" {
		text += "; that of " + b.Due.Format(time.RFC3339) + " was not taken: " + b.Failed
	}
	return text
}

// volumesBySlot returns "scsi1=VOLUME" for each slot of a record, sorted by slot.
func volumesBySlot(b journal.Attached) []string {
	var list []string
	for _, slot := range slices.Sorted(maps.Keys(b.Volumes)) {
		list = append(list, slot+"="+cmp.Or(b.Volumes[slot], "unknown"))
	}
	for _, slot := range b.Filling {
		list = append(list, slot+" is being filled")
	}
	return list
}

// about returns " of " and the vmid of an event, or "" for an event that is not about a guest.
func about(vmid int) string {
	if vmid == 0 {
		return ""
	}
	return fmt.Sprintf(" of %d", vmid)
}

// appliedText says which secrets a guest has, and what of it waits for its next boot.
func appliedText(b journal.Applied) string {
	keys := func(set []string) string { slices.Sort(set); return cmp.Or(strings.Join(set, ", "), "no key") }
	secrets := fmt.Sprintf("%d has the current secrets for %s", b.VMID, keys(slices.Collect(maps.Keys(b.Fingerprints))))
	switch {
	case b.Process == journal.Process{}:
		return secrets
	case b.Booted:
		return fmt.Sprintf("%s, and was started", secrets)
	case len(b.Waiting) == 0:
		return fmt.Sprintf("%s, and nothing waits for its next boot", secrets)
	}
	return fmt.Sprintf("%s, and what waits for its next boot is %s", secrets, keys(slices.Collect(maps.Keys(b.Waiting))))
}
