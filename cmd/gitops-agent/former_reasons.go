package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"gitops-agent/reconcile/reason"
)

// maxRules is the size from which a file is no file of rules.
const maxRules = 16 << 20

var (
	reasonMetric = regexp.MustCompile(`gitops_agent_(conditions|steps_held\w*)\s*\{([^}]*)\}`)
	reasonLabel  = regexp.MustCompile(`\breason\s*(?:=~|!~|!=|=)\s*\\?["'` + "`" + `]([^"'` + "`" + `\\]*)`)
)

// formerReasons returns a line for each former name of a reason that a selector of gitops_agent_conditions or gitops_agent_steps_held in the files at or below a
// path matches: rules of Prometheus, dashboards, and programs that have such selectors.
func formerReasons(path string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err != nil || info.Size() > maxRules {
			return err
		}
		text, err := os.ReadFile(file) //nolint:gosec // below a path that the caller names
		if err != nil {
			return err
		}
		for number, line := range strings.Split(string(text), "\n") {
			for _, selector := range reasonMetric.FindAllStringSubmatch(line, -1) {
				for _, label := range reasonLabel.FindAllStringSubmatch(selector[2], -1) {
					for name := range strings.SplitSeq(label[1], "|") {
						if now, isFormer := reason.Successor(strings.Trim(name, "()^$ ")); isFormer {
							found = append(found, fmt.Sprintf("%s:%d: gitops_agent_%s has no reason %s any more: write %s", file, number+1, selector[1], name, now))
						}
					}
				}
			}
		}
		return nil
	})
	return found, err
}
