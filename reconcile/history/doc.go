// Package history remembers the newest steps, events and revisions of a journal, for people who want to know what the agent did with a guest and which signed
// commit asked for it. An Index is fed with every record in order; its memory is bounded, however long the journal is.
package history
