package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"gitops-agent/cmd/gitops-agent/internal/fleetview"
	"gitops-agent/cmd/gitops-agent/internal/statusview"
	"gitops-agent/internal/agent"
	"gitops-agent/reconcile/manifest"
)

// otherYAML are the files of other programs that pages show, by their names in the first line of a block, with their keys at the top.
var otherYAML = map[string][]string{
	"prometheus.yml":               {"rule_files", "scrape_configs"},
	"web.yaml":                     {"tls_server_config", "basic_auth_users", "http_server_config"}, // of status.web_config_file
	".github/workflows/merge.yaml": {"name", "on", "permissions", "jobs"},
	".gitlab-ci.yml":               nil, // jobs have any name
	"otel-collector.yaml":          {"receivers", "processors", "exporters", "service", "extensions", "connectors"},
	"service-monitor.yaml":         {"apiVersion", "kind", "metadata", "spec"},
	"/etc/grafana/provisioning/dashboards/gitops-agent.yaml":  {"apiVersion", "providers"},
	"/etc/grafana/provisioning/datasources/gitops-agent.yaml": {"apiVersion", "datasources"},
	"policies-test.yaml": {"policies", "repository", "cases"},
	"alertmanager.yml":   {"route", "receivers", "global", "inhibit_rules"},
}

var fileName = regexp.MustCompile(`^# (\S+\.ya?ml)\n`)

// named returns the name of the file that a block shows, from its first line.
func (b docBlock) named() string {
	if found := fileName.FindStringSubmatch(b.text); found != nil {
		return found[1]
	}
	return ""
}

func (b docBlock) isManifest() bool {
	return b.lang == "yaml" && regexp.MustCompile(`(?m)^apiVersion: proxmox\.gitops/`).MatchString(b.text)
}

// The YAML of pages is accepted by what reads it: manifests by the parser, settings by the strict decoder of the config. The manifests of a page whose
// first line names a file are one repository.
func TestDocYAMLIsAccepted(t *testing.T) {
	t.Parallel()
	repositories := map[string]map[string]docBlock{}
	for _, b := range allBlocks(t) {
		if b.lang != "yaml" {
			continue
		}
		name := b.named()
		keys, isOther := otherYAML[name]
		switch {
		case strings.Contains(b.text, "\nkind: Policy\n"):
			if _, err := manifest.ParsePolicies([]manifest.File{{Path: name, Data: []byte(b.text)}}); err != nil {
				t.Errorf("%v: %v", b, err)
			}
		case b.isManifest() && name != "":
			if repositories[b.page] == nil {
				repositories[b.page] = map[string]docBlock{}
			}
			repositories[b.page][name] = b
		case b.isManifest():
			acceptManifests(t, b, []docBlock{b})
		case name == "agents.yaml":
			acceptTargets(t, b)
		case isOther:
			acceptKeys(t, b, keys)
		default:
			if err := acceptsSettings(b.text); err != nil {
				t.Errorf("%v: got %v\nwant manifests, settings of the agent's config from their top level, or a first line `# FILE` with agents.yaml or a file of otherYAML: %s", b, err, strings.Join(slices.Sorted(maps.Keys(otherYAML)), ", "))
			}
		}
	}
	for _, files := range repositories {
		for _, blocks := range clusters(files) {
			acceptManifests(t, blocks[0], blocks)
		}
	}
}

// clusters returns the files of each cluster: those of a folder of clusters/ with those outside of clusters/, or all.
func clusters(files map[string]docBlock) map[string][]docBlock {
	folder := regexp.MustCompile(`^clusters/[^/]+/`)
	sources := map[string][]docBlock{}
	for name := range files {
		sources[folder.FindString(name)] = nil
	}
	if len(sources) > 1 {
		delete(sources, "")
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for source := range sources {
			if of := folder.FindString(name); of == "" || of == source {
				sources[source] = append(sources[source], files[name])
			}
		}
	}
	return sources
}

func acceptManifests(t *testing.T, at docBlock, blocks []docBlock) {
	t.Helper()
	var files []manifest.File
	hasCluster := false
	for _, b := range blocks {
		name := b.named()
		if name == "" {
			name = "block.yaml"
		}
		files = append(files, manifest.File{Path: name, Data: []byte(b.text)})
		hasCluster = hasCluster || strings.Contains(b.text, "kind: Cluster")
	}
	if !hasCluster {
		files = append(files, manifest.File{Path: "cluster.yaml", Data: []byte("apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: home}\nspec: {vmids: {from: 200, to: 9999}}\n")})
	}
	if _, err := manifest.Parse(files); err != nil {
		t.Errorf("%v: got problems, want manifests that the agent accepts:\n%v", at, err)
	}
}

func acceptTargets(t *testing.T, b docBlock) {
	t.Helper()
	file := filepath.Join(t.TempDir(), b.named())
	if err := os.WriteFile(file, []byte(b.text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := fleetview.ReadTargets(file, statusview.Target{}); err != nil {
		t.Errorf("%v: got %v, want targets of gitops-agent fleet", b, err)
	}
}

func acceptKeys(t *testing.T, b docBlock, keys []string) {
	t.Helper()
	var top map[string]any
	if err := yaml.Unmarshal([]byte(b.text), &top); err != nil {
		t.Errorf("%v: got %v, want YAML", b, err)
	}
	for key := range top {
		if keys != nil && !slices.Contains(keys, key) {
			t.Errorf("%v: got the key %s, want one of %s", b, key, strings.Join(keys, ", "))
		}
	}
}

const smallestConfig = `
cluster: {name: home}
source: {remotes: [{url: "https://github.com/example/homelab.git"}]}
trust: {trusted_root_file: root.json, signers: [], binding: none}
proxmox: {endpoints: ["https://pve1:8006"], token_file: token}
`

// acceptsSettings returns an error if a part of a config is refused. What it leaves out is valid.
func acceptsSettings(text string) error {
	var settings, all map[string]any
	if err := yaml.Unmarshal([]byte(text), &settings); err != nil {
		return err
	}
	if err := yaml.Unmarshal([]byte(smallestConfig), &all); err != nil {
		return err
	}
	merge(all, settings)
	config, err := yaml.Marshal(all)
	if err != nil {
		return err
	}
	_, err = agent.ParseConfig(config)
	return err
}

func merge(into, from map[string]any) {
	for key, value := range from {
		inner, isMap := value.(map[string]any)
		old, wasMap := into[key].(map[string]any)
		if isMap && wasMap {
			merge(old, inner)
			continue
		}
		into[key] = value
	}
}

func TestWrongSettingsInDocs(t *testing.T) {
	t.Parallel()
	for text, wrong := range map[string]bool{
		"listen: 127.0.0.1:1": false, "proxmox: {ca_file: x}": false, "sauce: {}": true, "proxmox: {cafile: x}": true, "- name: a": true, "parallel: -1": true,
	} {
		if err := acceptsSettings(text); (err != nil) != wrong {
			t.Errorf("%q: got %v, want an error: %t", text, err, wrong)
		}
	}
}
