package manifest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"gitops-agent/reconcile/manifest"
)

// checker is a JSON Schema validator of its own, for the words that the schema uses.
type checker struct{ root map[string]any }

func (c checker) check(at string, schema map[string]any, value any) []string {
	if ref, ok := schema["$ref"].(string); ok {
		defs, _ := c.root["$defs"].(map[string]any)
		target, found := defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
		if !found {
			return []string{at + ": dangling " + ref}
		}
		return c.check(at, target, value)
	}
	var wrong []string
	conditions, _ := schema["allOf"].([]any)
	for _, condition := range conditions {
		condition := condition.(map[string]any)
		if len(c.check(at, condition["if"].(map[string]any), value)) == 0 {
			wrong = append(wrong, c.check(at, condition["then"].(map[string]any), value)...)
		}
	}
	if types, ok := schema["type"].([]any); ok && !slices.ContainsFunc(types, func(name any) bool { return hasType(name, value) }) {
		return []string{fmt.Sprintf("%s: got %v, want %v", at, value, types)}
	}
	if options, ok := schema["enum"].([]any); ok && !slices.Contains(options, value) {
		wrong = append(wrong, fmt.Sprintf("%s: got %v, want one of %v", at, value, options))
	}
	if text, ok := schema["const"]; ok && text != value {
		wrong = append(wrong, fmt.Sprintf("%s: got %v, want %v", at, value, text))
	}
	switch value := value.(type) {
	case string:
		if pattern, ok := schema["pattern"].(string); ok && !regexp.MustCompile(pattern).MatchString(value) {
			wrong = append(wrong, fmt.Sprintf("%s: got %q, want %s", at, value, pattern))
		}
	case int:
		least, hasLeast := schema["minimum"].(float64)
		most, hasMost := schema["maximum"].(float64)
		if hasLeast && float64(value) < least || hasMost && float64(value) > most {
			wrong = append(wrong, fmt.Sprintf("%s: got %d, want %v to %v", at, value, least, most))
		}
	case []any:
		for i, item := range value {
			if items, ok := schema["items"].(map[string]any); ok {
				wrong = append(wrong, c.check(fmt.Sprintf("%s[%d]", at, i), items, item)...)
			}
		}
	case map[string]any:
		wrong = append(wrong, c.checkObject(at, schema, value)...)
	}
	return wrong
}

func (c checker) checkObject(at string, schema, value map[string]any) []string {
	var wrong []string
	required, _ := schema["required"].([]any)
	for _, name := range required {
		if _, there := value[name.(string)]; !there {
			wrong = append(wrong, fmt.Sprintf("%s: got no %v", at, name))
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	patterns, _ := schema["patternProperties"].(map[string]any)
	for name, below := range value {
		known := schema["additionalProperties"] != false
		if property, ok := properties[name].(map[string]any); ok {
			known = true
			wrong = append(wrong, c.check(at+"."+name, property, below)...)
		}
		for pattern, property := range patterns {
			if regexp.MustCompile(pattern).MatchString(name) {
				known = true
				wrong = append(wrong, c.check(at+"."+name, property.(map[string]any), below)...)
			}
		}
		if !known {
			wrong = append(wrong, at+"."+name+": unknown")
		}
	}
	return wrong
}

func hasType(name, value any) bool {
	switch value := value.(type) {
	case nil:
		return name == "null"
	case string, time.Time: // a date without quotes, which editors read as text
		return name == "string"
	case bool:
		return name == "boolean"
	case int:
		return name == "integer" || name == "number"
	case float64:
		return name == "number" || name == "integer" && value == math.Trunc(value)
	case []any:
		return name == "array"
	case map[string]any:
		return name == "object"
	default:
		return false
	}
}

// problemsBySchema returns what the schema says of every document of a text.
func problemsBySchema(t *testing.T, text []byte) []string {
	t.Helper()
	data, err := manifest.Schema()
	if err != nil {
		t.Fatal(err)
	}
	c := checker{}
	if err := json.Unmarshal(data, &c.root); err != nil {
		t.Fatal(err)
	}
	var out []string
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	for {
		var document map[string]any
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c.check(fmt.Sprint(document["kind"]), c.root, document)...)
	}
}

func TestSchemaAcceptsExamples(t *testing.T) {
	for _, f := range exampleFiles(t) {
		if problems := problemsBySchema(t, f.Data); len(problems) > 0 {
			t.Errorf("%s: got %s, want no problems", f.Path, strings.Join(problems, "\n"))
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	tests := map[string]struct{ spec, want string }{
		"unknown_field":  {"memroy: {size: 2Gi}", "spec.memroy: unknown"},
		"unknown_slot":   {"networks: {eth0: {bridge: vmbr0}}", "networks.eth0: unknown"},
		"no_unit":        {"memory: {size: 2048}", "memory.size: got 2048"},
		"wrong_unit":     {"memory: {size: 2GB}", `memory.size: got "2GB"`},
		"wrong_word":     {"state: up", "state: got up"},
		"out_of_bounds":  {"networks: {net0: {vlan: 4095}}", "vlan: got 4095"},
		"not_a_list":     {"tags: {a: b}", "tags: got map"},
		"bad_item":       {`tags: ["a:b"]`, `tags[0]: got "a:b"`},
		"not_a_truth":    {"agent: {enabled: 1}", "agent.enabled: got 1"},
		"not_an_address": {"networks: {net0: {mac: none}}", `mac: got "none"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(problemsBySchema(t, []byte(vm("web-1", test.spec))), "\n")
			if !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q in it", got, test.want)
			}
		})
	}
}

func TestSchemaRefusesUnknownKinds(t *testing.T) {
	text := strings.Replace(vm("web-1", "vmid: 201"), "VirtualMachine", "VirtualMachin", 1)
	got := strings.Join(problemsBySchema(t, []byte(text)), "\n")
	if want := "kind: got VirtualMachin"; !strings.Contains(got, want) {
		t.Errorf("got %q, want %q in it", got, want)
	}
}

// TestSchemaAcceptsWhatParses feeds what Parse accepts to the schema, which must accept it too.
func TestSchemaAcceptsWhatParses(t *testing.T) {
	for _, f := range lowerInputs(t) {
		if problems := problemsBySchema(t, f.Data); len(problems) > 0 {
			t.Errorf("%s: got %s, want no problems", f.Path, strings.Join(problems, "\n"))
		}
	}
}
