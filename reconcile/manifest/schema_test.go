package manifest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"gitops-agent/reconcile/manifest"
)

// schemaPlace is where the tests keep the schema.
const schemaPlace = "file:///schema.json"

// newCompiler returns a validator that knows the schema, and holds it against the specification that it claims to follow.
func newCompiler(t *testing.T) (*jsonschema.Compiler, map[string]any) {
	t.Helper()
	data, err := manifest.Schema()
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(schemaPlace, document); err != nil {
		t.Fatal(err)
	}
	return c, document.(map[string]any)
}

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	c, _ := newCompiler(t)
	s, err := c.Compile(schemaPlace)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// problemsBySchema returns what the schema says of every document of a text, as an editor reads it: dates are texts.
func problemsBySchema(t *testing.T, s *jsonschema.Schema, text []byte) string {
	t.Helper()
	var out strings.Builder
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var document map[string]any
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return out.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(value); err != nil {
			fmt.Fprintln(&out, err)
		}
	}
}

func TestSchemaAcceptsExamples(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	for _, f := range exampleFiles(t) {
		if problems := problemsBySchema(t, s, f.Data); problems != "" {
			t.Errorf("%s: got %s, want no problems", f.Path, problems)
		}
	}
}

// TestSchemaAcceptsWhatParses feeds what Parse accepts to the schema, which must accept it too.
func TestSchemaAcceptsWhatParses(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	for _, f := range lowerInputs(t) {
		if problems := problemsBySchema(t, s, f.Data); problems != "" {
			t.Errorf("%s: got %s, want no problems", f.Path, problems)
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ spec, want string }{
		"unknown_field":  {"memroy: {size: 2Gi}", "at '/spec': additional properties 'memroy' not allowed"},
		"unknown_slot":   {"networks: {eth0: {bridge: vmbr0}}", "at '/spec/networks': additional properties 'eth0' not allowed"},
		"no_unit":        {"memory: {size: 2048}", "at '/spec/memory/size': got number"},
		"wrong_unit":     {"memory: {size: 2GB}", "at '/spec/memory/size': '2GB' does not match pattern"},
		"wrong_word":     {"state: up", "at '/spec/state': value must be one of 'running', 'stopped', 'ignored'"},
		"out_of_bounds":  {"networks: {net0: {vlan: 4095}}", "at '/spec/networks/net0/vlan': maximum: got 4,095, want 4,094"},
		"not_a_list":     {"tags: {a: b}", "at '/spec/tags': got object"},
		"bad_item":       {`tags: ["a:b"]`, "at '/spec/tags/0': 'a:b' does not match pattern"},
		"not_a_truth":    {"agent: {enabled: 1}", "at '/spec/agent/enabled': got number"},
		"not_an_address": {"networks: {net0: {mac: none}}", "at '/spec/networks/net0/mac': 'none' does not match pattern"},
		"secret_path":    {"cloudInit: {passwordFrom: {file: ../shadow}}", "at '/spec/cloudInit/passwordFrom/file'"},
		"no_such_ha":     {"ha: {state: up}", "at '/spec/ha/state': value must be one of"},
	}
	s := compiled(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := problemsBySchema(t, s, []byte(vm("web-1", test.spec))); !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q in it", got, test.want)
			}
		})
	}
}

// TestSchemaRefusesRows: an editor finds a mistake in a row of a set by the kind of the set's members.
func TestSchemaRefusesRows(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ spec, want string }{
		"unknown_field":    {"{virtualMachine: {}, members: [{name: a, memroy: {size: 2Gi}}]}", "at '/spec/members/0': additional properties 'memroy' not allowed"},
		"field_of_another": {"{container: {}, members: [{name: a, disks: {}}]}", "at '/spec/members/0': additional properties 'disks' not allowed"},
		"value":            {"{container: {}, members: [{name: a, memory: {size: 2048}}]}", "at '/spec/members/0/memory/size': got number"},
		"no_name":          {"{container: {}, members: [{vmid: 201}]}", "at '/spec/members/0': missing property 'name'"},
		"no_number":        {"{container: {}, range: {from: 1, to: 2}, each: {name: dns}}", "at '/spec/each/name': 'dns' does not match pattern"},
	}
	s := compiled(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			text := "apiVersion: proxmox.gitops/v1alpha1\nkind: GuestSet\nmetadata: {name: web}\nspec: " + test.spec + "\n"
			if got := problemsBySchema(t, s, []byte(text)); !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q in it", got, test.want)
			}
		})
	}
}

func TestSchemaRefusesUnknownKinds(t *testing.T) {
	t.Parallel()
	text := strings.Replace(vm("web-1", "vmid: 201"), "VirtualMachine", "VirtualMachin", 1)
	if got, want := problemsBySchema(t, compiled(t), []byte(text)), "at '/kind': value must be one of"; !strings.Contains(got, want) {
		t.Errorf("got %q, want %q in it", got, want)
	}
}

// TestSchemaExamplesMatch holds every example in the schema against the part of the schema that it stands in, by the validator.
func TestSchemaExamplesMatch(t *testing.T) {
	t.Parallel()
	c, document := newCompiler(t)
	found := 0
	var visit func(at string, value any)
	visit = func(at string, value any) {
		switch value := value.(type) {
		case map[string]any:
			examples, _ := value["examples"].([]any)
			for _, example := range examples {
				found++
				s, err := c.Compile(schemaPlace + "#" + at)
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Validate(example); err != nil {
					t.Errorf("%s: got the example %v refused, want it to fit: %v", at, example, err)
				}
			}
			for name, below := range value {
				if name != "examples" && name != "const" && name != "enum" {
					visit(at+"/"+pointer.Replace(name), below)
				}
			}
		case []any:
			for i, below := range value {
				visit(fmt.Sprintf("%s/%d", at, i), below)
			}
		}
	}
	visit("", document)
	if found < 150 {
		t.Errorf("got %d examples, want at least 150", found)
	}
}

// pointer writes a name as a part of a JSON pointer in a URL.
var pointer = strings.NewReplacer("~", "~0", "/", "~1", "%", "%25", "^", "%5E", "|", "%7C", "[", "%5B", "]", "%5D", `\`, "%5C", "{", "%7B", "}", "%7D", "?", "%3F")

// TestSchemaExamplesParse reads every example as the field that it belongs to: the schema knows less than the parser.
func TestSchemaExamplesParse(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"Cluster", "GuestClass", "GuestSet", "VirtualMachine", "Container"} {
		for _, wrong := range manifest.WrongExamples(kind) {
			t.Errorf("%s: got %s, want the example to parse", kind, wrong)
		}
	}
}

// TestSchemaDescribesEveryField: editors show the same description of a field as the reference.
func TestSchemaDescribesEveryField(t *testing.T) {
	t.Parallel()
	_, document := newCompiler(t)
	var visit func(at string, value any)
	visit = func(at string, value any) {
		s, ok := value.(map[string]any)
		if !ok {
			return
		}
		properties, _ := s["properties"].(map[string]any)
		for name, property := range properties {
			below, ok := property.(map[string]any)
			if description, _ := below["description"].(string); ok && description == "" {
				t.Errorf("%s.%s: got no description, want one", at, name)
			}
			visit(at+"."+name, below)
		}
		patterns, _ := s["patternProperties"].(map[string]any)
		for pattern, below := range patterns {
			visit(at+"."+pattern, below)
		}
	}
	for name, definition := range document["$defs"].(map[string]any) {
		visit(name, definition)
	}
}
