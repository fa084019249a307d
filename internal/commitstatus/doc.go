// Package commitstatus shows at the forge what became of a commit: GitHub, GitLab, Gitea and Forgejo mark it in their lists of commits.
//
// A Reporter gets every report of the engine without waiting, and one goroutine sends what differs from what it sent last. Only the newest state matters:
// while the forge does not answer, older states are forgotten.
//
//   - state.go: from a report to the states of commits; pure
//   - forge.go: Forge, and its requests
//   - reporter.go: Reporter, which sends and retries
package commitstatus
