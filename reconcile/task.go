package reconcile

import "strings"

// hasWarnings reports whether a task's exit status is the success "WARNINGS: n".
func hasWarnings(exit string) bool {
	count, ok := strings.CutPrefix(exit, "WARNINGS: ")
	return ok && count != "" && strings.Trim(count, "0123456789") == ""
}
