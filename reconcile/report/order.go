package report

import (
	"time"

	"gitops-agent/reconcile/journal"
)

// Order is a one-shot operation that a signed commit orders, and what became of it. An approval that has no effect is an Order too.
type Order struct {
	Order   string             `json:"order"`            // the value of its trailer: "reboot VirtualMachine/db-1 timeout=90s"; of an approval the trailer
	Guest   string             `json:"guest,omitempty"`  // label
	VMID    int                `json:"vmid,omitempty"`   // 0 if it was refused before a guest was found
	Signer  string             `json:"signer,omitempty"` // subject of the certificate
	Commit  string             `json:"commit"`
	Proven  time.Time          `json:"proven"`
	State   journal.OrderState `json:"state"`
	Changed time.Time          `json:"changed"`       // when it got this state
	Why     string             `json:"why,omitempty"` // it waits, was refused, failed, or its outcome is not known in full
	Hint    string             `json:"hint,omitempty"`
	Digest  string             `json:"digest,omitempty"` // for gitops-agent approve, while it is held for an approval
	Step    string             `json:"step,omitempty"`
	UPID    string             `json:"upid,omitempty"`
	Log     string             `json:"log,omitempty"`    // the last lines of the task
	Volume  string             `json:"volume,omitempty"` // of the backup that it made

	Unmatched bool `json:"unmatched,omitempty"` // an approval that no step needs now
}

// HasNoEffect reports whether the order was refused, or approves nothing.
func (o Order) HasNoEffect() bool { return o.State == journal.OrderRefused || o.Unmatched }

// Word returns the state of the order as people read it.
func (o Order) Word() string {
	switch o.State {
	case journal.OrderSeen:
		if o.Digest != "" {
			return "held"
		}
		if o.Unmatched {
			return "unmatched"
		}
		return "waiting"
	case journal.OrderReleased:
		return "running"
	case journal.OrderRun:
		return "executed"
	case journal.OrderFailed, journal.OrderRefused, journal.OrderExpired, journal.OrderUnknown:
	}
	return string(o.State)
}

// OrdersOf returns the orders of a guest, as the report lists them. An order means a vmid, whatever the name of its guest is now.
func (r Report) OrdersOf(g GuestName) []Order {
	var list []Order
	for _, o := range r.Orders {
		if o.VMID != 0 && o.VMID == g.VMID || o.VMID == 0 && o.Guest == g.Label() {
			list = append(list, o)
		}
	}
	return list
}
