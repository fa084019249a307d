package reconcile

import (
	"maps"

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

// Check returns why a secret cannot be given to any guest, or nil.
func (s Secrets) Check(name string) error {
	if _, now := newVault(s, "").open(name); now.Problem != nil {
		return now.Problem
	}
	return nil
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

// given returns the fingerprints of the secrets that the guest was given. What another guest under its vmid got does not count.
func given(applied journal.Applied, owned journal.Owned) map[string]string {
	if owned.Identity == "" || applied.Identity != owned.Identity {
		return nil
	}
	return applied.Fingerprints
}

// afterGiving returns the record of what a guest has been given once the calls of a step were made. A guest that was made anew
// has nothing from before. A crash ahead of this record costs one more call with the same text, since settling cannot tell what
// became of a configuration and the hash of a password does not change: nothing is set up anew by it.
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
