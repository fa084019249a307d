// Package schedule reads texts about times in a week, a day or a month, and answers when they are. It is pure: a caller passes the time.
//
// A Window is when something may happen: restarts of a guest. A Calendar is when something happens again and again: snapshots by the agent. Both have a
// time zone, so that a manifest means the same on every machine, and both are local times, also on days when daylight saving time begins or ends.
// IsEvent is about the texts that Proxmox itself reads.
//
// The patterns are the regular expressions of the texts, for the JSON schema of manifests. ParseWindow and ParseCalendar accept less than they do: they
// also check days, hours and the time zone.
package schedule
