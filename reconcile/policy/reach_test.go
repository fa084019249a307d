package policy

import (
	"slices"
	"testing"

	"gitops-agent/reconcile/guest"
)

func TestReach(t *testing.T) {
	t.Parallel()
	web := guest.Ref{Kind: guest.VirtualMachine, Name: "web-1"}
	tests := map[string]struct {
		reach *Reach
		at    Place
		want  bool
	}{
		"host":                {nil, Place{}, true},
		"folder":              {&Reach{Folder: "teams/web"}, Place{File: "teams/web/a.yaml", Of: web}, true},
		"below":               {&Reach{Folder: "teams/web"}, Place{File: "teams/web/prod/a.yaml", Of: web}, true},
		"whole_repository":    {&Reach{Folder: "."}, Place{File: "teams/db/a.yaml", Of: web}, true},
		"beside":              {&Reach{Folder: "teams/web"}, Place{File: "teams/web-2/a.yaml", Of: web}, false},
		"above":               {&Reach{Folder: "teams/web"}, Place{File: "teams/a.yaml", Of: web}, false},
		"no_manifest":         {&Reach{Folder: "."}, Place{Of: web}, false},
		"left_file":           {&Reach{Folder: "teams/web"}, Place{File: "teams/db/a.yaml", Earlier: []Former{{File: "a.yaml"}, {File: "teams/web/a.yaml"}}, Of: web}, true},
		"left_label":          {&Reach{Folder: ".", Signers: []Signer{{Guests: []string{"VirtualMachine/old-*"}}}}, Place{File: "a.yaml", Earlier: []Former{{File: "a.yaml", Label: "VirtualMachine/old-1"}}, Of: web}, true},
		"removed":             {&Reach{Folder: "teams/web"}, Place{Earlier: []Former{{File: "teams/web/a.yaml"}}, Of: web}, true},
		"paths_of_signer":     {&Reach{Folder: ".", Signers: []Signer{{Paths: []string{"teams/web"}}}}, Place{File: "teams/web/a.yaml", Of: web}, true},
		"outside_paths":       {&Reach{Folder: ".", Signers: []Signer{{Paths: []string{"teams/web"}}}}, Place{File: "teams/db/a.yaml", Of: web}, false},
		"guests_of_signer":    {&Reach{Folder: ".", Signers: []Signer{{Guests: []string{"VirtualMachine/web-*"}}}}, Place{File: "a.yaml", Of: web}, true},
		"other_guests":        {&Reach{Folder: ".", Signers: []Signer{{Guests: []string{"VirtualMachine/db-*"}}}}, Place{File: "a.yaml", Of: web}, false},
		"one_signer_may_not":  {&Reach{Folder: ".", Signers: []Signer{{}, {Guests: []string{"VirtualMachine/db-*"}}}}, Place{File: "a.yaml", Of: web}, false},
		"all_signers_may":     {&Reach{Folder: ".", Signers: []Signer{{}, {Guests: []string{"VirtualMachine/*"}}}}, Place{File: "a.yaml", Of: web}, true},
		"file_of_the_cluster": {&Reach{Folder: "."}, Place{File: "cluster.yaml", Of: web}, true},
	}
	for name, test := range tests {
		if got := test.reach.Contains(test.at); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

// TestReachIncludesFolders compares reaches whose signers have paths. Paths that contain the folder of a policy limit nothing.
func TestReachIncludesFolders(t *testing.T) {
	t.Parallel()
	alice, web := Signer{Name: "alice"}, Signer{Name: "wanda", Paths: []string{"web"}}
	tests := map[string]struct {
		reach, other *Reach
		want         bool
	}{
		"own_folder":         {&Reach{Folder: "web", Signers: []Signer{web}}, &Reach{Folder: "web", Signers: []Signer{alice}}, true},
		"folder_below":       {&Reach{Folder: "web", Signers: []Signer{web}}, &Reach{Folder: "web/a", Signers: []Signer{alice}}, true},
		"whole_repository":   {&Reach{Folder: ".", Signers: []Signer{web}}, &Reach{Folder: ".", Signers: []Signer{alice}}, false},
		"other_folder":       {&Reach{Folder: ".", Signers: []Signer{web}}, &Reach{Folder: "webs", Signers: []Signer{alice}}, false},
		"guests_still_count": {&Reach{Folder: "web", Signers: []Signer{{Paths: []string{"web"}, Guests: []string{"Container/*"}}}}, &Reach{Folder: "web", Signers: []Signer{alice}}, false},
	}
	for name, test := range tests {
		if got := test.reach.Includes(test.other); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

// TestWider returns where a policy of several signers would apply if one of them had introduced it alone.
func TestWider(t *testing.T) {
	t.Parallel()
	alice, bob := Signer{Name: "alice"}, Signer{Name: "bob"}
	web, db := Signer{Name: "wanda", Paths: []string{"web"}}, Signer{Name: "dave", Paths: []string{"db"}}
	tests := map[string]struct {
		folder  string
		signers []Signer
		want    []string // who would have the wider reaches
	}{
		"none":         {".", nil, nil},
		"one":          {".", []Signer{web}, nil},
		"unlimited":    {".", []Signer{alice, bob}, nil},
		"last":         {".", []Signer{web, alice}, []string{"alice"}},
		"first":        {".", []Signer{alice, web}, []string{"alice"}},
		"nothing_left": {".", []Signer{web, db}, []string{"wanda", "dave"}},
		"all":          {".", []Signer{web, alice, db}, []string{"wanda", "alice"}},
		"own_folder":   {"web", []Signer{web, alice}, nil},
		"same_scope":   {".", []Signer{web, web}, nil},
	}
	for name, test := range tests {
		var got []string
		for _, reach := range (&Reach{Folder: test.folder, Signers: test.signers}).Wider() {
			got = append(got, reach.Signers[0].Name)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

// TestRepository judges guests and steps by the policies of two folders and of the host. One that has a mistake denies in its folder alone.
func TestRepository(t *testing.T) {
	t.Parallel()
	in := func(folder string, change func(*Rule)) Rule {
		return rule(func(r *Rule) {
			r.Name, r.Reach, r.Origin.File = folder, &Reach{Folder: folder}, folder+"/p.yaml"
			change(r)
		})
	}
	set := compiledSet(t, rule(func(r *Rule) { r.Name, r.Result = "host", Warn })).With(CompileRepository([]Rule{
		in("web", func(*Rule) {}),
		in("db", func(r *Rule) { r.Result, r.When = Warn, "new.network" }),
		in("ct", func(r *Rule) { r.Mistake = "it has a mistake: spec: got none" }),
		in("app", func(r *Rule) { r.On, r.Operations = OnStep, []string{"destroy"} }),
	}))
	if set.Len() != 5 {
		t.Errorf("got %d policies, want 5", set.Len())
	}
	tests := map[string]string{
		"web": "web (web/p.yaml:1:1) denies it: m",
		"db":  "db (db/p.yaml:1:1) denies it: it has a mistake: when: undefined field 'network', at 1:4 of the expression",
		"ct":  "ct (ct/p.yaml:1:1) denies it: it has a mistake: spec: got none",
		"app": "",
	}
	for folder, want := range tests {
		findings, got := set.Guest(webServer(), Place{File: folder + "/a.yaml"}), ""
		if len(findings) > 1 {
			got = findings[1].String()
		}
		if got != want || findings[0].String() != "host warns: m" {
			t.Errorf("%s: got %v, want %q after that of the host", folder, findings, want)
		}
	}
	destroy := &Step{Op: "destroy"}
	for _, test := range []struct {
		at   Place
		want int
	}{{Place{File: "app/a.yaml"}, 1}, {Place{File: "web/a.yaml"}, 0}, {Place{Earlier: []Former{{File: "app/a.yaml"}}}, 1}, {Place{}, 0}} {
		at, want := test.at, test.want
		subject := &Subject{New: NoGuest, Old: webServer(), Step: destroy, Place: at}
		if got := len(set.Step(subject)); got != want || set.HasSteps(destroy, at) != (want > 0) {
			t.Errorf("%v: got %d findings, want %d", at, got, want)
		}
	}
	if got := (*Set)(nil).With(set); got != set {
		t.Error("got another set, want the one that has policies")
	}
}

func TestReachIncludes(t *testing.T) {
	t.Parallel()
	web, paths, guests := &Reach{Folder: "teams/web"}, []string{"teams/web"}, []string{"VirtualMachine/web-*"}
	tests := map[string]struct {
		wide, narrow *Reach
		want         bool
	}{
		"same":                {web, web, true},
		"parent":              {&Reach{Folder: "teams"}, web, true},
		"whole_repository":    {&Reach{Folder: "."}, web, true},
		"child":               {&Reach{Folder: "teams/web/prod"}, web, false},
		"beside":              {&Reach{Folder: "teams/db"}, web, false},
		"unlimited_signer":    {&Reach{Folder: ".", Signers: []Signer{{Name: "olga"}}}, web, true},
		"limited_by_guests":   {&Reach{Folder: ".", Signers: []Signer{{Guests: guests}}}, &Reach{Folder: "."}, false},
		"limited_by_paths":    {&Reach{Folder: ".", Signers: []Signer{{Paths: paths}}}, &Reach{Folder: ".", Signers: []Signer{{Guests: guests}}}, false},
		"same_scope":          {&Reach{Folder: ".", Signers: []Signer{{Paths: paths, Guests: guests}}}, &Reach{Folder: ".", Signers: []Signer{{Paths: paths, Guests: guests}}}, true},
		"wider_path":          {&Reach{Folder: ".", Signers: []Signer{{Paths: []string{"teams"}}}}, &Reach{Folder: ".", Signers: []Signer{{Paths: paths}}}, true},
		"narrower_path":       {&Reach{Folder: ".", Signers: []Signer{{Paths: paths}}}, &Reach{Folder: ".", Signers: []Signer{{Paths: []string{"teams"}}}}, false},
		"lifted_limit":        {&Reach{Folder: "."}, &Reach{Folder: ".", Signers: []Signer{{Guests: guests}}}, true},
		"one_more_signer":     {&Reach{Folder: ".", Signers: []Signer{{}, {Guests: guests}}}, &Reach{Folder: "."}, false},
		"one_signer_less":     {&Reach{Folder: ".", Signers: []Signer{{}}}, &Reach{Folder: ".", Signers: []Signer{{}, {Guests: guests}}}, true},
		"fewer_guest_names":   {&Reach{Folder: ".", Signers: []Signer{{Guests: guests}}}, &Reach{Folder: ".", Signers: []Signer{{Guests: append([]string{"Container/*"}, guests...)}}}, false},
		"other_spelling_only": {&Reach{Folder: ".", Signers: []Signer{{Guests: []string{"VirtualMachine/web-?"}}}}, &Reach{Folder: ".", Signers: []Signer{{Guests: []string{"VirtualMachine/web-1"}}}}, false},
	}
	for name, test := range tests {
		if got := test.wide.Includes(test.narrow); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}
