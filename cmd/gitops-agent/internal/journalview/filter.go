package journalview

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"gitops-agent/reconcile/journal"
)

// Filter selects records. The zero Filter selects all of them, and a record must match every field that is set.
type Filter struct {
	Guest    string    // kind and name, such as VirtualMachine/web-1, or a vmid
	Revision string    // the beginning of a commit id
	Signers  []string  // subjects of signatures and names in the trust policy, of which one must match
	Step     string    // the operation or class of a step, or the beginning of its id or digest
	Since    time.Time // the first time that matches
	Until    time.Time // the first time that does not match any more; zero is no end
}

// selection applies a filter to the records in their order. A record of a step matches by what the step's first record says, a step by the signer of its
// revision, and a record that contains only a vmid by the guest that had the vmid then. It remembers open steps, one guest per vmid and the newest accepted
// revision, so its memory does not grow with the journal.
type selection struct {
	filter   Filter
	vmid     int                // of the filter's guest, if the filter names a vmid
	steps    map[string]subject // open steps, and the last one that ended
	ended    string             // the step of the last ended record: records of the same commit that follow from it come after it
	labels   map[int]string     // the guest that has a vmid
	accepted journal.Accepted   // the newest one
}

// subject is what a record is about.
type subject struct {
	vmid               int
	label              string
	revisions, signers []string
	steps              []string // operation and class of a step
	digests            []string // id and digest of a step
}

func newSelection(f Filter) *selection {
	f.Revision = commitOf(f.Revision)
	s := &selection{filter: f, steps: make(map[string]subject), labels: make(map[int]string)}
	s.vmid, _ = strconv.Atoi(f.Guest)
	return s
}

// selects reports whether a record matches the filter. It must see every record of the journal in order.
func (s *selection) selects(r journal.Record) bool {
	about := s.subject(r.Body)
	f := s.filter
	switch {
	case r.Time.Before(f.Since), !f.Until.IsZero() && !r.Time.Before(f.Until):
		return false
	case f.Guest != "" && !s.isGuest(about):
		return false
	case f.Revision != "" && !anyHasPrefix(about.revisions, f.Revision):
		return false
	case len(f.Signers) != 0 && !slices.ContainsFunc(f.Signers, func(signer string) bool { return anyEquals(about.signers, signer) }):
		return false
	}
	return f.Step == "" || anyEquals(about.steps, f.Step) || anyHasPrefix(about.digests, f.Step)
}

func (s *selection) isGuest(about subject) bool {
	if s.vmid != 0 {
		return about.vmid == s.vmid
	}
	return strings.EqualFold(about.label, s.filter.Guest)
}

// subject returns what a record is about, and learns from it which guest has which vmid.
func (s *selection) subject(body journal.Body) subject {
	about := s.ownSubject(body)
	switch {
	case about.vmid == 0 && about.label != "":
		for vmid, label := range s.labels {
			if label == about.label {
				about.vmid = vmid
			}
		}
	case about.vmid != 0 && about.label != "":
		s.labels[about.vmid] = about.label
	case about.vmid != 0:
		about.label = s.labels[about.vmid]
	}
	return about
}

// ownSubject returns what a record says itself, or what the first record of its step said.
func (s *selection) ownSubject(body journal.Body) subject {
	switch b := body.(type) {
	case journal.Accepted:
		s.accepted = b
		return subject{revisions: []string{b.Commit}, signers: []string{b.Subject}}
	case journal.Evidence:
		return subject{revisions: []string{b.Commit}}
	case journal.Begun:
		about := subject{
			vmid: b.VMID, label: b.Kind + "/" + b.Name, revisions: []string{commitOf(b.Revision)}, steps: []string{b.Op, b.Class}, digests: []string{b.Step, b.StepDigest},
			signers: s.signerOf(commitOf(b.Revision)),
		}
		s.steps[b.Step] = about
		return about
	case journal.Dispatched:
		return s.steps[b.Step]
	case journal.Ended:
		about := s.steps[b.Step]
		if s.ended != b.Step {
			delete(s.steps, s.ended)
			s.ended = b.Step
		}
		return about
	case journal.Ordered:
		about := s.steps[b.Step]
		about.revisions = append([]string{b.Commit}, about.revisions...)
		about.signers = []string{b.Subject, b.Signer}
		about.digests = append([]string{b.Order[strings.LastIndex(b.Order, " ")+1:]}, about.digests...)
		return about
	case journal.Downloaded:
		return subject{label: "Image/" + b.Name}
	case journal.OwnedObject:
		return subject{label: b.Kind + "/" + b.Name}
	case journal.Assigned:
		return subject{vmid: b.VMID, label: b.Kind + "/" + b.Name}
	case journal.Owned:
		return subject{vmid: b.VMID, label: b.Kind + "/" + b.Name}
	case journal.Disowned:
		return subject{vmid: b.VMID}
	case journal.Guarded:
		return subject{vmid: b.VMID, label: labelOf(b.Kind, b.Name)}
	case journal.Applied:
		return subject{vmid: b.VMID}
	case journal.IneffectiveRestart:
		return subject{vmid: b.VMID, revisions: []string{commitOf(b.Revision)}, digests: []string{b.StepDigest}}
	case journal.Attached:
		return subject{vmid: b.VMID}
	case journal.Snapshots:
		return subject{vmid: b.VMID}
	case journal.Rollout:
		return subject{revisions: []string{b.Revision}}
	case journal.PolicyInForce:
		about := subject{label: "Policy/" + b.Name}
		for _, by := range b.By {
			about.signers = append(about.signers, by.Signer)
		}
		return about
	case journal.Left:
		return subject{vmid: b.VMID}
	case journal.Placed:
		return subject{vmid: b.VMID, label: labelOf(b.Kind, b.Name)}
	case journal.Staged:
		return subject{vmid: b.VMID, label: labelOf(b.Kind, b.Name), revisions: []string{b.Commit}}
	case journal.Introduced:
		about := subject{vmid: b.VMID, label: b.Kind + "/" + b.Name}
		for _, by := range b.By {
			about.revisions, about.signers = append(about.revisions, by.Commit), append(about.signers, by.Signer)
		}
		return about
	case journal.Event:
		return subject{vmid: b.VMID, revisions: []string{commitOf(b.Revision)}}
	default: // ClusterGuarded and Writer concern the whole cluster
		return subject{}
	}
}

// signerOf returns who signed the newest accepted revision, if it is this commit. Steps begin only under that revision.
func (s *selection) signerOf(commit string) []string {
	if commit != s.accepted.Commit {
		return nil
	}
	return []string{s.accepted.Subject}
}

func labelOf(kind, name string) string {
	if name == "" {
		return ""
	}
	return kind + "/" + name
}

// commitOf returns the commit id of a revision, which records of steps write as branch@sha1:id.
func commitOf(revision string) string { return revision[strings.LastIndex(revision, ":")+1:] }

func anyHasPrefix(list []string, prefix string) bool {
	for _, text := range list {
		if strings.HasPrefix(strings.ToLower(text), strings.ToLower(prefix)) {
			return true
		}
	}
	return false
}

func anyEquals(list []string, want string) bool {
	for _, text := range list {
		if text != "" && strings.EqualFold(text, want) {
			return true
		}
	}
	return false
}
