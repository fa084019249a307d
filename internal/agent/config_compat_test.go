package agent_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"gitops-agent/internal/agent"
)

var updateCompat = flag.Bool("update-compat", false, "rewrite the parsed configs; only the version that the folder names may do that")

// named adds the names of signers that these versions took from the subject. A config without them is refused since approvals count people by name.
var named = strings.NewReplacer(
	`signers: [{issuer`, `signers: [{name: ana@example.org, issuer`,
	"    - issuer: https://accounts.google.com\n", "    - name: bob@example.org\n      issuer: https://accounts.google.com\n",
	"    - issuer: https://token", "    - name: https://github\\.com/example/fleet/\\.github/workflows/.*@refs/heads/production\n      issuer: https://token",
)

// TestReadsOlderConfigs reads the config files of older versions to exactly the settings and defaults that these versions read. A setting
// that a newer version adds is not part of the comparison. The names of signers have no default any more.
func TestReadsOlderConfigs(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/v*/*.yaml")
	if err != nil || len(paths) < 4 {
		t.Fatalf("got %d configs of older versions, %v, want 4 or more", len(paths), err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(filepath.Dir(path))+"/"+filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			withNames := named.Replace(string(text))
			if _, err := agent.ParseConfig(text); string(text) != withNames && (err == nil || !strings.Contains(err.Error(), "].name is required")) {
				t.Errorf("got %v without a name, want it refused", err)
			}
			config, err := agent.ParseConfig([]byte(withNames))
			if err != nil {
				t.Fatal(err)
			}
			parsed := strings.TrimSuffix(path, ".yaml") + ".parsed"
			var out bytes.Buffer
			if err := yaml.NewEncoder(&out).Encode(config); err != nil {
				t.Fatal(err)
			}
			if *updateCompat {
				if err := os.WriteFile(parsed, out.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			data, err := os.ReadFile(parsed)
			if err != nil {
				t.Fatal(err)
			}
			var want, got any
			if err := errors.Join(yaml.Unmarshal(data, &want), yaml.Unmarshal(out.Bytes(), &got)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, common(want, got)); diff != "" {
				t.Errorf("settings (-older version +got):\n%s", diff)
			}
		})
	}
}

// common returns got without the settings that want does not have.
func common(want, got any) any {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			return got
		}
		both := map[string]any{}
		for key, value := range got {
			if older, known := want[key]; known {
				both[key] = common(older, value)
			}
		}
		return both
	case []any:
		got, ok := got.([]any)
		if !ok || len(got) != len(want) {
			return got
		}
		both := make([]any, len(got))
		for i := range got {
			both[i] = common(want[i], got[i])
		}
		return both
	}
	return got
}

// TestCommonDropsOnlyNewSettings shows that the comparison ignores a new setting and reports a changed, missing or other value.
func TestCommonDropsOnlyNewSettings(t *testing.T) {
	t.Parallel()
	want := map[string]any{"a": 1, "list": []any{map[string]any{"b": 2}}}
	tests := map[string]struct {
		got  any
		same bool
	}{
		"equal":          {map[string]any{"a": 1, "list": []any{map[string]any{"b": 2}}}, true},
		"new_settings":   {map[string]any{"a": 1, "new": 3, "list": []any{map[string]any{"b": 2, "new": 3}}}, true},
		"changed":        {map[string]any{"a": 2, "list": []any{map[string]any{"b": 2}}}, false},
		"missing":        {map[string]any{"list": []any{map[string]any{"b": 2}}}, false},
		"longer_list":    {map[string]any{"a": 1, "list": []any{map[string]any{"b": 2}, 1}}, false},
		"changed_nested": {map[string]any{"a": 1, "list": []any{map[string]any{"b": 3}}}, false},
		"other_shape":    {[]any{}, false},
	}
	for name, test := range tests {
		if same := reflect.DeepEqual(want, common(want, test.got)); same != test.same {
			t.Errorf("%s: got same %t, want %t", name, same, test.same)
		}
	}
}
