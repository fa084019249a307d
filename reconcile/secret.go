package reconcile

import (
	"cmp"
	"maps"
	"slices"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// Secrets is where the contents come from that manifests name and do not contain. The zero Secrets has none.
type Secrets struct {
	// Read returns the content of a named secret. It is asked at every plan and again just before the content is sent, so it should cost
	// little while nothing changed. A *SecretError tells what to do.
	Read func(name string) (string, error)
	// Key makes the fingerprints in the journal and the salts of hashes. It must live as long as the journal: with another one every
	// guest is given its secret once more, under another salt.
	Key []byte
}

// SecretError is a secret that cannot be used. It never contains any of its content.
type SecretError struct {
	Name   string
	Reason string
	Hint   string // what would help
}

func (e *SecretError) Error() string { return "secret " + e.Name + ": " + e.Reason }

// SecretPlace is a native key of a guest that is filled with a secret.
type SecretPlace struct {
	VMID int
	Key  string
}

// SecretNow is what a plan may know of a secret's content.
type SecretNow struct {
	Fingerprint string // tells whether it is the content that the guest was given last; empty where there is a Problem
	Form        SecretForm
	Problem     *SecretError // why it cannot be used
}

// SecretForm says how a password is kept in its file.
type SecretForm string

// The forms of a secret. A container takes fewer kinds of hash than a virtual machine.
const (
	SecretPlain    SecretForm = "plain"
	SecretHash     SecretForm = "hash"
	SecretLongHash SecretForm = "long-hash" // one that only virtual machines take
)

// secretChanges returns the changes that give a live guest the secrets that it lacks, and the conditions of those that cannot be
// given. Proxmox shows asterisks for a secret, so what the guest has is known from the journal alone: a guest is given its secret
// when that is another one than the last, when the agent never gave it one, and when the key is gone from the guest.
func secretChanges(want Desired, d *guest.Desired, live guest.Observed, owned journal.Owned) ([]guest.Change, []Condition) {
	var changes []guest.Change
	var conditions []Condition
	for _, s := range d.Secrets {
		change := guest.SecretChange(*d, live, s)
		if change.Key == "" {
			continue // ignored, or used when the guest is made and never again
		}
		now, known := want.Secrets[SecretPlace{d.VMID, s.Key}]
		if problem := misfit(s, now, live.Kind, ostypeOf(live)); problem != nil {
			conditions = append(conditions, withheld(s, problem))
			continue
		}
		last := given(want.Applied[d.VMID], owned)[s.Key]
		_, set := live.Keys[s.Key].Next()
		if set && last != "" && (!known || last == now.Fingerprint) || ostypeChanges(d, live) {
			continue
		}
		changes = append(changes, change)
	}
	return changes, conditions
}

// given returns the fingerprints of the secrets that the guest was given. What another guest under its vmid got does not count.
func given(applied journal.Applied, owned journal.Owned) map[string]string {
	if owned.Identity == "" || applied.Identity != owned.Identity {
		return nil
	}
	return applied.Fingerprints
}

// afterGiving returns the record of what a guest has been given once the calls of a step were made. A guest that was made anew
// has nothing from before.
func afterGiving(begun journal.Begun, c conclusion, state journal.State) []journal.Body {
	owned := state.Owned[begun.VMID]
	before := given(state.Applied[begun.VMID], owned)
	made := begun.Op == string(OpCreate) && c.result == journal.Done
	if owned.Identity == "" || len(c.given) == 0 && (!made || len(before) == 0) {
		return nil
	}
	after := make(map[string]string, len(before)+len(c.given))
	if !made {
		maps.Copy(after, before)
	}
	maps.Copy(after, c.given)
	return []journal.Body{journal.Applied{VMID: begun.VMID, Identity: owned.Identity, Fingerprints: after}}
}

// neverGiven reports whether a secret of the guest that cannot be given now was not given before either.
func neverGiven(want Desired, d *guest.Desired, live guest.Observed, owned journal.Owned) bool {
	for _, s := range d.Secrets {
		now := want.Secrets[SecretPlace{d.VMID, s.Key}]
		blocked := guest.SecretChange(*d, live, s).Key != "" && misfit(s, now, live.Kind, ostypeOf(live)) != nil
		if blocked && given(want.Applied[d.VMID], owned)[s.Key] == "" {
			return true
		}
	}
	return false
}

// withSecrets adds the changes of secrets to those of a Diff, which are sorted by key.
func withSecrets(changes, secrets []guest.Change) []guest.Change {
	if len(secrets) == 0 {
		return changes
	}
	changes = append(changes, secrets...)
	slices.SortStableFunc(changes, func(a, b guest.Change) int { return cmp.Compare(a.Key, b.Key) })
	return changes
}

// notStarted leaves out the start of a guest that was never given its password: its first boot would set it up without.
func notStarted(steps []Step) []Step {
	return slices.DeleteFunc(steps, func(s Step) bool { return s.Op == OpStart })
}

// createSecrets returns the secrets that the call carries which makes the guest, or why it cannot be made with them.
func createSecrets(want Desired, d *guest.Desired) (map[string]string, []Condition) {
	names := guest.CreateSecrets(*d)
	var conditions []Condition
	for _, s := range d.Secrets {
		if names[s.Key] == "" {
			continue
		}
		now := want.Secrets[SecretPlace{d.VMID, s.Key}]
		if problem := misfit(s, now, d.Kind, wantedOSType(d)); problem != nil {
			conditions = append(conditions, withheld(s, problem))
		}
	}
	if len(names) == 0 {
		return nil, conditions
	}
	return names, conditions
}

// withheld is the condition of a secret that the guest does not get.
func withheld(s guest.Secret, problem *SecretError) Condition {
	return Condition{Type: Blocked, Reason: "secret", Message: s.Key + ": " + problem.Error(), Hint: problem.Hint}
}

// misfit returns why a secret cannot be sent to this guest, or nil.
func misfit(s guest.Secret, now SecretNow, kind guest.Kind, ostype string) *SecretError {
	problem := &SecretError{Name: s.File, Hint: "put the password itself into the file, or a hash that mkpasswd -m sha-512 made"}
	switch {
	case now.Problem != nil:
		return now.Problem
	case kind == guest.Container && now.Form == SecretLongHash:
		problem.Reason = "Proxmox would take this kind of hash for the password of a container"
	case wantsPlain(ostype) && (now.Form == SecretHash || now.Form == SecretLongHash):
		problem.Reason = "the file holds a hash, and Windows needs the password itself"
		problem.Hint = "put the password itself into the file"
	default:
		return nil
	}
	return problem
}

// wantsPlain reports whether a guest of this type is given a password as it is: Windows cannot use a hash.
//
// Source: PVE API, windows_version of QemuServer/Helpers.pm: every type that begins with w.
func wantsPlain(ostype string) bool { return len(ostype) > 0 && ostype[0] == 'w' }

func ostypeOf(live guest.Observed) string {
	if live.Kind == guest.Container {
		return ""
	}
	return live.Keys["ostype"].Text
}

// wantedOSType returns the type that a virtual machine's manifest asks for, "" where it does not.
func wantedOSType(d *guest.Desired) string {
	for _, in := range d.Intents {
		if in.Key == "ostype" && in.Verb == guest.Want && d.Kind == guest.VirtualMachine {
			return in.Text
		}
	}
	return ""
}

// stepOSType returns the type by which Proxmox takes the secrets of a step.
func stepOSType(step Step, want Desired, live guest.Observed) string {
	if step.Op != OpCreate {
		return ostypeOf(live)
	}
	for i := range want.Guests {
		return wantedOSType(&want.Guests[i])
	}
	return ""
}

// ostypeChanges reports whether the guest is about to need its password in another form. It gets it after that change, since
// Proxmox hashes a password by the type that the guest has when it arrives.
func ostypeChanges(d *guest.Desired, live guest.Observed) bool {
	wanted := wantedOSType(d)
	return wanted != "" && wantsPlain(wanted) != wantsPlain(ostypeOf(live))
}
