package manifest

import (
	"fmt"
	"slices"
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// lifecycle is what may be done to a guest without asking.
type lifecycle struct {
	destroy         opt[string]
	recreate        opt[string]
	rebootPolicy    opt[string]
	window          opt[string]
	shutdownTimeout opt[time.Duration]
	forceStop       opt[bool]
	startWithout    textList
	protection      opt[bool]
}

func (c *lifecycle) fields() []field {
	return []field{
		{"destroy", "", "When the manifest is gone: deny keeps the guest, even with an approval, approve waits for a signed approval, allow destroys it. Default: approve.", choice(&c.destroy, string(guest.Deny), string(guest.Approve), string(guest.Allow))},
		{"recreate", "", "When the guest is gone and the agent did not destroy it: deny leaves it gone, even with an approval, approve waits for a signed approval, allow creates it again. Default: allow if every volume comes from the source (clone, image or template), else approve.", choice(&c.recreate, string(guest.Deny), string(guest.Approve), string(guest.Allow))},
		{"rebootPolicy", "", "When a change waits for a restart: never reports it, approve waits for a signed approval, window restarts within the window, auto restarts at once. Default: never.", choice(&c.rebootPolicy, string(guest.RebootNever), string(guest.RebootApprove), string(guest.RebootWindow), string(guest.RebootAuto))},
		{"window", "", "When rebootPolicy window may restart the guest: days, hours and a time zone, such as Sat 02:00-04:00 Europe/Berlin.", window(&c.window)},
		{"shutdownTimeout", "", "How long the guest may take to shut down. Default: 3m.", duration(&c.shutdownTimeout, maxDelay)},
		{"forceStop", "", "Stop the guest hard when a shutdown takes longer; data that it has not written is lost. Of a restart, Proxmox decides: that of a virtual machine fails then, and a container is always stopped hard. Default: false.", flag(&c.forceStop)},
		{"startWithout", "", "Mounts and devices that only root@pam may set, such as mp0, without which a new guest may be started. It is not started for the first time before it has the others.", withExamples(list(&c.startWithout, nativeKey, ""), `["mp0"]`)},
		{"protection", "protection", "Proxmox's own protection flag: refuses to remove the guest or its disks.", flag(&c.protection)},
	}
}

func (c *lifecycle) check(l *lowering) {
	policy := guest.RebootPolicy(c.rebootPolicy.value)
	if policy == guest.RebootWindow && !c.window.set {
		l.missing(c.rebootPolicy.place, "got rebootPolicy: window without a window", "add window: Sat 02:00-04:00 Europe/Berlin")
	}
	if c.window.set && policy != guest.RebootWindow {
		l.missing(c.window.place, "got a window without rebootPolicy: window, so the window has no effect", "")
	}
}

// startsWithout returns the mounts and devices without which a new guest may be started, sorted. Each is one that the manifest names.
func (c *lifecycle) startsWithout(l *lowering) []string {
	var keys []string
	for _, slot := range c.startWithout.value {
		switch in, named := l.intents[slot.value]; {
		case !guest.IsDevice(l.kind, slot.value):
			l.problem(slot.place, fmt.Sprintf("got %q, want the slot of a mount or a device", slot.value), "such as mp0, dev0 or hostpci0")
		case !named || in.Verb == guest.Absent:
			l.problem(slot.place, fmt.Sprintf("got %q, which the manifest does not set", slot.value), "name one of its mounts and devices")
		default:
			keys = append(keys, slot.value)
		}
	}
	slices.Sort(keys)
	return keys
}

// value returns the lifecycle with its defaults. Recreate is empty if the manifest does not set it: its default depends on the whole guest.
func (c *lifecycle) value() guest.Lifecycle {
	out := guest.Lifecycle{
		Destroy: guest.Approve, RebootPolicy: guest.RebootNever,
		Recreate: guest.Permission(c.recreate.value), Window: c.window.value, ShutdownTimeout: c.shutdownTimeout.value, ForceStop: c.forceStop.value,
	}
	if c.destroy.set {
		out.Destroy = guest.Permission(c.destroy.value)
	}
	if c.rebootPolicy.set {
		out.RebootPolicy = guest.RebootPolicy(c.rebootPolicy.value)
	}
	return out
}

// suspension stops all work on a guest.
type suspension struct {
	reason, author opt[string]
	until          opt[time.Time]
}

func (s *suspension) fields() []field {
	return []field{
		{"reason", "", "Reason, for people. Required.", text(&s.reason, anyText)},
		{"author", "", "Who asked for it.", text(&s.author, anyText)},
		{"until", "", "When work continues automatically. Default: never.", timestamp(&s.until)},
	}
}

func (s *suspension) rejectNonMapping(n *tree.Node) rejection {
	hint := "give the reason, as in {reason: being moved to new disks}"
	if n.Text == "false" || n.Text == "no" {
		hint = "leave suspend out; null drops an inherited one"
	}
	return rejection{"got " + n.Describe() + ", want a mapping", hint}
}
