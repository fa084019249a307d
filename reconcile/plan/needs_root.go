package plan

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/reason"
)

// needsRoot returns the condition of a guest with differences that only root@pam may remove, and whether there are any. The hint is the exact
// command for the shell of the guest's node. An empty node, or the vmid 0, is not known yet.
func needsRoot(changes []guest.Change, ref guest.Ref, node string) (Condition, bool) {
	var keys, settings []string
	for _, c := range changes {
		if !c.RootOnly {
			continue
		}
		key := c.Key
		settings = append(settings, key)
		if c.Origin.File != "" {
			key += " (" + c.Origin.String() + ")"
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return Condition{}, false
	}
	return Condition{
		Type: Warned, Reason: reason.NeedsRoot, Message: "Proxmox lets only root@pam set this, and no API token: " + strings.Join(keys, ", "),
		Hint: commandOfRoot(changes, ref, node), Settings: settings,
	}, true
}

// commandOfRoot returns the command by which root makes all changes that only root@pam may make, with the node on which it is run.
func commandOfRoot(changes []guest.Change, ref guest.Ref, node string) string {
	var set, removed []string
	for _, c := range changes {
		switch {
		case !c.RootOnly:
		case c.RootValue == "":
			removed = append(removed, c.Key)
		default:
			set = append(set, "--"+c.Key+" "+shellQuoted(c.RootValue))
		}
	}
	if len(removed) > 0 {
		set = append(set, "--delete "+strings.Join(removed, ","))
	}
	vmid := "VMID"
	if ref.VMID != 0 {
		vmid = strconv.Itoa(ref.VMID)
	}
	return reason.SetAsRoot.With(cmp.Or(node, "its node"), ref.Kind.Tool()+" set "+vmid+" "+strings.Join(set, " "))
}

// plainInShell are the characters that a shell takes as they are.
const plainInShell = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%"

// shellQuoted returns a text as one word of a POSIX shell.
func shellQuoted(text string) string {
	if strings.Trim(text, plainInShell) == "" && text != "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// withRootOnly marks the keys of a new guest that the call that creates it leaves out. A key of which it writes a part has two changes.
func withRootOnly(changes, left []guest.Change) []guest.Change {
	var out []guest.Change
	for _, c := range changes {
		at := slices.IndexFunc(left, func(l guest.Change) bool { return l.Key == c.Key })
		switch {
		case at < 0:
			out = append(out, c)
		case left[at].From != "":
			c.To = left[at].From
			out = append(out, c, left[at])
		default:
			out = append(out, left[at])
		}
	}
	return out
}
