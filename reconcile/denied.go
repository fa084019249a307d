package reconcile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

// deniedCondition returns the condition of a guest whose step was refused because the token lacks a permission. The condition names the
// privilege, and the keys and manifest lines that need it. deniedCondition reports false for any other error.
func deniedCondition(t *track, guests []guest.Desired) (plan.Condition, bool) {
	if !errors.Is(t.failed, cluster.ErrDenied) {
		return plan.Condition{}, false
	}
	c := plan.Condition{Type: plan.Failed, Reason: reason.Denied, Message: t.failed.Error(), Hint: reason.CheckToken.Text}
	var denied *cluster.DeniedError
	if !errors.As(t.failed, &denied) {
		return c, true
	}
	switch {
	case denied.Tag != "":
		c.Message = fmt.Sprintf("%s: the options of the datacenter (user-tag-access, registered-tags) do not let the token set its tags: %s", t.failedStep.Op, t.failed)
		c.Hint = reason.FreeTags.Text
	case denied.Path != "":
		keys, privileges := changesNeeding(t.failedStep, guests, denied.AnyOf)
		c.Message = fmt.Sprintf("%s: the token lacks %s on %s", t.failedStep.Op, strings.Join(privileges, " and "), denied.Path)
		if len(keys) > 0 {
			c.Message += ", which is needed for " + strings.Join(keys, ", ")
		}
		c.Hint = reason.GrantPath.With(denied.Path)
	case denied.RootOnly:
		c.Reason = reason.NeedsRoot
		c.Message = fmt.Sprintf("%s: Proxmox lets root@pam alone do this, and no API token: %s", t.failedStep.Op, t.failed)
		c.Hint = reason.LeaveOutRootKey.Text
	}
	return c, true
}

// changesNeeding returns the changes of a step that need one of the privileges of anyOf, each with its manifest line, and the privileges
// that these changes need. If no change of the step is known to need one, it returns all changes and all of anyOf.
func changesNeeding(step plan.Step, guests []guest.Desired, anyOf []string) (keys, privileges []string) {
	needed := make(map[string]string) // privilege by key
	for _, d := range guests {
		if d.VMID != step.Guest.VMID {
			continue
		}
		for _, need := range guest.Privileges(d) {
			if slices.Contains(anyOf, need.Privilege) {
				needed[need.Key] = need.Privilege
			}
		}
	}
	var all []string
	for _, change := range step.Changes {
		text := change.Key
		if change.Origin.File != "" {
			text += " (" + change.Origin.String() + ")"
		}
		all = append(all, text)
		if privilege, ok := needed[change.Key]; ok {
			keys, privileges = append(keys, text), append(privileges, privilege)
		}
	}
	if len(keys) == 0 {
		return all, anyOf
	}
	slices.Sort(privileges)
	return keys, slices.Compact(privileges)
}
