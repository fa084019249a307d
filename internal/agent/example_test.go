package agent_test

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"gitops-agent/internal/agent"
)

func TestExampleParses(t *testing.T) {
	t.Parallel()
	config, err := agent.ParseConfig([]byte(agent.Example))
	if err != nil {
		t.Fatalf("got %v, want a config", err)
	}
	if got := config.Trust.Signers[0].Name; got != "alice" {
		t.Errorf("got signer %q, want alice", got)
	}
}

// commented matches a field of the example that is commented out.
var commented = regexp.MustCompile(`(?m)^( *)#((?:  )*)(- )?([a-z_]+:)`)

func TestExampleNamesEveryField(t *testing.T) {
	t.Parallel()
	text := commented.ReplaceAllString(agent.Example, "$1$2$3$4")
	if _, err := agent.ParseConfig([]byte(text)); err != nil {
		t.Fatalf("with every comment lifted: got %v, want a config", err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	namedFields(document.Content[0], "", named)
	want := fields(reflect.TypeFor[agent.Config](), "")
	got := make([]string, 0, len(named))
	for path := range named {
		got = append(got, path)
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("example and Config differ (-Config +example):\n%s", diff)
	}
}

// fields lists the paths of a struct's YAML fields. A list of structs is treated as one struct.
func fields(of reflect.Type, under string) []string {
	var paths []string
	for field := range of.Fields() {
		if !field.IsExported() {
			continue
		}
		path := under + field.Tag.Get("yaml")
		element := field.Type
		if element.Kind() == reflect.Slice {
			element = element.Elem()
		}
		if element.Kind() == reflect.Struct && strings.HasSuffix(element.Name(), "Config") {
			paths = append(paths, fields(element, path+".")...)
			continue
		}
		paths = append(paths, path)
	}
	return paths
}

func namedFields(node *yaml.Node, under string, into map[string]bool) {
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i < len(node.Content); i += 2 {
			key, value := node.Content[i].Value, node.Content[i+1]
			if value.Kind == yaml.MappingNode || value.Kind == yaml.SequenceNode && value.Content[0].Kind == yaml.MappingNode {
				namedFields(value, under+key+".", into)
				continue
			}
			into[under+key] = true
		}
	case yaml.SequenceNode:
		for _, item := range node.Content {
			namedFields(item, under, into)
		}
	case yaml.DocumentNode, yaml.ScalarNode, yaml.AliasNode:
	}
}
