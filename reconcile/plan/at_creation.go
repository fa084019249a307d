package plan

import (
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/secret"
)

// atCreation returns a condition for each field of a manifest that is used at creation only and says something else than the guest was created with. Nothing
// shows what the guest has, so the fingerprints in its record are compared.
func atCreation(want Desired, d *guest.Desired, owned journal.Owned) []Condition {
	baseline := secret.ParseBaseline(owned.CreatedWith)
	if baseline == nil {
		return nil
	}
	var list []Condition
	for _, value := range guest.AtCreation(*d) {
		if !baseline.Differs(d, value, want.Secrets) {
			continue
		}
		message := "its manifest says something else than it was created with"
		if !d.CreatesWith(value) && baseline[value.Key] == "" {
			message = "the guest has that of its original: a clone or a restored guest is not created with it"
		}
		list = append(list, atCreationCondition(value.Key, value.Key+" ("+value.Origin.String()+"): "+message))
	}
	for _, key := range baseline.Removed(d, want.Secrets) {
		list = append(list, atCreationCondition(key, key+": the guest was created with it, and its manifest does not mention it any more"))
	}
	return list
}

// atCreationCondition returns the condition of a field, with what to do for it.
func atCreationCondition(key, message string) Condition {
	remedy := reason.CreateAgain.With(creationField(key))
	if key != guest.SourceKey && !guest.IsOfVolume(key) {
		remedy = reason.SetInGuest.With(creationField(key))
	}
	return Condition{Type: Warned, Reason: reason.Impossible, Message: message, Hint: remedy}
}

// creationField returns the path of the field for a key that is used at creation only, as ignoreFields takes it.
func creationField(key string) string {
	slot, name, _ := strings.Cut(key, ".")
	switch {
	case key == "password":
		return "passwordFrom"
	case key == "ssh-public-keys":
		return "sshKeys"
	case name == "format" && slot != "efidisk0" && slot != "tpmstate0":
		return "disks." + key
	case name != "":
		return "raw." + slot
	}
	return key
}
