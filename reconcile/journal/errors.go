package journal

import "errors"

// ErrAppend is wrapped by every error of Journal.Append. A caller that sees it must assume that its records are not durable.
var ErrAppend = errors.New("append to journal")

// ErrRefused means that a record contradicts the journal or lacks a required field, or that the call is too large. Nothing of the call
// was written, and the journal stays healthy.
var ErrRefused = errors.New("record refused")

// ErrClosed means that the journal was closed before it took the records. None of them was written.
var ErrClosed = errors.New("journal is closed")

// ErrNewerFormat means that a newer release wrote this journal. Nothing was changed.
var ErrNewerFormat = errors.New("journal was written by a newer gitops-agent: run that release, or restore the state directory kept from before the upgrade")

// ErrStandby means that another agent writes this journal, and this one only follows it. Nothing was written.
var ErrStandby = errors.New("another agent writes the journal")

// ErrNotLeader means that this agent is no longer the one that may write to the service of the journal.
var ErrNotLeader = errors.New("this agent does not lead any more")

// ErrStoreFull means that the service of the journal has no space left. It can be read, and takes neither records nor a leader.
var ErrStoreFull = errors.New("the service of the journal has no space left")

// ErrStoreDenied means that the service of the journal refuses the user of this agent.
var ErrStoreDenied = errors.New("the service of the journal refuses the user of this agent")

// ErrUnreachable means that the service of the journal did not answer in time.
var ErrUnreachable = errors.New("the service of the journal does not answer")
