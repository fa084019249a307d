package ipset

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
)

// set returns entries of addresses. A leading ! excludes one.
func set(addresses ...string) []guest.FirewallEntry {
	entries := []guest.FirewallEntry{}
	for _, address := range addresses {
		cidr, excluded := strings.CutPrefix(address, "!")
		entries = append(entries, guest.FirewallEntry{CIDR: cidr, NoMatch: excluded})
	}
	return entries
}

func desired(addresses ...string) kind.Desired {
	d := kind.Desired{Kind: Name, Name: "admins", ID: "admins"}
	d.Put(kind.Intent{Key: keyEntries, Text: kind.EntriesText(set(addresses...))})
	return d
}

func live(addresses ...string) cluster.Object {
	return cluster.Object{ID: "admins", Keys: map[string]string{keyEntries: kind.EntriesText(set(addresses...))}, Digest: "e"}
}

func TestReadIsCanonical(t *testing.T) {
	replies := map[string]string{
		"/cluster/firewall/ipset":        `[{"name":"admins","comment":"m","digest":"d"},{"name":"other","digest":"d"}]`,
		"/cluster/firewall/ipset/admins": `[{"cidr":"dc/office","digest":"e"},{"cidr":"10.0.0.1","nomatch":1,"comment":"c","digest":"e"}]`,
	}
	get := func(_ context.Context, _, path string) (json.RawMessage, error) {
		if replies[path] == "" {
			return nil, fmt.Errorf("unexpected path %s", path)
		}
		return json.RawMessage(replies[path]), nil
	}
	got, err := read(t.Context(), get, []string{"admins"})
	entries := []guest.FirewallEntry{{CIDR: "10.0.0.1", NoMatch: true, Comment: "c"}, {CIDR: "dc/office"}}
	want := []cluster.Object{{ID: "admins", Keys: map[string]string{keyComment: "m", keyEntries: kind.EntriesText(entries)}, Digest: "e"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("got error %v (-want +got)\n%s", err, diff)
	}
	if _, err := read(t.Context(), get, nil); err == nil {
		t.Error("got no error for a set that cannot be read")
	}
}

// TestNextCall takes the first call from some entries to others.
func TestNextCall(t *testing.T) {
	tests := map[string]struct {
		want kind.Desired
		live cluster.Object
		call string // verb, address and digest; "" is none, and "unsafe" is refused
	}{
		"the_same":                {desired("10.0.0.0/8", "!10.0.0.1"), live("10.0.0.0/8", "!10.0.0.1"), ""},
		"excluded_first":          {desired("10.0.0.0/8", "!10.0.0.1"), live(), `add 10.0.0.1 ""`},
		"added_before_removed":    {desired("10.0.0.2"), live("10.0.0.1"), `add 10.0.0.2 ""`},
		"changed":                 {desired("!10.0.0.1"), live("10.0.0.1"), `set 10.0.0.1 "e"`},
		"largest_removed_first":   {desired(), live("10.0.0.0/8", "!10.0.0.1"), `delete 10.0.0.0/8 "e"`},
		"aliases_without_exclude": {desired("dc/office", "10.0.0.1"), live("10.0.0.2"), `add 10.0.0.1 ""`},
		"aliases_and_excluded":    {desired("dc/office", "!10.0.0.1"), live("dc/home", "10.0.0.9"), "unsafe"},
		"one_change_of_these":     {desired("dc/office", "!10.0.0.1"), live("dc/office"), `add 10.0.0.1 ""`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			item, more := next(test.want, test.live)
			got := ""
			if more {
				got = fmt.Sprintf("%s %s %q", item.Call.Firewall.Verb, item.Call.Firewall.CIDR, item.Call.Digest)
			}
			if whyUnsafe(test.want, test.live) != "" {
				got = "unsafe"
			}
			if got != test.call {
				t.Errorf("got %q, want %q", got, test.call)
			}
			if changed := len(changes(test.want, test.live)) > 0; changed != more {
				t.Errorf("got changes %t and a call %t, want both or none", changed, more)
			}
		})
	}
}

func TestOthersAreKept(t *testing.T) {
	d := desired("10.0.0.1")
	d.Keeps = true
	item, more := next(d, live("10.0.0.2"))
	if diff := cmp.Diff(set("10.0.0.1", "10.0.0.2"), setOf("", item.After, "").Entries); !more || diff != "" {
		t.Errorf("got another call %t (-want +got)\n%s", more, diff)
	}
	if item, more = next(d, live("10.0.0.1", "10.0.0.2")); more {
		t.Errorf("got %+v, want nothing", item)
	}
}

func TestEncode(t *testing.T) {
	tests := map[string]struct {
		call cluster.Call
		want kind.Request
	}{
		"add": {
			cluster.Call{Op: cluster.OpObjectAdd, Kind: Name, Object: "admins", Params: map[string]string{keyComment: "x"}},
			kind.Request{Method: "POST", Route: "/cluster/firewall/ipset", Path: "/cluster/firewall/ipset", Params: map[string]string{"name": "admins", "comment": "x"}},
		},
		"comment": {
			cluster.Call{Op: cluster.OpObjectSet, Kind: Name, Object: "admins", Params: map[string]string{keyComment: "y"}},
			kind.Request{Method: "POST", Route: "/cluster/firewall/ipset", Path: "/cluster/firewall/ipset", Params: map[string]string{"name": "admins", "rename": "admins", "comment": "y"}},
		},
		"entry": {
			cluster.Call{Op: cluster.OpObjectSet, Kind: Name, Object: "admins", Firewall: cluster.FirewallCall{Verb: cluster.FirewallAdd, Object: cluster.FirewallEntry, CIDR: "10.0.0.1"}},
			kind.Request{Route: "/cluster/firewall/ipset/{name}", Path: "/cluster/firewall/ipset/admins"},
		},
		"remove": {
			cluster.Call{Op: cluster.OpObjectRemove, Kind: Name, Object: "admins"},
			kind.Request{Method: "DELETE", Route: "/cluster/firewall/ipset/{name}", Path: "/cluster/firewall/ipset/admins", Params: map[string]string{"force": "1"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := encode(test.call)
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("got error %v (-want +got)\n%s", err, diff)
			}
		})
	}
}
