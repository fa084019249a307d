// Package notify tells people and programs about events of the agent.
//
// An event is a log line with the attribute "event", as docs/events.md lists them. Handler returns a slog.Handler that passes every line on, and hands
// events to a Notifier without waiting. The stages, each with a bound:
//
//	log line ──> Notifier.hand (256 events) ──> dispatch: routes, groups, quiet hours, repeats ──> queue of a receiver (64 messages) ──> send, with retries
//
// The dispatcher compares what is true of a problem with what each receiver took. At most one message about a problem is on its way to a receiver. When it is done
// with, the difference is sent, so an end neither overtakes its begin nor follows one that was not taken.
//
// What does not fit is dropped and counted, so neither the engine nor a receiver waits for another receiver.
//
// The files, from the first that runs to the last:
//
//   - event.go: Event, and the handler that recognizes events; problem.go: which events begin and end a problem
//   - notifier.go: Notifier, the goroutine that dispatches; tell.go: what a receiver has to be told of a problem; telling.go: what it was told; memory.go: the file of both
//   - route.go: Route, its selection and quiet hours; group.go: what waits to be sent
//   - text.go: the sentences; delivery.go: the queue of a receiver and its retries
//   - limits.go: what each service takes, and how a long group is split
//   - receiver.go: Receiver; cloudevent.go, ntfy.go, email.go, shoutrrr.go, telegram.go: the kinds; redact.go: errors without secrets
//
// Secrets are read from files immediately before each message. No error of this package contains a URL.
package notify
