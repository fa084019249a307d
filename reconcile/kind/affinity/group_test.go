package affinity

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"

	"github.com/google/go-cmp/cmp"
)

// TestReadGroups reads groups as Proxmox VE 8.4 sends them, with the guests whose entries name them.
func TestReadGroups(t *testing.T) {
	lists := map[string]string{
		"/cluster/ha/groups":    `[{"group":"web","type":"group","nodes":"pve2:0,pve1:3","restricted":1,"nofailback":0,"comment":"x","digest":"d"},{"group":"empty","type":"group","nodes":"pve1","nofailback":"1"}]`,
		"/cluster/ha/resources": `[{"sid":"vm:202","type":"vm","group":"web"},{"sid":"ct:201","type":"ct","group":"web"},{"sid":"vm:203","type":"vm"}]`,
	}
	get := func(_ context.Context, _, path string) (json.RawMessage, error) {
		if text, known := lists[path]; known {
			return json.RawMessage(text), nil
		}
		return nil, refusal{"Method 'GET " + path + "' not implemented"}
	}
	got, err := read(t.Context(), get, []string{"web"})
	want := []cluster.Object{
		{ID: "web", Keys: map[string]string{"type": "group", "members": "ct:201,vm:202", "nodes": "pve1:3,pve2", "restricted": "1", "comment": "x"}},
		{ID: "empty", Keys: map[string]string{"type": "group", "nodes": "pve1", "nofailback": "1"}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("got error %v, groups (-want +got)\n%s", err, diff)
	}
	for path := range lists {
		without := func(ctx context.Context, route, asked string) (json.RawMessage, error) {
			if asked == path {
				return nil, refusal{"no quorum"}
			}
			return get(ctx, route, asked)
		}
		if _, err := read(t.Context(), without, nil); err == nil || err.Error() != "no quorum" {
			t.Errorf("%s: got %v, want Proxmox's error", path, err)
		}
	}
}

// TestNative gives a rule the keys of a group on Proxmox VE 8 only, and refuses what no group can be.
func TestNative(t *testing.T) {
	wanted := func(keys map[string]string) kind.Desired {
		d := kind.Desired{Kind: Name, ID: "web"}
		for key, text := range keys {
			d.Put(kind.Intent{Key: key, Text: text})
		}
		return d
	}
	rule := map[string]string{"type": "node-affinity", "resources": "ct:201,vm:202", "nodes": "pve1", "strict": "1", "comment": "x", "disable": ""}
	group := map[string]string{"type": "group", "members": "ct:201,vm:202", "nodes": "pve1", "restricted": "1", "comment": "x"}
	live := cluster.Object{ID: "web", Keys: map[string]string{"type": "group", "members": "ct:201", "nodes": "pve1"}}
	another := func(members string) map[string]cluster.Object {
		return map[string]cluster.Object{"web": live, "db": {ID: "db", Keys: map[string]string{"type": "group", "members": members}}}
	}
	rules := func(disable string) map[string]cluster.Object {
		return map[string]cluster.Object{
			"apart": {ID: "apart", Keys: map[string]string{"type": "resource-affinity", "resources": "ct:201,vm:202"}},
			"db":    {ID: "db", Keys: map[string]string{"type": "node-affinity", "resources": "vm:202", "disable": disable}},
		}
	}
	with := func(keys map[string]string, key, text string) map[string]string {
		keys = maps.Clone(keys)
		keys[key] = text
		return keys
	}
	without := func(keys map[string]string, key string) map[string]string {
		keys = maps.Clone(keys)
		delete(keys, key)
		return keys
	}
	old, newest := guest.Version{Major: 8, Minor: 4}, guest.Version{Major: 9, Minor: 2}
	tests := map[string]struct {
		keys  map[string]string
		found kind.Found
		want  map[string]string
		why   string
	}{
		"release_9":                     {rule, kind.Found{Release: newest}, rule, ""},
		"unknown_release":               {rule, kind.Found{}, rule, ""},
		"release_8":                     {rule, kind.Found{Release: old}, group, ""},
		"live_group":                    {rule, kind.Found{Live: live, Release: newest}, group, ""},
		"other_groups":                  {rule, kind.Found{Others: map[string]cluster.Object{"db": {Keys: map[string]string{"type": "group"}}}, Release: newest}, group, ""},
		"rules_after_an_upgrade":        {rule, kind.Found{Others: map[string]cluster.Object{"a": {Keys: map[string]string{"type": "node-affinity"}}}, Release: old}, rule, ""},
		"about_guests":                  {map[string]string{"type": "resource-affinity"}, kind.Found{Release: old}, nil, "no rules about guests"},
		"disabled":                      {map[string]string{"type": "node-affinity", "disable": "1"}, kind.Found{Release: old}, nil, "cannot be disabled"},
		"guest_of_another_group":        {rule, kind.Found{Live: live, Others: another("vm:202"), Release: old}, nil, "vm:202 is in the group db"},
		"gives_away_first":              {rule, kind.Found{Live: cluster.Object{ID: "web", Keys: map[string]string{"type": "group", "members": "vm:300"}}, Others: another("vm:202"), Release: old}, with(group, "members", ""), ""},
		"guest_of_another_rule":         {rule, kind.Found{Others: rules("")}, nil, "vm:202 is in the rule db"},
		"guest_of_a_disabled_rule":      {rule, kind.Found{Others: rules("1")}, rule, ""},
		"disabled_rule":                 {with(rule, "disable", "1"), kind.Found{Others: rules("")}, with(rule, "disable", "1"), ""},
		"left_disabled_by_a_person":     {without(rule, "disable"), kind.Found{Live: cluster.Object{Keys: map[string]string{"type": "node-affinity", "disable": "1"}}, Others: rules("")}, without(rule, "disable"), ""},
		"rule_gives_away_first":         {rule, kind.Found{Live: cluster.Object{Keys: map[string]string{"type": "node-affinity", "resources": "ct:201,vm:300"}}, Others: rules("")}, with(rule, "resources", "ct:201"), ""},
		"rule_keeps_its_last_guest":     {rule, kind.Found{Live: cluster.Object{Keys: map[string]string{"type": "node-affinity", "resources": "vm:300"}}, Others: rules("")}, nil, "vm:202 is in the rule db"},
		"guest_that_it_has":             {rule, kind.Found{Live: live, Others: another("ct:201"), Release: old}, group, ""},
		"about_guests_on_a_new_release": {map[string]string{"type": "resource-affinity"}, kind.Found{Release: newest}, map[string]string{"type": "resource-affinity"}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, why := native(wanted(test.keys), test.found)
			if test.why != "" {
				if why == nil || why.Cause != kind.Impossible || !strings.Contains(why.Message, test.why) || why.Hint == "" {
					t.Errorf("got %+v, want it refused: %s", why, test.why)
				}
				return
			}
			if diff := cmp.Diff(wanted(test.want), got); diff != "" || why != nil {
				t.Errorf("got %+v (-want +got)\n%s", why, diff)
			}
		})
	}
}

