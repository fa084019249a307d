package audit

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/attest"
)

// Attestations name what agents stated about commits, and the keys that count. The zero value is nothing.
type Attestations struct {
	From string   // a directory, or "notes" for the notes of the repository; "" is nothing
	Keys []string // files with public keys of agents
}

func (a Attestations) check() error {
	switch {
	case a.From == "" && len(a.Keys) == 0:
		return nil
	case a.From == "":
		return term.UsageErrorf("--attestation-key belongs to --attestations")
	case len(a.Keys) == 0:
		return term.UsageErrorf("--attestations needs --attestation-key: a file with the public key of the agent; without it, a statement proves nothing")
	}
	return nil
}

// maxKeys bounds a file with public keys.
const maxKeys = 1 << 20 // bytes

// open returns the reader of the attestations, nil without any.
func (a Attestations) open(ctx context.Context, repo openRepository) (*attest.Reader, error) {
	if a.From == "" {
		return nil, nil //nolint:nilnil // there are none to read
	}
	var reader attest.Reader
	for _, path := range a.Keys {
		keys, err := readKeys(path)
		if err != nil {
			return nil, fmt.Errorf("--attestation-key %s: %w", path, err)
		}
		reader.Keys = append(reader.Keys, keys...)
	}
	var err error
	if a.From == inNotes {
		if err := repo.fetchNotes(ctx, attest.NotesRef); err != nil {
			return nil, err
		}
		reader.Source, err = attest.OpenNotes(ctx, repo.Repository)
	} else {
		reader.Source, err = attest.Directory{Path: a.From}.Open()
	}
	return &reader, err
}

func readKeys(path string) (attest.Keys, error) {
	file, err := os.Open(path) //nolint:gosec // the user chooses the path
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxKeys))
	if err != nil {
		return nil, err
	}
	return attest.ParseKeys(text)
}

// attest adds what each commit promotes, and what agents stated about it and about what it promotes.
func (a *Audit) attest(ctx context.Context, verdicts []verdict) error {
	for i, v := range verdicts {
		if v.kind != kindCommit {
			continue
		}
		verdicts[i].promotes = promotionOf(v.Verdict)
		if a.attestations == nil {
			continue
		}
		if err := verdicts[i].promotes.state(ctx, a.attestations); err != nil {
			return err
		}
		found, err := a.attestations.About(ctx, v.Object)
		if err != nil {
			return err
		}
		verdicts[i].attested = found
	}
	return nil
}

// writeAttestations prints what agents stated about the listed commits.
func writeAttestations(out io.Writer, d Document, l Listing) {
	t, rows := term.Table{}, 0
	t.AddText("COMMIT", "CLUSTER", "BRANCH", "CONVERGED", "GUESTS", "OBSERVED STATE")
	var problems []string
	for _, v := range l.selected(d) {
		for _, a := range v.Attestations {
			if a.Problem != "" {
				problems = append(problems, fmt.Sprintf("%s: an attestation counts for nothing: %s", v.shortID(), a.Problem))
				continue
			}
			rows++
			t.AddText(v.shortID(), a.Cluster, a.Branch, moment(a.Time), strconv.Itoa(a.Guests), "sha256:"+a.Observed)
		}
	}
	if rows > 0 {
		_, _ = fmt.Fprintln(out)
		t.Write(out, term.NewPalette(out))
	}
	for _, text := range problems {
		_, _ = fmt.Fprintln(out, term.Printable(text))
	}
}
