package backupjob

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/reason"
)

// poolKind is the kind of the object for which a job that selects a pool waits.
const poolKind guest.Kind = "Pool"

// lower completes what the fields of a manifest say: the selection, and the groups whose text is one key.
func lower(spec kind.Spec, d *kind.Desired) []kind.Problem {
	var problems []kind.Problem
	problem := func(field string, at guest.Origin, message, hint string) {
		problems = append(problems, kind.Problem{Field: field, Origin: at, Message: message, Hint: hint})
	}
	if v, set := spec["compress"]; set {
		text := v.Text
		if text == "none" {
			text = "0"
		}
		d.Put(kind.Intent{Key: keyCompress, Text: text, Origin: v.Origin})
	}
	if v, set := spec["retention"]; set {
		options := groupOptions(retentionFields(), v.Fields)
		if len(options) == 0 {
			problem("retention", v.Origin, "got no number, want keepAll or at least one number", "")
		}
		if options["keep-all"] == "1" && len(options) > 1 {
			problem("retention.keepAll", v.Origin, "got keepAll with other numbers, want keepAll alone", "")
		}
		d.Put(kind.Intent{Key: keyRetention, Text: retentionText(options), Origin: v.Origin})
	}
	for _, f := range fields() {
		v, set := spec[f.Name]
		if group, isGroup := f.Form.(kind.Group); set && isGroup && (f.Name == keyFleecing || f.Name == keyPerformance) {
			d.Put(kind.Intent{Key: f.Name, Text: optionsText(groupOptions(group.Fields, v.Fields)), Origin: v.Origin})
		}
	}
	if v, set := spec["notes"]; set {
		if unknown := unknownVariable(v.Text); unknown != "" {
			problem("notes", v.Origin, fmt.Sprintf("got the variable %q, want cluster, guestname, node or vmid", unknown), "")
		}
	}
	if v, set := spec["notes"]; set && !spec.Has("storage") {
		problems = append(problems, kind.Problem{Field: "notes", Origin: v.Origin, Message: "got notes without storage, want both", Hint: "Proxmox refuses notes of a job that leaves the storage to its default", New: true})
	}
	if v := spec["protected"]; v.Text == "1" && !spec.Has("storage") {
		problem("protected", v.Origin, "got protected without storage, want both", "")
	}
	lowerSelection(spec["guests"], d, problem)
	return problems
}

// lowerSelection puts the one selection into its key, and removes those of the others.
func lowerSelection(v kind.Value, d *kind.Desired, problem func(field string, at guest.Origin, message, hint string)) {
	chosen := slices.DeleteFunc([]string{"all", "vmids", "pool", "labels"}, func(name string) bool {
		value, set := v.Fields[name]
		return !set || name == "all" && value.Text == "0" || name == "vmids" && len(value.List) == 0 || name == "labels" && len(value.Labels) == 0
	})
	if len(chosen) != 1 {
		got := "none"
		if len(chosen) > 0 {
			got = strings.Join(chosen, " and ")
		}
		problem("guests", v.Origin, "got "+got+", want exactly one of all, vmids, pool and labels", "")
		return
	}
	except, hasExcept := v.Fields["except"]
	if hasExcept && chosen[0] != "all" {
		problem("guests.except", except.Origin, "got except with "+chosen[0]+", want it with all", "")
	}
	texts := map[string]string{keyAll: "", keyExclude: "", keyVMID: "", keyPool: ""}
	switch chosen[0] {
	case "all":
		texts[keyAll], texts[keyExclude] = "1", vmidText(except.Texts())
	case "vmids":
		texts[keyVMID] = vmidText(v.Fields["vmids"].Texts())
	case "pool":
		texts[keyPool] = v.Fields["pool"].Text
		d.Needs = append(d.Needs, kind.Need{Kind: poolKind, ID: texts[keyPool]})
	case "labels":
		d.Selects = maps.Clone(v.Fields["labels"].Labels)
	}
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		d.Put(kind.Intent{Key: key, Text: texts[key], Origin: v.Fields[chosen[0]].Origin})
	}
}

// resolve puts the vmids of the guests that have the labels into the list of the job. A guest whose manifest was removed stays in the list until it is destroyed.
func resolve(d kind.Desired, found kind.Found) (kind.Desired, *kind.Unresolved) {
	if len(d.Selects) == 0 {
		return d, nil
	}
	var vmids []string
	for _, ref := range found.Selected {
		vmids = append(vmids, fmt.Sprint(ref.VMID))
	}
	for _, vmid := range listOf(found.Live.Keys[keyVMID]) {
		if found.Orphans[vmid] {
			vmids = append(vmids, fmt.Sprint(vmid))
		}
	}
	if len(vmids) == 0 {
		var labels []string
		for _, name := range slices.Sorted(maps.Keys(d.Selects)) {
			labels = append(labels, name+"="+d.Selects[name])
		}
		return d, &kind.Unresolved{
			Cause: kind.SelectsNone, Message: "no guest of a manifest has the labels " + strings.Join(labels, ", ") + " and a vmid, and Proxmox has no job without guests",
			Hint: reason.GiveLabels.Text,
		}
	}
	at := d.Origin
	for _, in := range d.Keys {
		if in.Key == keyVMID {
			at = in.Origin
		}
	}
	d.Put(kind.Intent{Key: keyVMID, Text: vmidText(vmids), Origin: at})
	return d, nil
}

var variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{\{([^}]*)\}\}`) })

// unknownVariable returns a variable of a template that Proxmox does not know, "" if there is none.
func unknownVariable(template string) string {
	for _, found := range variable().FindAllStringSubmatch(template, -1) {
		if !slices.Contains([]string{"cluster", "guestname", "node", "vmid"}, found[1]) {
			return found[1]
		}
	}
	return ""
}
