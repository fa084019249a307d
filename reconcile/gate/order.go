package gate

import (
	"strings"
)

// The texts of orders in the journal begin as they stood in the trailer.
const (
	ApprovePrefix = "Gitops-Approve: "
	RunPrefix     = "Gitops-Run: "
)

// approvedDigest returns the step digest that an order approves.
func approvedDigest(order string) (string, bool) {
	return strings.CutPrefix(order, ApprovePrefix)
}

// OperationOf returns an order's operation, as metrics name it.
func OperationOf(order string) string {
	if _, ok := approvedDigest(order); ok {
		return "approve"
	}
	return "run"
}
