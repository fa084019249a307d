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

// Evidence is a Cause with what else is known of it.
type Evidence struct {
	Cause    Cause
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
	now := follow(record, live, Evidence{Cause: cause})
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
	case record.Booted:
		return Boot
	case live.Process == nil, isSame(record.Process, live):
		return Same
	case live.Kind == guest.Container:
		return Boot
	}
	return Unexplained
}

// isSame reports whether a guest still runs in a process. No clock is compared: the number of a process is used again only after the node was booted, and the new
// process is younger then.
func isSame(p journal.Process, live guest.Observed) bool {
	return p.Node == live.Node && p.PID == live.Process.PID && int64(live.Process.Uptime/time.Second) >= p.Uptime
}

// NeedsCause reports whether Follow needs to know why a process runs that is not the one of the record: only then something waits that it may have brought into effect.
func NeedsCause(record journal.Applied, live guest.Observed) bool {
	if Quick(record, live) != Unexplained {
		return false
	}
	values := guest.UnlistedValues(live, record.Fingerprints, false)
	return len(record.Waiting) > 0 || !agrees(record, values)
}

// agrees reports whether a guest has exactly the values that are in effect.
func agrees(record journal.Applied, values map[string]guest.Unlisted) bool {
	if len(values) != len(record.InEffect) {
		return false
	}
	for key, value := range values {
		if e, set := record.InEffect[key]; !set || e.Unknown || e.Print != value.Print {
			return false
		}
	}
	return true
}

// Baseline returns the first record of a running guest whose process was read. What the guest has counts as in effect, except for what its cloud-init drive lacks, by
// key: the value that the drive has instead, nil if it is not known.
func Baseline(before journal.Applied, owned journal.Owned, live guest.Observed, lacking map[string]*string) journal.Applied {
	record := journal.Applied{VMID: live.VMID, Identity: owned.Identity, Fingerprints: secret.GivenFingerprints(before, owned), Process: processOf(live)}
	record.InEffect = make(map[string]journal.Effect)
	for key, value := range guest.UnlistedValues(live, record.Fingerprints, false) {
		record.InEffect[key] = journal.Effect{Device: value.Device, Print: value.Print}
	}
	for key, has := range lacking {
		switch {
		case has == nil:
			record.InEffect[key] = journal.Effect{Print: anotherValue}
		case *has == "":
			delete(record.InEffect, key)
		default:
			drive := guest.UnlistedValues(guest.WithText(live, key, *has), nil, false)[key]
			record.InEffect[key] = journal.Effect{Device: drive.Device, Print: drive.Print}
		}
	}
	record.Waiting = waiting(record, live)
	return record
}

// anotherValue stands for a value in effect that nothing shows, but that is certainly not the present one.
const anotherValue = "other"

func processOf(live guest.Observed) journal.Process {
	return journal.Process{
		Node: live.Node, PID: live.Process.PID, Uptime: int64(live.Process.Uptime / time.Second), Start: live.ReadAt.Add(-live.Process.Uptime).UTC().Truncate(time.Second),
	}
}

// Follow returns the record of a guest after a reading that includes its process, and whether the record has changed. A guest that does not run keeps the record of
// its last process: only what it has for its next boot changes.
func Follow(record journal.Applied, live guest.Observed, why Evidence) (journal.Applied, bool) {
	after := follow(record, live, why)
	if runs(live) && live.Process != nil && why.Cause != Same {
		after.Process = processOf(live)
	}
	after.Waiting = waiting(after, live)
	return after, !maps.Equal(after.InEffect, record.InEffect) || !maps.Equal(after.Waiting, record.Waiting) || after.Process != record.Process || after.Booted != record.Booted
}

// follow returns the record with what is in effect after a reading.
func follow(record journal.Applied, live guest.Observed, why Evidence) journal.Applied {
	after := record
	if !runs(live) {
		return after
	}
	after.Booted, after.InEffect = false, maps.Clone(record.InEffect)
	if after.InEffect == nil {
		after.InEffect = make(map[string]journal.Effect)
	}
	values := guest.UnlistedValues(live, record.Fingerprints, false)
	keys := slices.AppendSeq(slices.Collect(maps.Keys(values)), maps.Keys(record.InEffect))
	for _, key := range keys {
		if !guest.CountsUnlisted(live, key, false) {
			continue
		}
		e, value := after.InEffect[key], values[key]
		waited, waits := record.Waiting[key]
		switch why.Cause {
		case Boot:
			e = booted(e, value, waits && waited == value.Print, live)
		case RolledBack:
			if e.Print != value.Print || why.Snapshot.IsZero() && !e.Since.IsZero() || e.Since.After(why.Snapshot) {
				e.Unknown = true
			}
		case Unexplained:
			e.Unknown = e.Unknown || waits || e.Print != value.Print
		case Same, Moved:
			e = plugged(e, value, waits && waited == value.Print)
		}
		if after.InEffect[key] = e; e == (journal.Effect{}) || e.Print == "" && e.Device == "" && !e.Unknown {
			delete(after.InEffect, key)
		}
	}
	return after
}

// booted returns what is in effect of a key after a boot: the value that it had for the boot, and has still. A value that was written around the time of the boot may be or may
// not be in effect.
func booted(e journal.Effect, value guest.Unlisted, waited bool, live guest.Observed) journal.Effect {
	switch {
	case !e.Unknown && e.Print == value.Print:
		e.Device = value.Device
		return e
	case waited, value.Device != e.Device && value.Device != "":
		in := journal.Effect{Device: value.Device, Print: value.Print}
		if live.Process != nil {
			in.Since = processOf(live).Start
		}
		return in
	}
	e.Unknown = true
	return e
}

// plugged returns what is in effect of a key in a process that goes on: a new device has its values at once. A disk that was moved to another volume is no new device,
// so that a value that waited for a boot still does.
func plugged(e journal.Effect, value guest.Unlisted, waited bool) journal.Effect {
	switch {
	case value.Device == e.Device:
	case value.Device == "":
		return journal.Effect{}
	case e.Device != "" && waited:
		e.Device = value.Device
	default:
		return journal.Effect{Device: value.Device, Print: value.Print}
	}
	return e
}

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
	now := follow(record, live, Evidence{Cause: Quick(record, live)}).InEffect[key]
	present := guest.UnlistedValues(live, record.Fingerprints, false)[key]
	value := guest.UnlistedValues(guest.WithText(live, key, text), record.Fingerprints, false)[key]
	return !now.Unknown && now.Print == value.Print && now.Print != present.Print
}
