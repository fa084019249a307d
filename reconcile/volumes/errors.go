package volumes

import (
	"errors"
	"fmt"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/reason"
)

// InUseError refuses a call because another guest uses a volume on which the call would act.
type InUseError struct {
	Guest  guest.Ref // of the call
	Volume string
	Effect cluster.VolumeEffect
	By     []Use // of other guests, at least one
}

// Error names the volume and every use of it.
func (e *InUseError) Error() string {
	return fmt.Sprintf("the call would %s %s, which is in use: %s", e.Effect, e.Volume, e.Users())
}

// Users names every use of the volume.
func (e *InUseError) Users() string {
	words := make([]string, len(e.By))
	for i, use := range e.By {
		words[i] = use.String()
	}
	return strings.Join(words, "; ")
}

// Hint says what ends the refusal.
func (e *InUseError) Hint() string {
	if e.Effect == cluster.Attaches || e.Effect == cluster.Imports {
		return reason.ReleaseVolume.Text
	}
	return reason.ReassignVolume.Text
}

// Cause says why the users of a volume are not known.
type Cause string

// The causes of an UnknownError.
const (
	NoAudit      Cause = "no-audit"       // the token may not see every guest
	NodeOffline  Cause = "node-offline"   // a node that can access the volume is offline
	GuestUnread  Cause = "guest-unread"   // a guest that may use the volume could not be read
	GuestHidden  Cause = "guest-hidden"   // a guest that may use the volume is missing in the list of guests
	Unreadable   Cause = "unreadable"     // a list of the cluster or of a storage could not be read
	NoSuchVolume Cause = "no-such-volume" // the storage does not list the volume
	BeingDeleted Cause = "being-deleted"  // a call of this agent may still delete the file
)

// UnknownError refuses a call because the users of its volumes are not known.
type UnknownError struct {
	Cause Cause
	What  string // "node pve2", "guest 1000 on pve1"
	Fix   string // what ends the refusal
	Err   error  // why it could not be read; nil if it was read
}

// Error names what was not read, and why.
func (e *UnknownError) Error() string {
	text := fmt.Sprintf("it is unknown who uses the volumes (%s): %s", e.Cause, e.What)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *UnknownError) Unwrap() error { return e.Err }

// Hint says what ends the refusal.
func (e *UnknownError) Hint() string { return e.Fix }

// Refusal returns the refusal in an error of a call, and whether there is one.
func Refusal(err error) (refusal interface {
	error
	Hint() string
}, inUse, refused bool,
) {
	var used *InUseError
	var unknown *UnknownError
	switch {
	case errors.As(err, &used):
		return used, true, true
	case errors.As(err, &unknown):
		return unknown, false, true
	}
	return nil, false, false
}

func unreadable(what string, err error) error {
	return &UnknownError{Cause: Unreadable, What: what + " could not be read", Fix: "make it readable for the agent's token; the agent tries again by itself", Err: err}
}
