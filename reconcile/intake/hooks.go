package intake

import "gitops-agent/reconcile/report"

// Hooks are called for each poll. Each field may be nil. The functions must return quickly and be safe for concurrent use.
type Hooks struct {
	OnPoll   func(report.PollOutcome)
	OnVerify func(report.VerifyOutcome)
}

func (h Hooks) poll(o report.PollOutcome) {
	if h.OnPoll != nil {
		h.OnPoll(o)
	}
}

func (h Hooks) verify(o report.VerifyOutcome) {
	if h.OnVerify != nil {
		h.OnVerify(o)
	}
}
