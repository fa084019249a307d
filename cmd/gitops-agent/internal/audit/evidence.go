package audit

import (
	"context"
	"errors"

	"gitops-agent/gitsource"
	"gitops-agent/internal/evidence"
	"gitops-agent/verify"
)

// Evidence names what is known of commits that gitsign signed in its online mode. The zero value is nothing.
type Evidence struct {
	From   string // a file, or "notes" for the notes of the repository; "" is neither
	Rekor  string // address of a log that is asked about commits that From has nothing about; "" is none
	CAFile string // certificates that are trusted for the log in addition to those of the system
}

// evidenceInNotes is the word for the notes of the repository.
const evidenceInNotes = "notes"

// open returns the evidence, or nil if there is none.
func (e Evidence) open(ctx context.Context, repo openRepository, asking func(n int)) (verify.Evidence, error) {
	var chain evidence.Chain
	switch e.From {
	case "":
	case evidenceInNotes:
		if repo.source != nil {
			if err := repo.source.FetchNotes(ctx, evidence.NotesRef); err != nil && !errors.Is(err, gitsource.ErrNotFound) {
				return nil, err
			}
		}
		chain = append(chain, evidence.Notes{Repository: repo.Repository})
	default:
		set, err := evidence.ReadFile(e.From)
		if err != nil {
			return nil, err
		}
		chain = append(chain, set)
	}
	if e.Rekor != "" {
		client := &evidence.Client{URL: e.Rekor, CAFile: e.CAFile}
		if err := client.Check(); err != nil {
			return nil, err
		}
		chain = append(chain, &evidence.Live{Client: client, Repository: repo.Repository, Asking: asking})
	}
	if len(chain) == 0 {
		return nil, nil //nolint:nilnil // no evidence
	}
	return chain, nil
}

// withEvidence returns the settings with evidence, unless it is nil.
func (s trustSettings) withEvidence(e verify.Evidence) trustSettings {
	if e == nil {
		return s
	}
	switch judge := s.judge.(type) {
	case *verify.Policy:
		s.policy = judge.WithEvidence(e)
		s.judge = s.policy
	case *verify.Identifier:
		s.judge = judge.WithEvidence(e)
	}
	return s
}
