package notify

import (
	"cmp"
	"fmt"
	"strings"

	"gitops-agent/reconcile/event"
)

// Text returns an event as sentences, with the command that helps if there is one.
func Text(e Event) string {
	text, remedy := texts(e)
	return text + remedy
}

// texts returns what happened, and what a person can do.
func texts(e Event) (text, remedy string) {
	a := e.Attributes
	text = sentence(e)
	if !e.Repeated.IsZero() {
		text = "Still: " + text
	}
	switch {
	case a["digest"] != "" && (e.Name == event.StepHeld || e.Name == event.GuardHeld):
		remedy = " To release it: gitops-agent approve " + a["digest"]
	case a["hint"] != "":
		remedy = " What to do: " + a["hint"]
	}
	return text, remedy
}

// shortened returns the text of an event with at most so many bytes; 0 is any. What a person can do is kept as long as it leaves room for what happened.
func shortened(e Event, most int) string {
	text, remedy := texts(e)
	text, remedy = oneLine(text), oneLine(remedy)
	switch {
	case most == 0 || len(text)+len(remedy) <= most:
		return text + remedy
	case len(remedy) > most/2:
		return cut(text+remedy, most)
	}
	return cut(text, most-len(remedy)) + remedy
}

// cut returns a text with at most so many bytes and a sign that something is missing.
func cut(text string, most int) string {
	const missing = "…"
	return strings.ToValidUTF8(text[:max(most-len(missing), 0)], "") + missing
}

// sentence returns what happened. The attributes are those of docs/events.md.
func sentence(e Event) string {
	a := e.Attributes
	guest := e.guestText()
	switch e.Name {
	case event.RevisionAccepted:
		return fmt.Sprintf("%s is in force, signed by %s.", revision(a["revision"]), a["signer"])
	case event.RevisionResumed:
		return fmt.Sprintf("%s was verified again and is in force.", revision(a["revision"]))
	case event.RevisionUnverified:
		return fmt.Sprintf("The revision in force does not verify any more, so nothing is written: %s.", a["error"])
	case event.RevisionRefused:
		return fmt.Sprintf("Commit %s was refused (%s): %s.", short(a["commit"]), a["reason"], a["error"])
	case event.RevisionWaiting:
		return fmt.Sprintf("Commit %s waits (%s): %s.", short(a["commit"]), a["reason"], a["error"])
	case event.RevisionConverged:
		return fmt.Sprintf("Every guest is in sync with %s, %s after its first fetch.", strings.ToLower(revision(a["revision"])[:1])+revision(a["revision"])[1:], a["duration"])
	case event.StepHeld:
		return fmt.Sprintf("The step %s of %s is held (%s): %s.", a["op"], guest, a["reason"], a["why"])
	case event.StepReleased:
		return fmt.Sprintf("The step %s of %s was released.", a["op"], guest)
	case event.StepWithdrawn:
		return fmt.Sprintf("The step %s of %s was held and is no longer planned.", a["op"], guest)
	case event.StepBegun:
		return fmt.Sprintf("The step %s of %s has begun: %s.", a["op"], guest, a["why"])
	case event.StepEnded:
		return withError(fmt.Sprintf("The step %s of %s has ended: %s", a["op"], guest, a["result"]), a)
	case event.GuestDrifted:
		return fmt.Sprintf("%s differs from its manifest because of %s: %s.", guest, cause(a["cause"]), a["keys"])
	case event.GuestRepaired:
		return fmt.Sprintf("%s is in sync with its manifest again.", guest)
	case event.GuestFailed:
		return withError(fmt.Sprintf("%s could not be brought in sync, the step %s failed", guest, a["op"]), a)
	case event.GuestDestroyed:
		return fmt.Sprintf("The agent destroyed %s.", guest)
	case event.GuestRecovered:
		return fmt.Sprintf("The agent owns %s again.", guest)
	case event.GuestPlaced:
		return fmt.Sprintf("%s will be created on %s: %s.", guest, a["node"], a["reason"])
	case event.GuestHidden:
		return fmt.Sprintf("The token of the agent may not see %s any more.", guest)
	case event.GuestVisible:
		return fmt.Sprintf("The token of the agent may see %s again.", guest)
	case event.TaskHangs:
		return withError(fmt.Sprintf("A task of %s runs for longer than it may (%s)", guest, a["upid"]), a)
	case event.TaskEnded:
		return fmt.Sprintf("The task of %s that hung has ended (%s).", guest, a["upid"])
	case event.ClusterLost:
		return withError(fmt.Sprintf("The cluster cannot be worked with (%s)", a["reason"]), a)
	case event.ClusterReady:
		return "The cluster can be worked with."
	case event.SourceLost:
		return withError(fmt.Sprintf("The branch cannot be fetched (%s)", a["reason"]), a)
	case event.SourceAnswers:
		return "The branch can be fetched."
	case event.StateLost:
		return withError("The state directory was removed or replaced, so nothing is written to the cluster", a)
	case event.StateRestored:
		return "The state directory is back."
	case event.JournalFailed:
		return withError(fmt.Sprintf("The journal takes no records (%s), so nothing is written to the cluster until the agent is started again", a["reason"]), a)
	case event.ClockDiffers:
		return fmt.Sprintf("The clock of the node of %s is ahead of that of this host by %s seconds.", a["endpoint"], a["ahead_seconds"])
	case event.RootExpired:
		return "The trusted root has expired: no new signature can be verified. The revision in force stays."
	case event.GuardHeld:
		return fmt.Sprintf("Manifests weaken a guard, and approvals are missing: %s.", a["change"])
	case event.GuardWeakened:
		return fmt.Sprintf("A weaker guard came into force, as approved: %s.", a["change"])
	case event.WritesStopped:
		return fmt.Sprintf("Nothing is written to the cluster any more (%s): %s.", a["reason"], a["why"])
	case event.WritesAllowed:
		return "The cluster may be written to."
	case event.AgentPaused:
		return fmt.Sprintf("The agent is paused: %s.", cmp.Or(a["reason"], "no reason was given"))
	case event.AgentResumed:
		return "The pause of the agent has ended."
	case event.AgentSuperseded:
		return "Another agent claimed the cluster, so this one writes nothing any more."
	case event.OrderAccepted:
		return fmt.Sprintf("The order %q of %s was accepted.", a["order"], a["signer"])
	case event.OrderExecuted:
		return fmt.Sprintf("The order %q of %s was executed.", a["order"], a["signer"])
	case event.OrderRefused:
		return fmt.Sprintf("The order %q of %s is refused: %s.", a["order"], a["signer"], a["why"])
	case event.OrderExpired:
		return fmt.Sprintf("The order %q of %s has expired: %s.", a["order"], a["signer"], a["why"])
	case event.OrderFailed:
		return fmt.Sprintf("The order %q of %s failed, and is not executed again: %s.", a["order"], a["signer"], a["why"])
	case event.OrderUnknown:
		return fmt.Sprintf("The order %q of %s may have been executed, and is not executed again.", a["order"], a["signer"])
	case event.RolloutAdvanced:
		return fmt.Sprintf("Rollout %s: batch %s of %s is %s.", a["rollout"], a["batch"], a["batches"], a["state"])
	case event.RolloutFailed:
		return fmt.Sprintf("Batch %s of %s of the rollout %s failed, and the guests of later batches stay as they are: %s.", a["batch"], a["batches"], a["rollout"], a["why"])
	case event.RolloutHeld:
		return fmt.Sprintf("The rollout %s is held: %s.", a["rollout"], a["why"])
	case event.RolloutEnded:
		return fmt.Sprintf("The rollout %s is %s.", a["rollout"], a["state"])
	case event.ConfigRefused:
		return withError("The new config was refused, and the previous one stays in force", a)
	case event.PlanMade, event.StepSettled,
		event.GuestRetried, event.ClockAgrees, event.RootRenewed, event.GuardWithdrawn, event.AgentClaimed, event.ConfigReloaded, Test:
	}
	return e.plain()
}

