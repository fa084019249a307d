package boot

import (
	"maps"
	"slices"
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/secret"
)

// Cause is why the process of a guest runs that runs now.
type Cause int

// The causes. The zero value is Unexplained.
const (
	Unexplained Cause = iota // it is another process than that of the record, and nothing shows why
	Same                     // it is the process of the record
	Boot                     // the system was booted in it
	Moved                    // a live migration or a resumption from disk: the system goes on in it
	RolledBack               // a rollback with memory: an earlier state of the system goes on in it
)

// Evidence is one Cause with what else is known of it. Several of them, oldest first, are what has happened since the process of a record.
type Evidence struct {
	Cause    Cause
	At       time.Time // when it happened; zero for the start of the process that runs now
	Snapshot time.Time // of RolledBack: when the snapshot was taken; zero if it is not known
}

// Wait is a value that is written and not in effect, or not known to be.
type Wait struct {
	Replaces bool // another value is in effect, and not none
	Known    bool // the value is certainly not in effect
}

// Waiting returns what of a guest waits for its next boot, by key. It is the one decision about that. There is none for a guest that does not run, since its next
// start is a boot, and none without a record. A guest whose process was not read is taken to run in the process of the record.
func Waiting(record journal.Applied, owned journal.Owned, live guest.Observed) map[string]Wait {
	if !Recorded(record, owned) || !runs(live) {
		return nil
	}
	values := guest.UnlistedValues(live, record.Fingerprints, false)
	cause := Quick(record, live)
	if cause == Same && len(record.Waiting) == 0 && agrees(record, values) {
		return nil // as nearly always
	}
	now := follow(record, live, []Evidence{{Cause: cause}})
	var waits map[string]Wait
	note := func(key string) {
		e := now.InEffect[key]
		if !guest.CountsUnlisted(live, key, false) || !e.Unknown && e.Print == values[key].Print {
			return
		}
		if waits == nil {
			waits = make(map[string]Wait)
		}
		waits[key] = Wait{Replaces: e.Print != "", Known: !e.Unknown}
	}
	for key := range values {
		note(key)
	}
	for key := range now.InEffect {
		if _, set := values[key]; !set {
			note(key)
		}
	}
	return waits
}

// Recorded reports whether a record says what is in effect in a guest.
func Recorded(record journal.Applied, owned journal.Owned) bool {
	return owned.Identity != "" && record.Identity == owned.Identity && record.Process != journal.Process{}
}

// runs reports whether a guest has a process. One of unknown state counts as running.
func runs(live guest.Observed) bool { return !live.Template && live.Status != guest.StatusStopped }

// Quick returns the cause of the process that runs now as far as the record and one reading show it.
func Quick(record journal.Applied, live guest.Observed) Cause {
	switch {
	case live.Process != nil && isSame(record.Process, live):
		return Same
	case record.Booted && !isLaterProcess(record, live):
		return Boot
	case live.Process == nil:
		return Same
	case live.Kind == guest.Container:
		return Boot
	}
	return Unexplained
}

// isLaterProcess reports whether a guest was started again after the step of the agent that the record notes.
func isLaterProcess(record journal.Applied, live guest.Observed) bool {
	return live.Process != nil && !record.BootedAt.IsZero() && processOf(live).Start.After(record.BootedAt.Add(skew))
}

// isSame reports whether a guest still runs in a process. No clock is compared: the number of a process is used again only after the node was booted, and the new
// process is younger then.
func isSame(p journal.Process, live guest.Observed) bool {
	return p.Node == live.Node && p.PID == live.Process.PID && int64(live.Process.Uptime/time.Second) >= p.Uptime
}

// NeedsCause reports whether Follow needs to know what has happened since the process of the record: the guest runs in another one, and has values of which an older
// memory may have others. A machine that the agent booted may have been rolled back since.
func NeedsCause(record journal.Applied, live guest.Observed) bool {
	cause := Quick(record, live)
	isNew := cause == Unexplained || cause == Boot && live.Kind == guest.VirtualMachine && live.Process != nil
	return isNew && (len(record.InEffect) > 0 || len(record.Waiting) > 0 || len(guest.UnlistedValues(live, record.Fingerprints, false)) > 0)
}