// TestMembersChangeOneByOne takes a guest out before it puts others in, and empties a group that is to be removed.
func TestMembersChangeOneByOne(t *testing.T) {
	content := members()
	d := kind.Desired{Kind: Name, ID: "web"}
	d.Put(kind.Intent{Key: keyMembers, Text: "ct:201,vm:203"})
	live := cluster.Object{ID: "web", Keys: map[string]string{"type": "group", "members": "vm:202,vm:203"}}
	if changes := content.Changes(d, live); len(changes) != 1 || changes[0].From != "vm:202,vm:203" || changes[0].To != "ct:201,vm:203" {
		t.Errorf("got the changes %+v, want that of the members", changes)
	}
	var requests []string
	for range 3 {
		next, more := content.Next(d, live)
		if !more {
			break
		}
		requests = append(requests, requestText(t, next.Call))
		live.Keys = map[string]string{"type": "group", "members": next.After}
	}
	want := []string{"PUT /cluster/ha/resources/vm:202 delete=group", "PUT /cluster/ha/resources/ct:201 group=web"}
	if diff := cmp.Diff(want, requests); diff != "" {
		t.Errorf("calls (-want +got)\n%s", diff)
	}
	if len(content.Changes(d, live)) != 0 || live.Keys[keyMembers] != content.Final(d, live) {
		t.Errorf("got %q at the end, want %q", live.Keys[keyMembers], content.Final(d, live))
	}
	var after []string
	for _, item := range content.Empty(live) {
		after = append(after, requestText(t, item.Call)+", then "+item.After)
	}
	want = []string{"PUT /cluster/ha/resources/ct:201 delete=group, then vm:203", "PUT /cluster/ha/resources/vm:203 delete=group, then "}
	if diff := cmp.Diff(want, after); diff != "" {
		t.Errorf("calls of the removal (-want +got)\n%s", diff)
	}
}

