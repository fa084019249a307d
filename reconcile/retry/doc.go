// Package retry lets a person on the agent's host ask that guests and other objects are tried again at once, by a file in the agent's state directory.
//
// `gitops-agent retry` makes the file. The agent reads it within a second, or at its next start, forgets why they wait, and removes the file. The
// Outcome in its report states for each of them what was cleared, and what still prevents a step: holds, hanging tasks and open steps stay.
package retry
