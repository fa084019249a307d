// Package event names the events in the life of revisions, steps, orders and guests. A log line of an event has its name in the attribute "event", and is
// written once for each transition. docs/events.md lists the attributes of each. The package imports nothing of this module.
package event
