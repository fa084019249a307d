package gate

import "strings"

// The text of an order in the journal begins with the name of its trailer.
const (
	ApprovePrefix = "Gitops-Approve: "
	RunPrefix     = "Gitops-Run: "
)

// ApprovedDigest returns the step digest that an order approves.
func ApprovedDigest(order string) (string, bool) {
	return strings.CutPrefix(order, ApprovePrefix)
}

// OperationOf returns the operation of an order as metrics name it: "approve" or "run".
func OperationOf(order string) string {
	if _, ok := ApprovedDigest(order); ok {
		return "approve"
	}
	return "run"
}
