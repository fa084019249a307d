package preflight

import (
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
)

// TagRules are the datacenter options that decide which tags a token without Sys.Modify may set.
type TagRules struct {
	Access     string   // free, existing, list or none; "" is free
	Registered []string // only a token with Sys.Modify may set or remove these
}

const modifyTags = "or grant Sys.Modify on / to the token, which may then change every option of the cluster"

// RestrictedTags returns the tags that the agent must set, and that the options do not let the token set. The agent marks each guest that it manages
// with a tag of its own, so it needs free tags. Proxmox also refuses every tag of a new virtual machine unless tags are free.
//
// Source: PVE::GuestHelpers assert_tag_permissions, PVE::API2::Qemu create_vm.
func RestrictedTags(guests []guest.Desired, rules TagRules, granted Granted) []Unresolved {
	if granted.Allows("/", "Sys.Modify") {
		return nil
	}
	var found []Unresolved
	if rules.Access != "" && rules.Access != "free" {
		found = append(found, Unresolved{
			What: "tags", Name: "user-tag-access",
			Problem: "user-allow=" + rules.Access + " of the datacenter does not let the token set the tags with which the agent marks its guests",
			Hint:    "run pvesh set /cluster/options --user-tag-access user-allow=free, " + modifyTags, For: []Cause{{}},
		})
	}
	for _, tag := range rules.Registered {
		causes := wanting(guests, tag)
		if len(guest.Markers(tag)) > 0 {
			causes = append(causes, Cause{})
		}
		if len(causes) > 0 {
			found = append(found, Unresolved{
				What: "tags", Name: tag, Problem: "is a registered tag of the datacenter, which the token may neither set nor remove",
				Hint: "remove it from registered-tags: pvesh set /cluster/options " + registeredWithout(rules.Registered, tag) + ", " + modifyTags, For: causes,
			})
		}
	}
	return found
}

// wanting returns the guests whose manifests have a tag.
func wanting(guests []guest.Desired, tag string) []Cause {
	var causes []Cause
	for i := range guests {
		for _, in := range guests[i].Intents {
			if in.Key == "tags" && in.Verb == guest.Want && slices.Contains(guest.Tags(in.Text), strings.ToLower(tag)) {
				causes = append(causes, Cause{guests[i].Ref, in.Key, in.Origin})
			}
		}
	}
	return causes
}

// registeredWithout returns the flag that sets all registered tags except one.
func registeredWithout(all []string, tag string) string {
	rest := slices.DeleteFunc(slices.Clone(all), func(other string) bool { return other == tag })
	if len(rest) == 0 {
		return "--delete registered-tags"
	}
	return "--registered-tags '" + strings.Join(rest, ";") + "'"
}
