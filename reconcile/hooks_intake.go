package reconcile

import "gitops-agent/reconcile/journal"

// IntakeHooks are called for each poll. Each field may be nil. The functions must return quickly and be safe for concurrent use.
type IntakeHooks struct {
	OnPoll   func(PollOutcome)
	OnVerify func(VerifyOutcome)
	OnOrder  func(operation string, state journal.OrderState)
}

func (h IntakeHooks) poll(o PollOutcome) {
	if h.OnPoll != nil {
		h.OnPoll(o)
	}
}

func (h IntakeHooks) verify(o VerifyOutcome) {
	if h.OnVerify != nil {
		h.OnVerify(o)
	}
}

func (h IntakeHooks) order(operation string, state journal.OrderState) {
	if h.OnOrder != nil {
		h.OnOrder(operation, state)
	}
}
