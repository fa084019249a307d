package journalview

import (
	"maps"
	"slices"

	"gitops-agent/reconcile/journal"
)

// maxWords bounds how many guests and how many signers a shell is offered.
const maxWords = 1000

// Words are what a journal contains and a Filter can name, sorted.
type Words struct {
	Guests, Signers []string
}

// ReadWords returns the guests and the signers of a journal, as far as it can be read.
func ReadWords(source Source) Words {
	guests, signers := map[string]bool{}, map[string]bool{}
	s := newSelection(Filter{})
	_, _ = source.Read(func(r journal.Record) error {
		about := s.subject(r.Body)
		if about.label != "" && len(guests) < maxWords {
			guests[about.label] = true
		}
		for _, signer := range about.signers {
			if signer != "" && len(signers) < maxWords {
				signers[signer] = true
			}
		}
		return nil
	})
	return Words{Guests: slices.Sorted(maps.Keys(guests)), Signers: slices.Sorted(maps.Keys(signers))}
}
