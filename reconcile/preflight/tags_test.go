package preflight

import (
	"slices"
	"strings"
	"testing"

	"gitops-agent/reconcile/guest"
)

func TestRestrictedTags(t *testing.T) {
	t.Parallel()
	tagged := guest.Desired{
		Ref:     guest.Ref{Kind: guest.VirtualMachine, Name: "web-1", VMID: 201},
		Intents: []guest.Intent{{Key: "tags", Verb: guest.Want, Text: "prod;web", Origin: guest.Origin{File: "web.yaml", Line: 7, Column: 3}}},
	}
	modify := everywhere(map[string]bool{"Sys.Modify": true})
	tests := map[string]struct {
		rules   TagRules
		granted Granted
		want    []string // name and the start of the hint
		causes  []string
	}{
		"default":            {TagRules{}, Granted{}, nil, nil},
		"free":               {TagRules{Access: "free"}, Granted{}, nil, nil},
		"none":               {TagRules{Access: "none"}, Granted{}, []string{"user-tag-access run pvesh set /cluster/options --user-tag-access user-allow=free"}, []string{""}},
		"listed":             {TagRules{Access: "list"}, Granted{}, []string{"user-tag-access run pvesh set /cluster/options --user-tag-access user-allow=free"}, []string{""}},
		"with_sys_modify":    {TagRules{Access: "none", Registered: []string{"prod"}}, modify, nil, nil},
		"registered":         {TagRules{Registered: []string{"prod", "vip"}}, Granted{}, []string{"prod remove it from registered-tags: pvesh set /cluster/options --registered-tags 'vip'"}, []string{"web-1"}},
		"registered_alone":   {TagRules{Registered: []string{"WEB"}}, Granted{}, []string{"WEB remove it from registered-tags: pvesh set /cluster/options --delete registered-tags"}, []string{"web-1"}},
		"registered_marker":  {TagRules{Registered: []string{"gitops-0123abcd"}}, Granted{}, []string{"gitops-0123abcd remove it from registered-tags: pvesh set /cluster/options --delete registered-tags"}, []string{""}},
		"registered_another": {TagRules{Registered: []string{"vip"}}, Granted{}, nil, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got, causes []string
			for _, u := range RestrictedTags([]guest.Desired{tagged}, test.rules, test.granted) {
				hint, _, _ := strings.Cut(u.Hint, ", or grant Sys.Modify")
				got = append(got, u.Name+" "+hint)
				for _, c := range u.For {
					causes = append(causes, c.Guest.Name)
				}
			}
			if !slices.Equal(got, test.want) || !slices.Equal(causes, test.causes) {
				t.Errorf("got %q for %q, want %q for %q", got, causes, test.want, test.causes)
			}
		})
	}
}