// agrees reports whether a guest has exactly the values that are in effect.
func agrees(record journal.Applied, values map[string]guest.Unlisted) bool {
	for key, e := range record.InEffect {
		if e.Unknown || e.Print != values[key].Print {
			return false
		}
	}
	for key, value := range values {
		if _, set := record.InEffect[key]; !set && value.Print != "" {
			return false
		}
	}
	return true
}

// Baseline returns the first record of a running guest whose process was read. What the guest has counts as in effect. WithList follows.
func Baseline(before journal.Applied, owned journal.Owned, live guest.Observed) journal.Applied {
	record := journal.Applied{VMID: live.VMID, Identity: owned.Identity, Fingerprints: secret.GivenFingerprints(before, owned), Process: processOf(live), Unlisted: true}
	record.InEffect = make(map[string]journal.Effect)
	for key, value := range guest.UnlistedValues(live, record.Fingerprints, false) {
		record.InEffect[key] = journal.Effect{Device: value.Device, Print: value.Print, Since: record.Process.Start}
	}
	record.Waiting = waiting(record, live)
	return record
}

// WithList returns a first record with what the cloud-init drive of the guest lacks, by key: the value that the drive has instead, nil if it is not known. What the
// record does not take for in effect stays so.
func WithList(record journal.Applied, live guest.Observed, lacking map[string]*string) journal.Applied {
	record.Unlisted, record.InEffect = false, maps.Clone(record.InEffect)
	values := guest.UnlistedValues(live, record.Fingerprints, false)
	for key, has := range lacking {
		switch drive := guest.UnlistedValues(guest.WithText(live, key, valueOf(has)), nil, false)[key]; {
		case record.InEffect[key].Print != values[key].Print:
		case has == nil:
			record.InEffect[key] = journal.Effect{Print: anotherValue}
		case *has == "":
			delete(record.InEffect, key)
		default:
			record.InEffect[key] = journal.Effect{Device: drive.Device, Print: drive.Print}
		}
	}
	record.Waiting = waiting(record, live)
	return record
}

