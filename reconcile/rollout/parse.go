package rollout

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// Order is what a signed order asks of a rollout.
type Order struct {
	Op       string // OpPromote or OpAbort
	Name     string
	Revision string // full hex id of a commit
}

// Operations lists the operations of orders about rollouts.
func Operations() []string { return []string{OpPromote, OpAbort} }

// labelPrefix begins the label of a rollout, as orders and messages write it.
const labelPrefix = "Rollout/"

const revisionPrefix = "revision="

var fullID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`) })

// IsOrder reports whether the value of a trailer is about a rollout, valid or not.
func IsOrder(value string) bool {
	op, rest, _ := strings.Cut(value, " ")
	return op == OpPromote || op == OpAbort || strings.HasPrefix(rest, labelPrefix)
}

// ParseOrder reads the value of a trailer: "promote Rollout/<name> revision=<commit id>". An error names what is allowed.
func ParseOrder(value string) (Order, error) {
	words := strings.Split(value, " ")
	name, isRollout := "", false
	if len(words) > 1 {
		name, isRollout = strings.CutPrefix(words[1], labelPrefix)
	}
	switch {
	case words[0] != OpPromote && words[0] != OpAbort:
		return Order{}, fmt.Errorf("operation %q of a rollout is unknown, want %s or %s", words[0], OpPromote, OpAbort)
	case !isRollout || name == "":
		return Order{}, fmt.Errorf("%s names no rollout, want %s<name> after the operation", words[0], labelPrefix)
	case len(words) != 3 || !strings.HasPrefix(words[2], revisionPrefix):
		return Order{}, fmt.Errorf("%s of %s needs %s<commit id> and nothing else: the revision that the status shows", words[0], words[1], revisionPrefix)
	}
	id := strings.TrimPrefix(words[2], revisionPrefix)
	if !fullID().MatchString(id) {
		return Order{}, fmt.Errorf("%s%q, want the full id of a commit, 40 hexadecimal digits", revisionPrefix, id)
	}
	return Order{words[0], name, id}, nil
}

// String returns the order as a trailer has it.
func (o Order) String() string {
	return o.Op + " " + labelPrefix + o.Name + " " + revisionPrefix + o.Revision
}
