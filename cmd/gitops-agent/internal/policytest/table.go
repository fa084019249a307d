package policytest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"

	"gopkg.in/yaml.v3"

	"gitops-agent/cmd/gitops-agent/internal/subject"
	"gitops-agent/internal/agent"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/manifest/tree"
	"gitops-agent/reconcile/policy"
)

// maxTable bounds a file with cases.
const maxTable = 1 << 20

// Table are the cases of one file.
type Table struct {
	// Policies are files or folders with policies of a host, relative to the file of the table.
	Policies []string `yaml:"policies"`
	// Repository is a folder with the manifests of one cluster, relative to the file of the table. Its policies are tested too.
	Repository string `yaml:"repository"`
	Cases      []Case `yaml:"cases"`

	file  string
	rules *policy.Set
	root  string // the folder of the Cluster, as it is in the positions of policies of the repository
}

// Case is one guest with one step.
type Case struct {
	Name string `yaml:"name"`
	// Old and New are the guest before and after the step, as manifests without apiVersion. Without New, no manifest names the guest. What New leaves out stays
	// as it is in Old.
	Old yaml.Node `yaml:"old"`
	New yaml.Node `yaml:"new"`
	// File is where the manifest of the guest is, or was if New is missing, relative to the repository. It decides which policies of the repository apply.
	File string `yaml:"file"`
	// Signers are the names of the signers who introduced fields of the guest, by native key or by "spec." and a field; "*" for all other fields.
	Signers map[string][]string `yaml:"signers"`
	Step    Step                `yaml:"step"`
	// Time is the time of the last check. Default 2026-01-05T12:00:00Z, a Monday.
	Time time.Time `yaml:"time"`
	// Want are the findings, in any order; none if no policy says anything.
	Want []Wanted `yaml:"want"`
}

// Step is the step of a case.
type Step struct {
	Op      string   `yaml:"op"`    // default config
	Class   string   `yaml:"class"` // default live
	Order   string   `yaml:"order"` // name of the signer of the order that asks for the step; "" for a step that follows from manifests
	Volumes []string `yaml:"volumes"`
	Changes []Change `yaml:"changes"`
}

// Change is one difference that the step removes.
type Change struct {
	Key   string `yaml:"key"`
	From  string `yaml:"from"`
	To    string `yaml:"to"`
	Class string `yaml:"class"`
}

// Wanted is a finding that a case expects.
type Wanted struct {
	Policy    string        `yaml:"policy"`
	Result    policy.Result `yaml:"result"`
	Approvals int           `yaml:"approvals"` // 0 is any number
	Message   string        `yaml:"message"`   // a part of the message
	Failed    bool          `yaml:"failed"`    // the policy cannot be evaluated
}

// Read parses a table and compiles its policies.
func Read(ctx context.Context, file string) (*Table, error) {
	data, err := readBounded(file)
	if err != nil {
		return nil, err
	}
	if err := tree.CheckVisible(data); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	t := &Table{file: file}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(t); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(t.Policies) == 0 && t.Repository == "" || len(t.Cases) == 0 {
		return nil, fmt.Errorf("%s: got %d policies and %d cases, want at least one file in policies or a repository, and one of cases", file, len(t.Policies), len(t.Cases))
	}
	if err := t.readPolicies(ctx); err != nil {
		return nil, err
	}
	var problems []error
	for i, c := range t.Cases {
		if c.Name == "" {
			problems = append(problems, fmt.Errorf("%s: cases[%d]: got no name, want one", file, i))
		}
		if c.Old.IsZero() && c.New.IsZero() {
			problems = append(problems, fmt.Errorf("%s: case %s: got no guest, want old, new or both", file, c.Name))
		}
	}
	return t, errors.Join(problems...)
}

// readPolicies compiles the policies of a host and those of a repository.
func (t *Table) readPolicies(ctx context.Context) error {
	relative := func(path string) string {
		if filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(filepath.Dir(t.file), path)
	}
	paths := make([]string, len(t.Policies))
	for i, path := range t.Policies {
		paths[i] = relative(path)
	}
	rules, err := agent.ReadPolicies(paths)
	if err != nil {
		return err
	}
	t.rules, _ = policy.Compile(rules) // ReadPolicies has reported the problems
	if t.Repository == "" {
		return nil
	}
	set, err := subject.ReadDirs(ctx, []string{relative(t.Repository)})
	if err == nil && len(set.Mistakes) > 0 {
		err = &manifest.Problems{List: set.Mistakes}
	}
	if err != nil {
		return fmt.Errorf("%s: repository: %w", t.file, err)
	}
	t.rules, t.root = t.rules.With(policy.CompileRepository(set.Policies)), path.Dir(set.Cluster.Origin.File)
	return nil
}

func readBounded(path string) ([]byte, error) {
	file, err := os.Open(path) //nolint:gosec // the user names the file
	if err != nil {
		return nil, fmt.Errorf("read table: %w", err)
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, maxTable+1))
	if err != nil {
		return nil, fmt.Errorf("read table: %w", err)
	}
	if len(data) > maxTable {
		return nil, fmt.Errorf("read table %s: larger than 1 MiB, want at most 1 MiB", path)
	}
	return data, nil
}
