package reconcile

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
)

// What Proxmox says when a token may not do something. The privileges stand together where any of them would do.
var (
	permissionText = regexp.MustCompile(`Permission check failed \((/[^,\s]*), ([A-Za-z.|]+)\)`)
	rootText       = regexp.MustCompile(`only root can (?:set|change|modify) '?([A-Za-z0-9_-]+)|only allowed for root@pam|Only root may use this option`)
)

// deniedCondition returns the condition of a guest whose step the token may not carry out: it names the privilege, and the keys and manifest
// lines that need it. It reports false for any other trouble.
func deniedCondition(t *track, guests []guest.Desired) (plan.Condition, bool) {
	if !errors.Is(t.failed, cluster.ErrDenied) {
		return plan.Condition{}, false
	}
	c := plan.Condition{Type: plan.Failed, Reason: "denied", Message: t.failed.Error(), Hint: "look at the token's permissions: gitops-agent config check --cluster lists what is missing"}
	text := t.failed.Error()
	if found := permissionText.FindStringSubmatch(text); found != nil {
		path := found[1]
		keys, privileges := askers(t.failedStep, guests, strings.Split(found[2], "|"))
		c.Message = fmt.Sprintf("%s: the token lacks %s on %s", t.failedStep.Op, strings.Join(privileges, " and "), path)
		if len(keys) > 0 {
			c.Message += ", which is needed for " + strings.Join(keys, ", ")
		}
		c.Hint = "grant it: pveum acl modify " + path + " --tokens TOKEN --roles ROLE; gitops-agent config check --cluster lists all that is missing"
		return c, true
	}
	if rootText.MatchString(text) {
		c.Reason = "root-only"
		c.Message = fmt.Sprintf("%s: Proxmox lets root@pam alone do this, and no API token: %s", t.failedStep.Op, text)
		c.Hint = "leave the key out of the manifest, or set it by hand and list it under spec.ignoreFields"
	}
	return c, true
}

// askers lists the changes of a step that need one of several privileges, each with its manifest line, and those of the privileges that
// they need. Where nobody knows, it is all of both.
func askers(step plan.Step, guests []guest.Desired, anyOf []string) (keys, privileges []string) {
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
