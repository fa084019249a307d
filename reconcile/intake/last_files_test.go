package intake

import (
	"testing"

	"gitops-agent/reconcile/journal"
)

// TestLastFiles: the recorded file of a manifest changes only if a signer moved the manifest who may change both files.
func TestLastFiles(t *testing.T) {
	t.Parallel()
	db := journal.Label{Kind: "VirtualMachine", Name: "db-1"}
	in := func(file string) map[journal.Label]string { return map[journal.Label]string{db: file} }
	tests := map[string]struct {
		before               map[journal.Label]string
		entered              [][]string
		recorded, file, want string
		isNew                bool
	}{
		"first":                   {in(""), nil, "", "db/a.yaml", "db/a.yaml", true},
		"first_by_a_signer":       {in(""), [][]string{{"db"}}, "", "db/a.yaml", "db/a.yaml", true},
		"not_moved":               {in("db/a.yaml"), nil, "db/a.yaml", "db/a.yaml", "db/a.yaml", false},
		"moved":                   {in("db/a.yaml"), nil, "db/a.yaml", "web/a.yaml", "web/a.yaml", false},
		"moved_within":            {in("db/a.yaml"), [][]string{{"db"}}, "db/a.yaml", "db/b.yaml", "db/b.yaml", false},
		"moved_between":           {in("db/a.yaml"), [][]string{{"db", "web"}}, "db/a.yaml", "web/a.yaml", "web/a.yaml", false},
		"came_back":               {in(""), nil, "db/a.yaml", "web/a.yaml", "web/a.yaml", false},
		"taken_over":              {in(""), [][]string{{"web"}}, "db/a.yaml", "web/a.yaml", "db/a.yaml", false},
		"taken_over_at_once":      {in("db/a.yaml"), [][]string{{"web"}}, "db/a.yaml", "web/a.yaml", "db/a.yaml", false},
		"taken_over_by_one":       {in(""), [][]string{{"web", "db"}, {"web"}}, "db/a.yaml", "web/a.yaml", "db/a.yaml", false},
		"taken_over_before":       {in("web/a.yaml"), nil, "db/a.yaml", "web/a.yaml", "db/a.yaml", false},
		"moved_after_that":        {in("web/a.yaml"), nil, "db/a.yaml", "web/b.yaml", "web/b.yaml", false},
		"older_release":           {in("db/a.yaml"), nil, "", "db/a.yaml", "db/a.yaml", false},
		"older_release_came_back": {in(""), nil, "", "web/a.yaml", "web/a.yaml", false},
		"older_release_taken":     {in(""), [][]string{{"web"}}, "", "web/a.yaml", journal.UnknownFile, false},
		"unknown_for_good":        {in("web/a.yaml"), [][]string{{"web"}}, journal.UnknownFile, "web/b.yaml", journal.UnknownFile, false},
		"unknown_and_moved":       {in("web/a.yaml"), nil, journal.UnknownFile, "web/b.yaml", "web/b.yaml", false},
		"former_revision_unknown": {nil, nil, "db/a.yaml", "web/a.yaml", "db/a.yaml", false},
	}
	for name, test := range tests {
		files := lastFiles{test.before, map[journal.Label][][]string{db: test.entered}}
		if got := files.after(db, !test.isNew, test.recorded, test.file); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
