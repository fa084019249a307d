package intake

import (
	"cmp"
	"slices"

	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/journal"
)

// acceptedFiles returns the records of downloaded files whose Image says something else about former files than before, or whose manifest lies in another file. The records keep
// it: they are all that is left when the manifest is removed.
func acceptedFiles(images []image.Desired, state journal.State, files lastFiles) []journal.Body {
	if len(state.Downloaded) == 0 {
		return nil
	}
	named := make(map[string]image.Desired, len(images))
	for _, d := range images {
		named[d.Name] = d
	}
	var changed []journal.Downloaded
	for _, record := range state.Downloaded {
		d, isNamed := named[record.Name]
		if !isNamed {
			continue
		}
		before := record.Downloaded
		record.Prune, record.File = d.Prune, files.after(journal.Label{Kind: string(image.Kind), Name: d.Name}, true, record.File, d.Origin.File)
		if record.Downloaded != before {
			changed = append(changed, record.Downloaded)
		}
	}
	slices.SortFunc(changed, func(a, b journal.Downloaded) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Volume, b.Volume))
	})
	records := make([]journal.Body, 0, len(changed))
	for _, record := range changed {
		records = append(records, record)
	}
	return records
}
