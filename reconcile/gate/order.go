package gate

import (
	"fmt"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
)

// ApprovePrefix begins the text of an approval in the journal: the name of its trailer.
const ApprovePrefix = "Gitops-Approve: "

// ApprovalTrailers returns the trailers of a commit that approves steps. The target is the value of Gitops-Target, "" if the commit needs none.
func ApprovalTrailers(digests []string, target string) []string {
	trailers := make([]string, 0, len(digests)+1)
	for _, d := range digests {
		trailers = append(trailers, ApprovePrefix+d)
	}
	if target != "" {
		trailers = append(trailers, "Gitops-Target: "+target)
	}
	return trailers
}

// ApprovedDigest returns the step digest that an order approves.
func ApprovedDigest(order string) (string, bool) {
	return strings.CutPrefix(order, ApprovePrefix)
}

// DigestLength is how many hexadecimal digits the digest of a step has.
const DigestLength = 32

// IsDigest reports whether a text is a digest as the report shows it, in small letters.
func IsDigest(text string) bool {
	return len(text) == DigestLength && strings.Trim(text, "0123456789abcdef") == ""
}

// MalformedApproval returns why the value of an approval can match no step, "" if it may match one.
func MalformedApproval(value string) string {
	if IsDigest(value) {
		return ""
	}
	words := strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == ',' || r == ';' })
	for _, word := range words {
		if !IsDigest(word) {
			return fmt.Sprintf("%q is no digest of a step, want all of its %d hexadecimal digits, in small letters", word, DigestLength)
		}
	}
	return fmt.Sprintf("it has %d digests, want one in each trailer", len(words))
}

// OperationOf returns the operation of an order as metrics name it: "approve" or "run".
func OperationOf(text string) string {
	if _, ok := ApprovedDigest(text); ok {
		return "approve"
	}
	return "run"
}

// judgeRun decides on the step of a one-shot operation. The order itself is the permission to interrupt its guest. What loses data, and what the protection of the guest
// stands against, needs an approval too.
func (g Gate) judgeRun(step plan.Step) Verdict {
	isLoss := step.Class == guest.Destructive
	if !isLoss && !step.Protected && len(step.Loses) == 0 || step.Order.Scheduled != nil { // the manifest says how many snapshots are kept, and the plan deletes only the agent's own
		return Verdict{}
	}
	why := "order " + step.Order.String() + " of " + step.Order.Subject
	if isLoss {
		why += " " + lossOf(step)
	}
	why += weakenedBy(step)
	if step.Doubt != "" {
		why += "; " + step.Doubt
	}
	return g.judgeApproval(step, why)
}

// weakenedBy names the guards that an order weakens, "" if there is none.
func weakenedBy(step plan.Step) string {
	if len(step.Loses) == 0 {
		return ""
	}
	return "; it weakens guards of guests: " + lossesOf(step)
}

// lossOf says what an order loses.
func lossOf(step plan.Step) string {
	switch step.Op { //nolint:exhaustive // of orders
	case cluster.OpShutdown:
		return "ends the guest without a shutdown if it does not shut down in time"
	case cluster.OpStop, cluster.OpReset:
		return "ends the running guest without a shutdown"
	case cluster.OpDeleteSnapshot:
		return "deletes the snapshot " + step.Snapshot
	case cluster.OpRollback:
		return "ends the guest, and loses what it has written since the snapshot " + step.Snapshot + restored(step.Restores)
	}
	return "loses data"
}

// restored says what a rollback changes in the configuration of its guest.
func restored(changes []string) string {
	if len(changes) == 0 {
		return ""
	}
	return "; in the configuration it changes " + strings.Join(changes, ", ")
}
