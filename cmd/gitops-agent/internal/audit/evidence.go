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

// inNotes is the word for the notes of the repository.
const inNotes = "notes"

// open returns the sources of evidence, in the order in which they are asked.
func (e Evidence) open(ctx context.Context, repo openRepository, asking func(n int)) ([]verify.Evidence, error) {
	var sources []verify.Evidence
	switch e.From {
	case "":
	case inNotes:
		if err := repo.fetchNotes(ctx, evidence.NotesRef); err != nil {
			return nil, err
		}
		sources = append(sources, evidence.NewNotes(repo.Repository))
	default:
		set, err := evidence.ReadFile(e.From)
		if err != nil {
			return nil, err
		}
		sources = append(sources, set)
	}
	if e.Rekor != "" {
		client := &evidence.Client{URL: e.Rekor, CAFile: e.CAFile}
		if err := client.Check(); err != nil {
			return nil, err
		}
		sources = append(sources, &evidence.Live{Client: client, Repository: repo.Repository, Asking: asking})
	}
	return sources, nil
}

// fetchNotes fetches the notes of a ref of a remote, if it has some.
func (r openRepository) fetchNotes(ctx context.Context, ref string) error {
	if r.source == nil {
		return nil
	}
	if err := r.source.FetchNotes(ctx, ref); err != nil && !errors.Is(err, gitsource.ErrNotFound) {
		return err
	}
	return nil
}

// withEvidence returns the settings with evidence.
func (s trustSettings) withEvidence(sources []verify.Evidence) trustSettings {
	if len(sources) == 0 {
		return s
	}
	switch judge := s.judge.(type) {
	case *verify.Policy:
		s.policy = judge.WithEvidence(sources...)
		s.judge = s.policy
	case *verify.Identifier:
		s.judge = judge.WithEvidence(sources...)
	}
	return s
}