// plain returns the name of an event and what its log line says, for events without a sentence of their own.
func (e Event) plain() string {
	var text strings.Builder
	text.WriteString("Event " + string(e.Name))
	for _, key := range []string{"guest", "vmid", "op", "operation", "order", "signer", "commit", "change", "endpoint", "outcome", "result", "changed", "why", "error"} {
		if value := e.Attributes[key]; value != "" {
			text.WriteString(", " + key + " " + value)
		}
	}
	return text.String() + "."
}

// guestText returns the guest of an event with its vmid.
func (e Event) guestText() string {
	vmid := e.Attributes["vmid"]
	switch {
	case e.Guest == "" && vmid == "":
		return "a guest"
	case e.Guest == "":
		return "guest " + vmid
	case vmid == "" || vmid == "0":
		return e.Guest
	}
	return e.Guest + " (" + vmid + ")"
}

func withError(text string, a map[string]string) string {
	if a["error"] != "" {
		text += ": " + a["error"]
	}
	return text + "."
}

func cause(c string) string {
	if c == "cluster" {
		return "a change on the cluster"
	}
	return "a new revision"
}

// revision returns "Revision" and the short id of a revision, "main@sha1:<40 hex>".
func revision(text string) string { return "Revision " + short(text) }

func short(id string) string {
	id = id[strings.LastIndex(id, ":")+1:]
	return id[:min(len(id), 12)]
}

// Title returns one line about a message.
func (m Message) Title() string {
	title := string(m.Events[0].Name)
	if subject := m.Events[0].Guest; subject != "" {
		title += " " + subject
	}
	if others := len(m.Events) + m.More - 1; others > 0 {
		title += fmt.Sprintf(" and %d more", others)
	}
	if m.parts > 1 {
		title += fmt.Sprintf(" (part %d of %d)", m.part, m.parts)
	}
	return "[" + m.Cluster + "] " + title
}

// Body returns the sentences of a message, one line for each event, and the link to the status page.
func (m Message) Body() string {
	var b strings.Builder
	for i, e := range m.Events {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(shortened(e, m.most))
	}
	if m.More > 0 {
		fmt.Fprintf(&b, "\nand %d more, which are in the log of the agent.", m.More)
	}
	if m.Link != "" {
		b.WriteString("\n" + m.Link)
	}
	return b.String()
}

// oneLine replaces line breaks and other control characters, which the text of a cluster or a commit may contain.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}
