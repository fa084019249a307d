package agent

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/policy"
)

// maxPolicyFile bounds a file with policies.
const maxPolicyFile = 1 << 20

// Rules returns the policies that the config names, compiled; nil without any. The error contains every problem with its position.
func (c Config) Rules() (*policy.Set, error) {
	if len(c.Policies) == 0 {
		return nil, nil //nolint:nilnil // no policies are no error, and a nil Set is valid
	}
	rules, err := ReadPolicies(c.Policies)
	if err != nil {
		return nil, fmt.Errorf("policies: %w", err)
	}
	set, _ := policy.Compile(rules) // ReadPolicies has reported the problems
	return set, nil
}

// ReadPolicies reads the policies in files, and in the files of folders whose names end in .yaml or .yml.
func ReadPolicies(paths []string) ([]policy.Rule, error) {
	var files []manifest.File
	var problems []error
	for _, path := range paths {
		names, err := policyFiles(path)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		for _, name := range names {
			data, err := readPolicyFile(name)
			files, problems = append(files, manifest.File{Path: name, Data: data}), append(problems, err)
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return manifest.ParsePolicies(files)
}

// policyFiles returns a file itself, or the files of a folder.
func policyFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read policies: %w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("read policies: %w", err)
	}
	var names []string
	for _, e := range entries {
		if slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(e.Name())) && !e.IsDir() {
			names = append(names, filepath.Join(path, e.Name()))
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("read policies: %s contains no file that ends in .yaml or .yml", path)
	}
	return names, nil
}

func readPolicyFile(path string) ([]byte, error) {
	file, err := os.Open(path) //nolint:gosec // the operator chooses the path
	if err != nil {
		return nil, fmt.Errorf("read policies: %w", err)
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, maxPolicyFile+1))
	if err != nil {
		return nil, fmt.Errorf("read policies %s: %w", path, err)
	}
	if len(data) > maxPolicyFile {
		return nil, fmt.Errorf("policies %s: larger than 1 MiB, want at most 1 MiB", path)
	}
	return data, nil
}

// RecordsSigners reports whether the journal has to record who introduced what.
func (c Config) RecordsSigners() bool {
	return c.Trust.Guards.SeparateApprover || len(c.Policies) > 0
}
