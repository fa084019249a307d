// Package hooks holds the git hook that gitops-agent init --repository installs. The other hooks are for people to copy.
package hooks

import _ "embed" // of the hook

// PrepareCommitMsg is the hook that adds the trailer Gitops-Target to the messages of commits.
//
//go:embed prepare-commit-msg
var PrepareCommitMsg []byte
