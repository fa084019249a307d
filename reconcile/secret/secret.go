package secret

import (
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// Source provides the contents of the secrets that manifests name. The zero Source has none.
type Source struct {
	// Read returns the content of a named secret. It is called for every plan and again just before the content is sent, so it should be
	// fast while nothing changed. If it returns an *Error, the error's hint is shown.
	Read func(name string) (string, error)
	// Decrypt is Read for a secret that is encrypted in the repository.
	Decrypt func(guest.Secret) (string, error)
	// Key is the key of the fingerprints in the journal and of the salts of hashes. It must live as long as the journal: with another key
	// every guest gets its secret once more, with another salt.
	Key []byte
}

// Error describes why a secret cannot be used. It never contains any of the secret's content.
type Error struct {
	Name   string
	Reason string
	Hint   string // how to correct it
}

func (e *Error) Error() string { return "secret " + e.Name + ": " + e.Reason }

// Place is a native key of a guest whose value is a secret.
type Place struct {
	VMID int
	Key  string
}

// State describes the content of a secret to a plan.
type State struct {
	Fingerprint string // compared with the fingerprint of the content that was sent last; empty if there is a Problem
	Form        Form
	Problem     *Error // why the secret cannot be used; nil if it can
}

// Form is the form of a password in its file.
type Form string

// The forms of a secret. Proxmox accepts fewer kinds of hash for a container than for a virtual machine.
const (
	Plain    Form = "plain"
	Hash     Form = "hash"
	LongHash Form = "long-hash" // a kind of hash that Proxmox accepts only for virtual machines
)

// GivenFingerprints returns the fingerprints of the secrets that were sent to the guest, by key. It ignores secrets that were sent to another
// guest under the same vmid.
func GivenFingerprints(applied journal.Applied, owned journal.Owned) map[string]string {
	if owned.Identity == "" || applied.Identity != owned.Identity {
		return nil
	}
	return applied.Fingerprints
}
