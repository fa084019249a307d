package secret

import (
	"gitops-agent/reconcile/journal"
)

// Source is where the contents come from that manifests name and do not contain. The zero Secrets has none.
type Source struct {
	// Read returns the content of a named secret. It is asked at every plan and again just before the content is sent, so it should cost
	// little while nothing changed. A *SecretError tells what to do.
	Read func(name string) (string, error)
	// Key makes the fingerprints in the journal and the salts of hashes. It must live as long as the journal: with another one every
	// guest is given its secret once more, under another salt.
	Key []byte
}

// Check returns why a secret cannot be given to any guest, or nil.
func (s Source) Check(name string) error {
	if _, now := NewVault(s, "").open(name); now.Problem != nil {
		return now.Problem
	}
	return nil
}

// Error is a secret that cannot be used. It never contains any of its content.
type Error struct {
	Name   string
	Reason string
	Hint   string // what would help
}

func (e *Error) Error() string { return "secret " + e.Name + ": " + e.Reason }

// Place is a native key of a guest that is filled with a secret.
type Place struct {
	VMID int
	Key  string
}

// State is what a plan may know of a secret's content.
type State struct {
	Fingerprint string // tells whether it is the content that the guest was given last; empty where there is a Problem
	Form        Form
	Problem     *Error // why it cannot be used
}

// Form says how a password is kept in its file.
type Form string

// The forms of a secret. A container takes fewer kinds of hash than a virtual machine.
const (
	Plain    Form = "plain"
	Hash     Form = "hash"
	LongHash Form = "long-hash" // one that only virtual machines take
)

// Given returns the fingerprints of the secrets that the guest was given. What another guest under its vmid got does not count.
func GivenFingerprints(applied journal.Applied, owned journal.Owned) map[string]string {
	if owned.Identity == "" || applied.Identity != owned.Identity {
		return nil
	}
	return applied.Fingerprints
}
