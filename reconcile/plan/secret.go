package plan

import (
	"cmp"
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/secret"
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
		now, known := want.Secrets[secret.Place{VMID: d.VMID, Key: s.Key}]
		if problem := secret.CheckUse(s, now, live.Kind, secret.OSTypeOf(live)); problem != nil {
			conditions = append(conditions, secretCondition(s, problem))
			continue
		}
		last := secret.GivenFingerprints(want.Applied[d.VMID], owned)[s.Key]
		_, set := live.Keys[s.Key].Next()
		if set && last != "" && (!known || last == now.Fingerprint) || secret.OSTypeChanges(d, live) {
			continue
		}
		changes = append(changes, change)
	}
	return changes, conditions
}

// neverGiven reports whether a secret of the guest that cannot be given now was not given before either.
func neverGiven(want Desired, d *guest.Desired, live guest.Observed, owned journal.Owned) bool {
	for _, s := range d.Secrets {
		now := want.Secrets[secret.Place{VMID: d.VMID, Key: s.Key}]
		blocked := guest.SecretChange(*d, live, s).Key != "" && secret.CheckUse(s, now, live.Kind, secret.OSTypeOf(live)) != nil
		if blocked && secret.GivenFingerprints(want.Applied[d.VMID], owned)[s.Key] == "" {
			return true
		}
	}
	return false
}

// intendedSecrets lists the secrets that a guest will get that does not exist yet, as changes from nothing.
func intendedSecrets(d *guest.Desired) []guest.Change {
	var changes []guest.Change
	atCreation := guest.CreateSecrets(*d)
	for _, s := range d.Secrets {
		if d.Kind == guest.Container && atCreation[s.Key] == "" {
			continue // a container that is copied keeps the password of what it is a copy of
		}
		changes = append(changes, guest.Change{
			Key: s.Key, To: "**********", Class: guest.Live, Write: guest.WriteSecret, Value: s.File, Origin: s.Origin,
		})
	}
	return changes
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

// notStarted leaves out the start of a guest that was never given its password: its first boot would set it up without. The HA manager
// would start it as well.
func withoutStart(p Guest, live guest.Observed) Guest {
	steps := len(p.Steps)
	p.Steps = slices.DeleteFunc(p.Steps, func(s Step) bool {
		hands := (s.Op == cluster.OpHAAdd || s.Op == cluster.OpHASet) && slices.Contains([]string{"", "started"}, s.Calls[0].Params["state"])
		return s.Op == cluster.OpStart || hands && live.Status != guest.StatusRunning
	})
	if len(p.Steps) == steps {
		return p
	}
	for i, c := range p.Conditions {
		if c.Reason == ReasonSecret {
			p.Conditions[i].Reason = ReasonNoSecret
		}
	}
	return p
}

// createSecrets returns the secrets that the call carries which makes the guest, or why it cannot be made with them.
func createSecrets(want Desired, d *guest.Desired) (map[string]string, []Condition) {
	names := guest.CreateSecrets(*d)
	var conditions []Condition
	for _, s := range d.Secrets {
		if names[s.Key] == "" {
			continue
		}
		now := want.Secrets[secret.Place{VMID: d.VMID, Key: s.Key}]
		if problem := secret.CheckUse(s, now, d.Kind, secret.WantedOSType(d)); problem != nil {
			c := secretCondition(s, problem)
			c.Reason = ReasonNoSecret
			conditions = append(conditions, c)
		}
	}
	if len(names) == 0 {
		return nil, conditions
	}
	return names, conditions
}

// withheld is the condition of a secret that the guest does not get.
func secretCondition(s guest.Secret, problem *secret.Error) Condition {
	return Condition{Type: Blocked, Reason: ReasonSecret, Message: s.Key + ": " + problem.Error(), Hint: problem.Hint}
}
