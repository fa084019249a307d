package backupjob

import (
	"slices"
	"strconv"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/kind"
)

// raise returns the fields of the manifest that describes a job, in the order of the fields, and the keys that no field describes.
func raise(k *kind.Kind, o cluster.Object) (raised []kind.Raised, left []string) {
	simple, left := k.RaiseKeys(o.Keys)
	values := make(map[string]any)
	for _, r := range simple {
		values[r.Name] = r.Value
	}
	described := func(keys ...string) {
		left = slices.DeleteFunc(left, func(key string) bool { return slices.Contains(keys, key) })
	}
	if selection := raiseSelection(o.Keys); len(selection) > 0 {
		values["guests"] = selection
		described(keyAll, keyVMID, keyExclude, keyPool)
	}
	if text, set := o.Keys[keyCompress]; set {
		if text == "0" {
			text = "none"
		}
		values["compress"] = text
		described(keyCompress)
	}
	for _, f := range k.Fields {
		key := f.Name
		if f.Name == "retention" {
			key = keyRetention
		}
		group, isGroup := f.Form.(kind.Group)
		text, set := o.Keys[key]
		if !isGroup || !set || f.Name == "guests" {
			continue
		}
		if options, ok := raiseOptions(group.Fields, text); ok {
			values[f.Name] = options
			described(key)
		}
	}
	for _, f := range k.Fields {
		if value, set := values[f.Name]; set {
			raised = append(raised, kind.Raised{Name: f.Name, Value: value})
		}
	}
	return raised, left
}

// raiseSelection returns the fields of guests. Proxmox prefers a pool to a list, and a list to all guests.
func raiseSelection(keys map[string]string) []kind.Raised {
	switch {
	case keys[keyPool] != "":
		return []kind.Raised{{Name: "pool", Value: keys[keyPool]}}
	case keys[keyVMID] != "":
		return []kind.Raised{{Name: "vmids", Value: listOf(keys[keyVMID])}}
	case keys[keyAll] == "1" && keys[keyExclude] != "":
		return []kind.Raised{{Name: "all", Value: true}, {Name: "except", Value: listOf(keys[keyExclude])}}
	case keys[keyAll] == "1":
		return []kind.Raised{{Name: "all", Value: true}}
	}
	return nil
}

// raiseOptions returns the fields of a group, and whether they describe every option of a text.
func raiseOptions(fields []kind.Field, text string) (raised []kind.Raised, complete bool) {
	options := parseOptions(text)
	for _, f := range fields {
		value, set := options[f.Key]
		if !set {
			continue
		}
		delete(options, f.Key)
		switch f.Form.(type) {
		case kind.Flag:
			raised = append(raised, kind.Raised{Name: f.Name, Value: value == "1"})
		case kind.Integer:
			n, err := strconv.Atoi(value)
			if err != nil {
				return nil, false
			}
			raised = append(raised, kind.Raised{Name: f.Name, Value: n})
		default:
			raised = append(raised, kind.Raised{Name: f.Name, Value: value})
		}
	}
	return raised, len(options) == 0 && len(raised) > 0
}
