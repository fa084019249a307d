// Package event has the one table of what happens in the life of revisions, steps, orders and guests, and the sink through which all of it is told.
//
// A [Row] of the table names an event, the fields of its line, how serious it is, its sentence for people, and, for a state that lasts, which events end it
// and how long it lasts before it is told. The engine, the intake and the lanes say what happens, or which states last, to a [Sink]. The sink notices what is
// new, writes the log line, which has the name in the attribute "event", and tells every subscriber: metrics, traces, notifications and the journal. What is
// kept only to notice a change is kept here, in a [Subject] or in [Marks]. docs/events.md lists the fields of each event.
//
// The package imports nothing of this module.
package event
