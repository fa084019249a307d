package verify

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
)

// An OrderKind is what an order asks for.
type OrderKind string

// The kinds of orders.
const (
	OrderApprove OrderKind = "approve" // release held steps; the value is a step digest
	OrderRun     OrderKind = "run"     // run an operation; the value is "<operation> <kind>/<name> [key=value...]"
)

// An Order is a request that a signed commit makes beside its tree, by a trailer.
type Order struct {
	// Key identifies the order: SHA-256 of the signed payload in hex, a colon, the position. It stays the same when the
	// same payload appears under another commit id.
	Key      string
	Kind     OrderKind
	Value    string // as written; who executes the order parses it
	Position int    // line in the trailer paragraph, from 0
	Allowed  bool   // the signer has the role that the kind needs
}

// orders returns the orders of a commit, or why a commit that seems to give orders gives none. Only a commit that does
// nothing else gives orders: one parent, the tree as it was, and a last paragraph of Gitops trailers alone. So neither a
// merge text nor a quoted request nor a change can smuggle one in.
func orders(a admitted, sameTree bool) ([]Order, string) {
	if !a.seemsOrder {
		return nil, ""
	}
	if problem := quietProblem(a, sameTree); problem != "" {
		return nil, problem
	}
	var found []Order
	for position, t := range a.trailers {
		kind, role := OrderApprove, RoleApprove
		switch t.key {
		case trailerApprove:
		case trailerRun:
			kind, role = OrderRun, RoleOperate
		default:
			continue
		}
		found = append(found, Order{
			Key: orderKey(a.digest, position), Kind: kind, Value: t.value, Position: position, Allowed: a.signer.may(role),
		})
	}
	if len(found) == 0 {
		return nil, notInLastParagraph
	}
	return found, ""
}

const notInLastParagraph = "orders and seals stand in the last paragraph of the message, which holds nothing but trailers"

// quietProblem says what else a commit does, or may seem to do, than speak by its trailers.
func quietProblem(a admitted, sameTree bool) string {
	switch {
	case len(a.parents) != 1:
		return fmt.Sprintf("a commit with %d parents gives no orders and seals nothing", len(a.parents))
	case !sameTree:
		return "a commit that changes files gives no orders and seals nothing"
	case len(a.trailers) == 0:
		return notInLastParagraph
	}
	for i, t := range a.trailers {
		switch {
		case !slices.Contains([]string{trailerTarget, trailerApprove, trailerRun, trailerSeal}, t.key):
			return fmt.Sprintf("trailer %s stands among orders or seals, which have a paragraph to themselves", t.key)
		case slices.Contains(a.trailers[:i], t):
			return fmt.Sprintf("trailer %s stands twice with the same value", t.key)
		}
	}
	return ""
}

func orderKey(payload [sha256.Size]byte, position int) string {
	return fmt.Sprintf("%x:%d", payload, position)
}

// seemsOrder says whether a message contains what looks like an order anywhere, so that one which counts for nothing can
// be reported rather than passed over.
func seemsOrder(message []byte) bool {
	return bytes.Contains(message, []byte(trailerApprove+":")) || bytes.Contains(message, []byte(trailerRun+":"))
}
