package plan

import (
	"cmp"
	"slices"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/secret"
)

// secretChanges returns the changes that send a live guest its missing secrets, and the conditions for secrets that cannot be sent. Proxmox
// returns asterisks for a secret, so only the journal contains what the guest has. A secret is sent if it differs from the last one, if the
// agent never sent one, and if the key is missing on the guest.
func secretChanges(want Desired, d *guest.Desired, live guest.Observed, owned journal.Owned) ([]guest.Change, []Condition) {
	var changes []guest.Change
	var conditions []Condition
	for _, s := range d.Secrets {
		change := guest.SecretChange(*d, live, s)
		if change.Key == "" {
			continue // ignored, or used only when the guest is created
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

// neverGiven returns why the guest cannot get a secret that was never sent before, nil if there is no such secret.
func neverGiven(want Desired, d *guest.Desired, live guest.Observed, owned journal.Owned) *Condition {
	for _, s := range d.Secrets {
		now := want.Secrets[secret.Place{VMID: d.VMID, Key: s.Key}]
		if guest.SecretChange(*d, live, s).Key == "" || secret.GivenFingerprints(want.Applied[d.VMID], owned)[s.Key] != "" {
			continue
		}
		if problem := secret.CheckUse(s, now, live.Kind, secret.OSTypeOf(live)); problem != nil {
			c := secretCondition(s, problem)
			return &c
		}
	}
	return nil
}

// intendedSecrets returns the secrets that a new guest will get, as changes from nothing.
func intendedSecrets(d *guest.Desired) []guest.Change {
	var changes []guest.Change
	atCreation := guest.CreateSecrets(*d)
	for _, s := range d.Secrets {
		if d.Kind == guest.Container && atCreation[s.Key] == "" {
			continue // a cloned container keeps the password of its template
		}
		changes = append(changes, guest.Change{
			Key: s.Key, To: "**********", Class: guest.Live, Write: guest.WriteSecret, Value: s.File, Origin: s.Origin,
		})
	}
	return changes
}

// withSecrets adds the changes of secrets to the changes of a Diff and sorts all by key.
func withSecrets(changes, secrets []guest.Change) []guest.Change {
	if len(secrets) == 0 {
		return changes
	}
	changes = append(changes, secrets...)
	slices.SortStableFunc(changes, func(a, b guest.Change) int { return cmp.Compare(a.Key, b.Key) })
	return changes
}

// createSecrets returns the secrets of the create call, by key, or the conditions that block the create.
func createSecrets(want Desired, d *guest.Desired) (map[string]string, []Condition) {
	names := guest.CreateSecrets(*d)
	var conditions []Condition
	for _, s := range d.Secrets {
		if names[s.Key] == "" {
			continue
		}
		now := want.Secrets[secret.Place{VMID: d.VMID, Key: s.Key}]
		if problem := secret.CheckUse(s, now, d.Kind, secret.WantedOSType(d)); problem != nil {
			conditions = append(conditions, secretCondition(s, problem))
		}
	}
	if len(names) == 0 {
		return nil, conditions
	}
	return names, conditions
}

// secretCondition returns the condition of a secret that cannot be sent to the guest.
func secretCondition(s guest.Secret, problem *secret.Error) Condition {
	return Condition{Type: Blocked, Reason: reason.Secret, Message: s.Key + ": " + problem.Error(), Hint: problem.Hint}
}
