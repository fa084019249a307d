package preflight

import (
	"encoding/json"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
)

// Cause is the key of a guest, and the manifest line, that needs something.
type Cause struct {
	Guest  guest.Ref
	Key    string // a native key, or a word such as source; empty for the agent itself
	Origin guest.Origin
}

// String returns "VirtualMachine/web-1 memory repo/web.yaml:7:18".
func (c Cause) String() string {
	if c.Guest == (guest.Ref{}) {
		return "the agent itself"
	}
	return strings.Join(slices.DeleteFunc([]string{c.Guest.Label(), c.Key, c.Origin.String()}, func(part string) bool { return part == "" }), " ")
}

// MarshalJSON writes the guest as its label. It writes no field for the agent itself.
func (c Cause) MarshalJSON() ([]byte, error) {
	var view struct {
		Guest  string `json:"guest,omitempty"`
		Key    string `json:"key,omitempty"`
		Origin string `json:"origin,omitempty"`
	}
	if c.Guest != (guest.Ref{}) {
		view.Guest, view.Key, view.Origin = c.Guest.Label(), c.Key, c.Origin.String()
	}
	return json.Marshal(view)
}
