package guest

// Secret is a native key whose value is kept in a file on the agent's host, and never in a repository, a plan, a log or the
// journal.
type Secret struct {
	Key    string // cipassword, password
	File   string // name within the agent's directory of secrets
	Origin Origin
}

// hidden is what Proxmox shows in place of a secret, and what a Change says of one.
const hidden = "**********"

// SecretChange returns the change that writes a secret to a guest that exists. Proxmox shows no secret, so that a Diff cannot tell
// whether it is the one that the guest has: the caller knows. It is the zero Change where the key is ignored or is only used
// when the guest is made, such as a container's password.
func SecretChange(d Desired, o Observed, s Secret) Change {
	r, _ := find(d.Kind, s.Key)
	if r.once || ignores(d.Ignore, s.Key, "") {
		return Change{}
	}
	now, next := nowAndNext(o.Keys[s.Key])
	c := comparison{want: &d, live: &o}
	c.addWrite(&Intent{Key: s.Key, Origin: s.Origin}, edit{live: &o, key: s.Key, row: r, from: now, to: hidden}, next)
	change := c.changes[0]
	if change.From != "" {
		change.From = hidden
	}
	if change.To = hidden; change.Write == WriteSet {
		change.Write, change.Value = WriteSecret, s.File
	}
	return change
}

// CreateSecrets returns which secrets the call that makes the guest carries: key to the name of the file. A clone's call takes none.
// What a restored guest is given is written afterwards, too.
func CreateSecrets(d Desired) map[string]string {
	if d.Source.Clone != nil || d.Source.Backup != nil {
		return nil
	}
	secrets := map[string]string{}
	for _, s := range d.Secrets {
		secrets[s.Key] = s.File
	}
	return secrets
}
