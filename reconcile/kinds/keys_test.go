package kinds_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/kinds"
)

// keysOf is what Proxmox's API accepts for objects of a kind, and where each parameter is in a manifest.
type keysOf struct {
	parameters string            // of the calls that make and change an object, its rules or its entries
	fields     map[string]string // parameters by the fields that are not called after a key of their own; "" is a field of the agent alone
	without    map[string]string // why a parameter is no field
}

// ofEachKind are the reasons for parameters that every kind has.
var ofEachKind = map[string]string{
	"comment": "a field of every kind, with the marker", "delete": "how a call removes keys", "digest": "a precondition of a call, or left out because it is that of all objects",
	"rename": "of a call that changes the comment in place: the id stays",
}

// parameters are those of Proxmox VE 9.2, and of HA groups in Proxmox VE 8. Those of a BackupJob are compared beside its fields.
var parameters = map[guest.Kind]keysOf{
	"Pool": {
		parameters: "poolid comment vms storage allow-move delete",
		without: map[string]string{
			"poolid": "the id", "vms": "which guests are in a pool is a field of the guests",
			"storage": "permissions on storages belong to their administrators: a storage in a pool gives its users the storage", "allow-move": "of the guests' field pool",
		},
	},
	"Replication": {
		parameters: "id type target schedule rate disable comment source remove_job delete digest",
		fields:     map[string]string{"enabled": "disable"},
		without: map[string]string{
			"id": "the id", "type": "there is only local", "source": "Proxmox's own note, to see that a guest was stolen", "remove_job": "the mark of a removal, which the agent makes by DELETE",
		},
	},
	"Alias": {
		parameters: "name cidr comment rename digest",
		without:    map[string]string{"name": "the id"},
	},
	"IPSet": {
		parameters: "name comment rename digest cidr nomatch force",
		fields:     map[string]string{"entries": "", "keepOthers": "", "entries.cidr": "cidr", "entries.noMatch": "nomatch", "entries.comment": "comment"},
		without:    map[string]string{"name": "the id", "force": "of a removal, when the set was seen to be unused"},
	},
	"SecurityGroup": {
		parameters: "group comment rename digest type action macro proto dport sport source dest icmp-type log enable iface pos moveto delete",
		fields:     map[string]string{"rules": "", "keepOthers": ""},
		without: map[string]string{
			"group": "the id", "iface": "Proxmox refuses it in a group (PVE::Firewall verify_rule)", "pos": "the order of the list", "moveto": "the order of the list",
		},
	},
	"AffinityRule": {
		parameters: "rule group type resources nodes strict restricted affinity disable nofailback comment delete digest",
		fields:     map[string]string{"type": "type", "guests": "resources", "enabled": "disable"},
		without: map[string]string{
			"rule": "the id", "group": "the id on Proxmox VE 8", "restricted": "the field strict on Proxmox VE 8",
			"nofailback": "the group keeps what a person set; on Proxmox VE 9 it is failback of the guest's entry with the HA manager",
		},
	},
}

// TestEveryKeyIsAField finds each parameter of Proxmox's API as a field or with the reason why it is none, and no field without a parameter.
func TestEveryKeyIsAField(t *testing.T) {
	for _, k := range kinds.All() {
		if k.Name == "BackupJob" {
			continue
		}
		keys, known := parameters[k.Name]
		if !known {
			t.Errorf("%s: got no parameters of the API, want them listed here", k.Name)
			continue
		}
		have := make(map[string]bool)
		for path, key := range nativeKeys("", k.Fields) {
			own, named := keys.fields[path]
			if named {
				key = own
			}
			switch {
			case key == "" && !named:
				t.Errorf("%s: got the field %s without a parameter, want it named here", k.Name, path)
			case key != "" && !slices.Contains(strings.Fields(keys.parameters), key):
				t.Errorf("%s: got the field %s with the key %s, which is no parameter", k.Name, path, key)
			}
			have[key] = true
		}
		for parameter := range strings.FieldsSeq(keys.parameters) {
			reason := keys.without[parameter] + ofEachKind[parameter]
			if have[parameter] == (reason != "") && parameter != "comment" {
				t.Errorf("%s: got the parameter %s as a field: %t, with the reason %q, want either", k.Name, parameter, have[parameter], reason)
			}
		}
	}
}

// nativeKeys returns the keys of fields, and of the fields of their items, by the paths of the fields.
func nativeKeys(prefix string, fields []kind.Field) map[string]string {
	keys := make(map[string]string)
	for _, f := range fields {
		keys[prefix+f.Name] = f.Key
		if items, isList := f.Form.(kind.Items); isList {
			maps.Copy(keys, nativeKeys(prefix+f.Name+".", items.Fields))
		}
	}
	return keys
}
