// Package docs gives the program the parts of the manual that it prints, so that the manual is their only owner. It is a leaf.
//
// The only function is RoleCommands.
package docs

import (
	_ "embed"
	"strings"
)

//go:embed quickstart.md
var quickstart string

// RoleCommands returns the pveum commands that make the agent's role, user and token: the first block of commands of docs/quickstart.md.
func RoleCommands() string {
	_, section, _ := strings.Cut(quickstart, "\n## 1. A token for the agent\n")
	_, block, _ := strings.Cut(section, "```sh\n")
	commands, _, _ := strings.Cut(block, "```")
	return commands
}