// TestGroupCalls are the calls about a group itself, and about a rule that Proxmox made of one.
func TestGroupCalls(t *testing.T) {
	group := cluster.Object{ID: "web", Keys: map[string]string{"type": "group", "nodes": "pve1"}}
	migrated := cluster.Object{ID: "web", Keys: map[string]string{"type": "node-affinity", "rule": "ha-group-web"}}
	tests := map[string]struct {
		change kind.Change
		want   string
	}{
		"add":             {kind.Change{Op: cluster.OpObjectAdd, ID: "web", Set: map[string]string{"type": "group", "nodes": "pve1"}}, "POST /cluster/ha/groups group=web nodes=pve1"},
		"set":             {kind.Change{Op: cluster.OpObjectSet, ID: "web", Got: group, Delete: []string{"restricted"}}, "PUT /cluster/ha/groups/web delete=restricted"},
		"remove":          {kind.Change{Op: cluster.OpObjectRemove, ID: "web", Got: group}, "DELETE /cluster/ha/groups/web"},
		"set_migrated":    {kind.Change{Op: cluster.OpObjectSet, ID: "web", Got: migrated, Set: map[string]string{"nodes": "pve2"}}, "PUT /cluster/ha/rules/ha-group-web nodes=pve2 type=node-affinity"},
		"remove_migrated": {kind.Change{Op: cluster.OpObjectRemove, ID: "web", Got: migrated}, "DELETE /cluster/ha/rules/ha-group-web"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if made := calls(test.change); len(made) != 1 || requestText(t, made[0]) != test.want {
				t.Errorf("got %s of %d calls, want %s", requestText(t, made[0]), len(made), test.want)
			}
		})
	}
}

// requestText returns "PUT /cluster/ha/groups/web delete=restricted".
func requestText(t *testing.T, call cluster.Call) string {
	t.Helper()
	r, err := Kind().Encode(call)
	if err != nil {
		t.Fatal(err)
	}
	parts := []string{r.Method, r.Path}
	var params []string
	for key, text := range r.Params {
		params = append(params, key+"="+text)
	}
	slices.Sort(params)
	return strings.Join(append(parts, params...), " ")
}

// TestMigratedRuleKeepsItsID finds the rule that Proxmox VE 9 made of a group under the id of the group, if an agent made the group and no rule has this id.
func TestMigratedRuleKeepsItsID(t *testing.T) {
	const ours = "web servers gitops-01234567"
	tests := map[string]struct {
		comment string
		other   string // id of another rule
		ids     []string
		want    string
	}{
		"wanted":              {ours, "db", []string{"web"}, "web"},
		"not_asked_for":       {ours, "db", nil, "ha-group-web"},
		"of_a_person":         {"web servers", "db", []string{"web"}, "ha-group-web"},
		"another_rule":        {ours, "web", []string{"web"}, "ha-group-web"},
		"named_by_a_manifest": {ours, "db", []string{"web", "ha-group-web"}, "ha-group-web"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			list := byFormerID([]cluster.Object{{ID: "ha-group-web", Keys: map[string]string{"comment": test.comment}}, {ID: test.other, Keys: map[string]string{}}}, test.ids)
			isMigrated := list[0].Keys[keyRule] == "ha-group-web"
			if list[0].ID != test.want || isMigrated != (test.want == "web") || list[1].ID != test.other {
				t.Errorf("got %+v, want the id %s", list, test.want)
			}
		})
	}
}
