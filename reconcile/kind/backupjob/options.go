package backupjob

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/reconcile/kind"
)

// groupOptions returns the options that the fields of a group set, by native name.
func groupOptions(fields []kind.Field, spec kind.Spec) map[string]string {
	options := make(map[string]string)
	for _, f := range fields {
		if v, set := spec[f.Name]; set {
			options[f.Key] = v.Text
		}
	}
	return options
}

// optionsText returns options in the canonical form: sorted, "enabled=1,storage=local".
func optionsText(options map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(options)) {
		parts = append(parts, name+"="+options[name])
	}
	return strings.Join(parts, ",")
}

// retentionText returns a retention in the canonical form. Proxmox ignores numbers that are 0, and keeps all backups if no other number is left.
func retentionText(options map[string]string) string {
	options = maps.Clone(options)
	maps.DeleteFunc(options, func(_, text string) bool { return text == "0" })
	if len(options) == 0 {
		return "keep-all=1"
	}
	return optionsText(options)
}

// parseOptions returns the options of a canonical text.
func parseOptions(text string) map[string]string {
	options := make(map[string]string)
	for part := range strings.SplitSeq(text, ",") {
		if name, value, found := strings.Cut(part, "="); found {
			options[name] = value
		}
	}
	return options
}

// listOf returns the vmids of a canonical list.
func listOf(text string) []int {
	var vmids []int
	for part := range strings.SplitSeq(text, ",") {
		if vmid, err := strconv.Atoi(part); err == nil {
			vmids = append(vmids, vmid)
		}
	}
	return vmids
}
