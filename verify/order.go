package verify

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
)

// An OrderKind is the kind of action that an order requests.
type OrderKind string

// The kinds of orders.
const (
	OrderApprove OrderKind = "approve" // release held steps; the value is a step digest
	OrderRun     OrderKind = "run"     // run an operation; the value is "<operation> <kind>/<name> [key=value...]"
)

// An Order is a request in a trailer of a signed commit.
type Order struct {
	// Key identifies the order: SHA-256 of the signed payload in hex, a colon, the position. The key stays the same if the
	// same payload appears under another commit id.
	Key      string
	Kind     OrderKind
	Value    string // as written; the package that executes the order parses it
	Position int    // line in the trailer paragraph, from 0
	Allowed  bool   // the signer has the role that the kind needs
	Problem  string // why the commit cannot give an order of this kind; "" if it can
}

// OrderAlone is the remedy for orders whose commit cannot give them.
const OrderAlone = "gitops-agent order and gitops-agent approve make a commit that gives an order alone"

// orders returns the orders of a commit, or the reason why a commit whose message mentions an order gives none. Only a
// commit that does nothing else gives orders: it has one parent, leaves the tree unchanged, and its last paragraph has
// only Gitops trailers. So an order cannot hide in a merge message, in a quoted request or in a change of files.
//
// Target is what a one-shot operation must name. Without one, any target is accepted.
func orders(a admitted, sameTree bool, target string) ([]Order, string) {
	if a.mention == "" {
		return nil, ""
	}
	if problem := trailerCommitProblem(a, sameTree); problem != "" {
		return nil, problem
	}
	var found []Order
	for position, t := range a.trailers {
		kind, role, problem := OrderApprove, RoleApprove, ""
		switch t.key {
		case trailerApprove:
		case trailerRun:
			kind, role, problem = OrderRun, RoleOperate, runTargetProblem(a.trailers, target)
		default:
			continue
		}
		found = append(found, Order{
			Key: orderKey(a.digest, position), Kind: kind, Value: t.value, Position: position, Allowed: a.signer.may(role), Problem: problem,
		})
	}
	if len(found) == 0 {
		return nil, notInLastParagraph
	}
	return found, ""
}

// runTargetProblem returns why a commit may not request one-shot operations, or "". A signature alone does not say for which cluster an operation is
// meant, and two clusters may read one branch. So the commit names exactly one target, also where the binding asks for none.
func runTargetProblem(trailers []trailer, target string) string {
	switch targets := values(trailers, trailerTarget); {
	case len(targets) != 1:
		return fmt.Sprintf("a commit with %s names exactly one %s, and this one names %d", trailerRun, trailerTarget, len(targets))
	case target != "" && targets[0] != target:
		return fmt.Sprintf("it is meant for the target %s, and this agent's is %s", targets[0], target)
	}
	return ""
}

const notInLastParagraph = "orders and seals must be in the last paragraph of the message, which may have only trailers"

// trailerCommitProblem returns why a commit may give no orders and seals nothing, or "". Such a commit must only carry
// trailers: one parent, no change of files, and a last paragraph with only Gitops trailers, none of them twice.
func trailerCommitProblem(a admitted, sameTree bool) string {
	unknown, isUnknown := unknownTrailer(a.trailers)
	switch {
	case isUnknown:
		return fmt.Sprintf("trailer %s is unknown, want one of %s, in this spelling", unknown.key, strings.Join(trailerKeys(), ", "))
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
			return fmt.Sprintf("trailer %s is in the paragraph of the orders or seals, which may have only Gitops trailers", t.key)
		case slices.Contains(a.trailers[:i], t):
			return fmt.Sprintf("trailer %s occurs twice with the same value", t.key)
		}
	}
	return ""
}

func orderKey(payload [sha256.Size]byte, position int) string {
	return fmt.Sprintf("%x:%d", payload, position)
}

// maxMention is how much of a line that mentions an order is kept, in bytes. Proper orders are shorter.
const maxMention = 200

// mentionedOrder returns the first line of a message that has the text of an order trailer anywhere, from the trailer on, or its first unknown trailer, "" if it has neither. An
// order that does not count can then be reported.
func mentionedOrder(message []byte, trailers []trailer) string {
	first := -1
	for _, key := range []string{trailerApprove, trailerRun} {
		if at := bytes.Index(message, []byte(key+":")); at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	if first < 0 {
		if unknown, is := unknownTrailer(trailers); is {
			message, first = []byte(unknown.String()), 0
		} else {
			return ""
		}
	}
	line, _, _ := bytes.Cut(message[first:], []byte("\n"))
	return strings.TrimSpace(strings.ToValidUTF8(string(line[:min(len(line), maxMention)]), ""))
}
