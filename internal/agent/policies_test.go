package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPolicies reads policies from files and folders, and reports what is wrong with them.
func TestPolicies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	named := func(name, when string) string {
		return "apiVersion: proxmox.gitops/v1alpha1\nkind: Policy\nmetadata: {name: " + name + "}\nspec: {when: '" + when + "', message: told}\n"
	}
	one := write("one.yaml", named("one", "true"))
	write("folder/two.yaml", named("two", "true")+"---\n"+named("three", "true"))
	write("folder/notes.txt", "no policy")
	tests := map[string]struct {
		paths []string
		want  int
		err   string
	}{
		"none":            {nil, 0, ""},
		"file_and_folder": {[]string{one, filepath.Join(dir, "folder")}, 3, ""},
		"twice":           {[]string{one, one}, 0, "another Policy has this name"},
		"wrong":           {[]string{write("wrong.yaml", named("wrong", "new.x"))}, 0, "wrong.yaml:4:14: Policy wrong: when: undefined field 'x'"},
		"missing":         {[]string{filepath.Join(dir, "missing.yaml")}, 0, "missing.yaml: no such file"},
		"no_policies":     {[]string{filepath.Dir(write("empty/notes.txt", ""))}, 0, "contains no file that ends in .yaml or .yml"},
		"large":           {[]string{write("large.yaml", "#"+strings.Repeat("x", maxPolicyFile))}, 0, "larger than 1 MiB"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, err := Config{Policies: test.paths}.Rules()
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) || set.Len() != test.want {
				t.Errorf("got %d policies and %v, want %d and %q", set.Len(), err, test.want, test.err)
			}
		})
	}
}
