//go:build man

package main

import (
	"log"
	"os"

	"github.com/spf13/cobra/doc"
)

// main writes the manual pages of all commands into a folder. The build of the packages runs it: go run -tags man ./cmd/gitops-agent FOLDER.
func main() {
	root := newRootCommand(&program{out: os.Stdout, err: os.Stderr})
	root.DisableAutoGenTag = true
	if err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "gitops-agent", Manual: "gitops-agent"}, os.Args[1]); err != nil {
		log.Fatal(err)
	}
}
