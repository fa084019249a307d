package guest

// hidden is what Proxmox and a Change show in place of a secret.
const hidden = "**********"

// SecretChange returns the change that writes a secret to an existing guest. Proxmox shows no secrets, so a Diff cannot compare them: only the
// caller knows whether the guest has this secret. It returns the zero Change if the key is ignored, or is only used to create the guest,
// such as a container's password.
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

// CreateSecrets returns the secrets for the call that creates the guest: the file name of each key. The clone call accepts none, and the
// secrets of a restored guest are written afterwards.
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
