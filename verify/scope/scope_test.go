package scope_test

import (
	"testing"

	"gitops-agent/verify/scope"
)

func TestHasPath(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		paths []string
		file  string
		want  bool
	}{
		"no_paths":       {nil, "web/a.yaml", true},
		"below":          {[]string{"db", "web"}, "web/prod/a.yaml", true},
		"the_file":       {[]string{"web/a.yaml"}, "web/a.yaml", true},
		"other_folder":   {[]string{"web"}, "db/a.yaml", false},
		"prefix_of_name": {[]string{"web"}, "web-2/a.yaml", false},
		"no_root":        {[]string{"."}, "web/a.yaml", false},
	}
	for name, test := range tests {
		if got := scope.HasPath(test.paths, test.file); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

func TestMatchesAny(t *testing.T) {
	t.Parallel()
	patterns := []string{"VirtualMachine/web-*", "["}
	for name, want := range map[string]bool{"VirtualMachine/web-1": true, "VirtualMachine/db-1": false, "Container/web-1": false, "[": false} {
		if got := scope.MatchesAny(patterns, name); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}
