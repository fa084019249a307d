package reason

import (
	"cmp"
	"slices"

	"gitops-agent/reconcile/event"
)

// Act is what a user does about a reason. It is public: programs may compare it.
type Act string

// The acts.
const (
	Wait         Act = "wait"          // it ends by itself, or when work that has begun ends
	EditManifest Act = "edit-manifest" // the next commit ends it
	Approve      Act = "approve"       // a signed approval ends it
	FixCluster   Act = "fix-cluster"   // something in Proxmox, or in the service that is read, ends it
	FixHost      Act = "fix-host"      // the config or a file on the host of the agent ends it
)

// Acts lists every act.
func Acts() []Act { return []Act{Wait, EditManifest, Approve, FixCluster, FixHost} }

// Severity is how urgent a reason is for a person. It decides the colour and the order on pages, and which reasons are sent as messages.
type Severity string

// The severities, most urgent first.
const (
	SeverityError    Severity = "error"
	SeverityWarning  Severity = "warning"
	SeverityProgress Severity = "progress" // work that goes on
	SeverityInfo     Severity = "info"
)

// Severities lists every severity, most urgent first.
func Severities() []Severity {
	return []Severity{SeverityError, SeverityWarning, SeverityProgress, SeverityInfo}
}

// Type names a fact about an object that a person should know. Every condition has one.
type Type string

// The types of conditions.
const (
	TypeDrifted          Type = "Drifted" // what the manifest wants was in effect, and the cluster has changed since
	TypePending          Type = "Pending" // the manifest wants what was not done yet
	TypePendingRestart   Type = "PendingRestart"
	TypeHeld             Type = "Held"
	TypeBlocked          Type = "Blocked"
	TypeFailed           Type = "Failed"
	TypeIdentityConflict Type = "IdentityConflict"
	TypeSuspended        Type = "Suspended"
	TypeUnknown          Type = "Unknown"
	TypeWaitsFor         Type = "WaitsFor"
	TypeOrphaned         Type = "Orphaned"
	TypeLeftover         Type = "Leftover" // volumes belong to the guest that no slot uses
	TypeWarned           Type = "Warned"   // not a failure: tasks of the last work on the guest had warnings, or a clone has the marker of the guest
)

// TypeRow is what every outlet says about a type of conditions.
type TypeRow struct {
	Type     Type
	Label    string   // for pages
	Severity Severity // of the notice, and the least one of its conditions
	Notice   Notice   // of the guests that have such a condition; zero if pages do not count them
	Runbook  string   // heading of docs/operations.md for the reasons of the type that have none of their own
}

// Types returns one row for each type. Pages show notices in this order.
func Types() []TypeRow { return slices.Clone(types) }

// Row returns the row of the type. An unknown type, of another release, has its name as label.
func (t Type) Row() TypeRow {
	if i := slices.IndexFunc(types, func(r TypeRow) bool { return r.Type == t }); i >= 0 {
		return types[i]
	}
	return TypeRow{Type: t, Label: string(t), Severity: SeverityWarning}
}

var types = []TypeRow{
	{TypeFailed, "Failed", SeverityError, Notice{"1 guest could not be brought in sync", "%d guests could not be brought in sync"}, "GitopsAgentGuestFailed"},
	{TypeIdentityConflict, "Identity conflict", SeverityError, Notice{"1 guest is not the guest that its manifest means", "%d guests are not the guests that their manifests mean"}, "GitopsAgentGuestFailed"},
	{TypeBlocked, "Blocked", SeverityWarning, Notice{"1 guest is blocked", "%d guests are blocked"}, "GitopsAgentGuestFailed"},
	{TypeUnknown, "Unknown", SeverityWarning, Notice{"The state of 1 guest is unknown", "The state of %d guests is unknown"}, "GitopsAgentObservationStale"},
	{TypePending, "Pending", SeverityInfo, Notice{}, "GitopsAgentGuestFailed"},
	{TypePendingRestart, "Pending restart", SeverityInfo, Notice{"1 guest needs a restart", "%d guests need a restart"}, "GitopsAgentRestartPending"},
	{TypeDrifted, "Drifted", SeverityWarning, Notice{}, "GitopsAgentGuestDrifted"},
	{TypeHeld, "Held", SeverityWarning, Notice{}, ""},
	{TypeSuspended, "Suspended", SeverityInfo, Notice{}, "GitopsAgentSuspendedTooLong"},
	{TypeWaitsFor, "Waits for others", SeverityInfo, Notice{}, ""},
	{TypeOrphaned, "Orphaned", SeverityWarning, Notice{}, ""},
	{TypeLeftover, "Unused volumes", SeverityInfo, Notice{}, ""},
	{TypeWarned, "Warnings", SeverityWarning, Notice{}, ""},
}

// Notice is the title of a message about guests, for one and for several of them.
type Notice struct{ One, Many string }

// Row is what every outlet says about the reason of a condition or of a held step.
type Row struct {
	Name     Name
	Types    []Type // of the conditions that have the reason without a held step; empty if only steps are held for it
	Held     Type   // of the condition of a step that is held for it, "" if none is
	Act      Act
	Severity Severity
	Sentence string       // what is the case, without a full stop
	Remedies []Remedy     // what ends it; the message of a condition says which applies if there are several
	Events   []event.Name // the log lines that tell it; none if only the report does
	Runbook  string       // heading of docs/operations.md, "" for the heading of the type
	Notice   Notice       // of the guests with a step that is held for it; zero if pages count them by their conditions only
	Docs     string       // what docs/plan.md adds to the sentence
}

// Rows returns the table, sorted by name.
func Rows() []Row { return slices.Clone(rows) }

// Row returns the row of the name. The name of an operation, which a condition of a failed step has, and a name of another release have an empty row.
func (n Name) Row() Row {
	if i := slices.IndexFunc(rows, func(r Row) bool { return r.Name == n }); i >= 0 {
		return rows[i]
	}
	return Row{Name: n}
}

// SeverityOf returns the severity of a condition: the more urgent one of its type and of its reason.
func SeverityOf(t Type, n Name) Severity {
	of, row := t.Row().Severity, n.Row().Severity
	if row != "" && slices.Index(Severities(), row) < slices.Index(Severities(), of) {
		return row
	}
	return of
}

// Act returns what a person does about the reason. The name of an operation, which a condition of a failed step has, has the act of Error.
func (n Name) Act() Act { return cmp.Or(n.Row().Act, Error.Row().Act) }

// Conditions lists the reasons of conditions, sorted. Those that only held steps have are not among them.
func Conditions() []Name { return named(func(r Row) bool { return len(r.Types) > 0 }) }

// Holds lists the reasons to hold a step, sorted.
func Holds() []Name { return named(func(r Row) bool { return r.Held != "" }) }

func named(is func(Row) bool) []Name {
	var names []Name
	for _, r := range rows {
		if is(r) {
			names = append(names, r.Name)
		}
	}
	return names
}

// HoldNotices lists the notices about held steps, in the order of pages.
func HoldNotices() []Notice {
	return []Notice{approvalNotice, guardNotice, guardedNotice, forbiddenNotice, firstStartNotice, usedNotice, scopeNotice, policyNotice}
}
