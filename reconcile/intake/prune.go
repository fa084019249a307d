package intake

import (
	"cmp"
	"slices"

	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/journal"
)

// newPrunes returns the records of downloaded files whose Image says something else about former files than before. The records keep it: they are all that is left
// when the manifest is removed.
func newPrunes(images []image.Desired, state journal.State) []journal.Body {
	if len(state.Downloaded) == 0 {
		return nil
	}
	prunes := make(map[string]bool, len(images))
	for _, d := range images {
		prunes[d.Name] = d.Prune
	}
	var changed []journal.Downloaded
	for _, record := range state.Downloaded {
		if prune, named := prunes[record.Name]; named && prune != record.Prune {
			record.Prune = prune
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
