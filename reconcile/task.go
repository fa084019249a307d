package reconcile

import "strings"

// hasWarnings reports whether a task's exit status is the success "WARNINGS: n".
func hasWarnings(exit string) bool {
	count, ok := strings.CutPrefix(exit, "WARNINGS: ")
	return ok && count != "" && strings.Trim(count, "0123456789") == ""
}

// lost reports whether a task ended without anybody knowing how: its process was killed, or its node restarted. Only the guest can
// tell then what it did before.
func (t Task) lost() bool {
	return !t.Running && (t.Exit == "unexpected status" || strings.HasPrefix(t.Exit, "unable to get last line from task log"))
}
