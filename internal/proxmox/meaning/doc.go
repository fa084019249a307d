// Package meaning interprets what Proxmox VE says in texts: failed replies, the ends of tasks, and the names of tasks. Other packages get the
// errors of package cluster, typed task outcomes and typed facts.
//
// Proxmox has no codes for most failures: nearly every failure has the status 500 and a text. The texts are in error_pattern.go, each with the error
// that it means. Of wraps the error of an exchange. For a write it states whether the call may have acted, for a read whether the error concerns more
// than the call. UPID.Ended does the same for the exit status of a task.
//
// Source: recorded from PVE 9.2, and the Perl modules that each list of texts names.
package meaning