func valueOf(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// anotherValue stands for a value in effect that nothing shows, but that is certainly not the present one.
const anotherValue = "other"

func processOf(live guest.Observed) journal.Process {
	return journal.Process{
		Node: live.Node, PID: live.Process.PID, Uptime: int64(live.Process.Uptime / time.Second), Start: InSeconds(live.ReadAt.Add(-live.Process.Uptime)),
	}
}

// Follow returns the record of a guest after a reading that includes its process, and whether the record has changed. History is what has happened since the process
// of the record. A guest that does not run keeps the record of its last process: only what it has for its next boot changes.
func Follow(record journal.Applied, live guest.Observed, history ...Evidence) (journal.Applied, bool) {
	after := follow(record, live, history)
	isSame := !slices.ContainsFunc(history, func(h Evidence) bool { return h.Cause != Same })
	if runs(live) && live.Process != nil && !isSame {
		after.Process = processOf(live)
	}
	after.Waiting = waiting(after, live)
	return after, !maps.Equal(after.InEffect, record.InEffect) || !maps.Equal(after.Waiting, record.Waiting) || after.Process != record.Process || after.Booted != record.Booted
}

// follow returns the record with what is in effect after a reading.
func follow(record journal.Applied, live guest.Observed, history []Evidence) journal.Applied {
	after := record
	if !runs(live) {
		return after
	}
	after.Booted, after.BootedAt, after.InEffect = false, time.Time{}, maps.Clone(record.InEffect)
	if after.InEffect == nil {
		after.InEffect = make(map[string]journal.Effect)
	}
	values := guest.UnlistedValues(live, record.Fingerprints, false)
	keys := slices.AppendSeq(slices.Collect(maps.Keys(values)), maps.Keys(record.InEffect))
	for _, key := range keys {
		if !guest.CountsUnlisted(live, key, false) {
			continue
		}
		now := present{live: live, value: values[key]}
		left, waits := record.Waiting[key]
		now.waits = waits
		if now.kept = left == now.value.Print; !waits {
			now.kept = !record.InEffect[key].Unknown && record.InEffect[key].Print == now.value.Print
		}
		e := record.InEffect[key]
		for _, h := range history {
			e = now.after(e, h)
		}
		if after.InEffect[key] = e; e == (journal.Effect{}) {
			delete(after.InEffect, key)
		}
	}
	return after
}

// present is what a guest has of one key.
type present struct {
	live  guest.Observed
	value guest.Unlisted
	waits bool // at the last look something waited for the next boot
	kept  bool // the guest had the value for its next boot at the last look too
}

// after returns what is in effect after one more cause.
func (p present) after(e journal.Effect, h Evidence) journal.Effect {
	switch h.Cause {
	case Boot:
		return p.booted(e, h.At)
	case RolledBack:
		// The memory is that of the time of the snapshot. The clocks of the node and of the agent's host may differ.
		if e.Print != p.value.Print || e.Since.IsZero() || !h.Snapshot.After(e.Since.Add(skew)) {
			e.Unknown = true
		}
	case Unexplained:
		e.Unknown = e.Unknown || p.waits || e.Print != p.value.Print
	case Same, Moved:
		return p.plugged(e)
	}
	return e
}

// booted returns what is in effect after a boot: the value that the guest had for the boot, and has still. A value that was written around the time of the boot may be
// or may not be in effect.
func (p present) booted(e journal.Effect, at time.Time) journal.Effect {
	switch {
	case !e.Unknown && e.Print == p.value.Print:
		e.Device = p.value.Device
		return e
	case p.kept, p.value.Device != e.Device && p.value.Device != "":
		if at.IsZero() && p.live.Process != nil {
			at = processOf(p.live).Start
		}
		return journal.Effect{Device: p.value.Device, Print: p.value.Print, Since: InSeconds(at)}
	}
	e.Unknown = true
	return e
}

// plugged returns what is in effect in a system that goes on: a new device has its values at once. A disk that was moved to another volume is no new device, so that a
// value that waited for a boot still does.
func (p present) plugged(e journal.Effect) journal.Effect {
	switch {
	case p.value.Device == e.Device:
	case p.value.Device == "":
		return journal.Effect{}
	case e.Device != "" && p.waits && p.kept:
		e.Device = p.value.Device
	default:
		return journal.Effect{Device: p.value.Device, Print: p.value.Print, Since: InSeconds(p.live.ReadAt)}
	}
	return e
}

// InSeconds returns a time as the journal has it.
func InSeconds(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// waiting returns what a guest has for its next boot, by key, if it is not what is in effect.
func waiting(record journal.Applied, live guest.Observed) map[string]string {
	next := guest.UnlistedValues(live, record.Fingerprints, true)
	var waits map[string]string
	note := func(key string) {
		if e := record.InEffect[key]; guest.CountsUnlisted(live, key, true) && (e.Unknown || e.Print != next[key].Print) {
			if waits == nil {
				waits = make(map[string]string)
			}
			waits[key] = next[key].Print
		}
	}
	for key := range next {
		note(key)
	}
	for key := range record.InEffect {
		note(key)
	}
	return waits
}

// Reverts reports whether a native text of a key brings back the value that is in effect while another one waits, so that nothing waits after it is written. It is
// false for the keys of devices, of which only a part is an unlisted value.
func Reverts(record journal.Applied, owned journal.Owned, live guest.Observed, key, text string) bool {
	if !Recorded(record, owned) || !runs(live) || !guest.IsUnlisted(live.Kind, key) {
		return false
	}
	now := follow(record, live, []Evidence{{Cause: Quick(record, live)}}).InEffect[key]
	present := guest.UnlistedValues(live, record.Fingerprints, false)[key]
	value := guest.UnlistedValues(guest.WithText(live, key, text), record.Fingerprints, false)[key]
	return !now.Unknown && now.Print == value.Print && now.Print != present.Print
}
