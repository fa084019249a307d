package fleetview

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/statusview"
	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/agent"
	"gitops-agent/reconcile/manifest/tree"

	"gopkg.in/yaml.v3"
)

// maxTargets bounds the agents of a fleet.
const maxTargets = 10000

// A Target is an agent of a fleet.
type Target struct {
	Name   string            // host:port, as in the file
	Labels map[string]string // without those that begin with __
	Agent  statusview.Target // its address, and how to log in
}

// group is an element of the file.
//
// Source: Prometheus, configuration, <file_sd_config>.
type group struct {
	Targets []string          `yaml:"targets"`
	Labels  map[string]string `yaml:"labels"`
}

// Labels that say how an agent is reached. Prometheus removes labels that begin with __ after relabelling, so that one file can serve both.
const (
	labelScheme       = "__scheme__"       // http or https
	labelMetricsPath  = "__metrics_path__" // /metrics below the path of the agent
	labelTokenFile    = "__token_file"
	labelUser         = "__user"
	labelPasswordFile = "__password_file"
	labelCAFile       = "__ca_file"
	labelCertFile     = "__cert_file"
	labelKeyFile      = "__key_file"
)

// ReadTargets reads a file of targets: YAML or JSON, a list of groups with targets and labels. Defaults are used by the groups that name no credentials and
// certificates of their own. Names of files in labels are relative to the file.
func ReadTargets(path string, defaults statusview.Target) ([]Target, error) {
	text, err := agent.ReadBounded(path)
	if err != nil {
		return nil, fmt.Errorf("read the targets: %w", err)
	}
	targets, err := parseTargets(text, filepath.Dir(path), defaults)
	if err != nil {
		return nil, term.WithHint(fmt.Errorf("%s: %w", path, err), `want a list such as - targets: ["agent.example.org:9746"], as for file_sd_configs of Prometheus`)
	}
	return targets, nil
}

func parseTargets(text []byte, folder string, defaults statusview.Target) ([]Target, error) {
	if err := tree.CheckVisible(text); err != nil {
		return nil, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	var nodes []yaml.Node
	if err := decoder.Decode(&nodes); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var targets []Target
	lines := make(map[string]int)
	for _, node := range nodes {
		var g group
		if err := decodeGroup(&node, &g); err != nil {
			return nil, fmt.Errorf("line %d: %w", node.Line, err)
		}
		for _, name := range g.Targets {
			target, err := g.target(name, folder, defaults)
			switch {
			case err != nil:
				return nil, fmt.Errorf("line %d: target %q: %w", node.Line, name, err)
			case lines[target.Agent.URL] != 0:
				return nil, fmt.Errorf("line %d: target %q is also in the group at line %d", node.Line, name, lines[target.Agent.URL])
			case len(targets) == maxTargets:
				return nil, fmt.Errorf("line %d: more than %d targets", node.Line, maxTargets)
			}
			lines[target.Agent.URL] = node.Line
			targets = append(targets, target)
		}
	}
	if len(targets) == 0 {
		return nil, errors.New("it names no target")
	}
	return targets, nil
}

// decodeGroup decodes a group, and refuses fields that Prometheus does not know either.
func decodeGroup(node *yaml.Node, g *group) error {
	if node.Kind != yaml.MappingNode {
		return errors.New("want a mapping with targets and labels")
	}
	for i := 0; i < len(node.Content); i += 2 {
		if field := node.Content[i].Value; field != "targets" && field != "labels" {
			return fmt.Errorf("unknown field %q, want targets or labels", field)
		}
	}
	return node.Decode(g)
}

// target returns a target of the group.
func (g group) target(name, folder string, defaults statusview.Target) (Target, error) {
	if host, port, err := net.SplitHostPort(name); err != nil || host == "" || port == "" || strings.ContainsAny(name, "/@ ") {
		return Target{}, errors.New("want host:port; the scheme is the label __scheme__")
	}
	known := []string{labelScheme, labelMetricsPath, labelTokenFile, labelUser, labelPasswordFile, labelCAFile, labelCertFile, labelKeyFile}
	labels := make(map[string]string, len(g.Labels))
	for _, label := range slices.Sorted(maps.Keys(g.Labels)) {
		switch {
		case !strings.HasPrefix(label, "__"):
			labels[label] = g.Labels[label]
		case !slices.Contains(known, label) && !strings.HasSuffix(label, "__"): // others of Prometheus end with __
			return Target{}, fmt.Errorf("unknown label %s, want %s", label, strings.Join(known, ", "))
		}
	}
	to := statusview.Target{
		User: g.Labels[labelUser], TokenFile: g.file(labelTokenFile, folder), PasswordFile: g.file(labelPasswordFile, folder), CAFile: g.file(labelCAFile, folder),
		CertFile: g.file(labelCertFile, folder), KeyFile: g.file(labelKeyFile, folder),
	}
	if to.User == "" && to.TokenFile == "" && to.PasswordFile == "" {
		to.User, to.TokenFile, to.PasswordFile = defaults.User, defaults.TokenFile, defaults.PasswordFile
	}
	if to.CertFile == "" && to.KeyFile == "" {
		to.CertFile, to.KeyFile = defaults.CertFile, defaults.KeyFile
	}
	if to.CAFile == "" {
		to.CAFile = defaults.CAFile
	}
	scheme, path := g.Labels[labelScheme], g.Labels[labelMetricsPath]
	if scheme == "" {
		scheme = "http"
	}
	if scheme != "http" && scheme != "https" {
		return Target{}, fmt.Errorf("label %s is %q, want http or https", labelScheme, scheme)
	}
	below, isMetrics := strings.CutSuffix(path, "/metrics")
	if path != "" && (!isMetrics || below != "" && !strings.HasPrefix(below, "/")) {
		return Target{}, fmt.Errorf("label %s is %q, want a path that ends with /metrics, since the status is beside it", labelMetricsPath, path)
	}
	to.URL = scheme + "://" + name + below
	return Target{Name: name, Labels: labels, Agent: to}, nil
}

// file returns the path that a label names, "" without the label.
func (g group) file(label, folder string) string {
	name := g.Labels[label]
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(folder, name)
}
