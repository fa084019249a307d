package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"gopkg.in/yaml.v3"
)

// ciLinesCommand writes the shell lines of a CI example to a file: those of a step of a GitHub workflow, by its name, or of a GitLab job.
func ciLinesCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: cilines FILE STEP-OR-JOB TO")
	}
	text, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	lines, err := ciLines(text, args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(lines), 0o600))
}

func ciLines(text []byte, name string) (string, error) {
	var github struct {
		Jobs map[string]struct {
			Steps []struct{ Name, Run string }
		}
	}
	if err := yaml.Unmarshal(text, &github); err != nil {
		return "", err
	}
	for _, job := range github.Jobs {
		for _, step := range job.Steps {
			if step.Name == name {
				return step.Run, nil
			}
		}
	}
	var gitlab map[string]struct{ Script []string }
	if err := yaml.Unmarshal(text, &gitlab); err != nil {
		return "", err
	}
	if job, found := gitlab[name]; found {
		return strings.Join(job.Script, "\n") + "\n", nil
	}
	return "", fmt.Errorf("no step or job %q", name)
}
