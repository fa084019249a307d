package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"gitops-agent/cmd/gitops-agent/internal/audit"
	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/gitsource"
	"gitops-agent/internal/evidence"
	"gitops-agent/verify"

	"github.com/spf13/cobra"
)

func newEvidenceCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "evidence",
		Short: "Evidence of a transparency log about commits of gitsign's online mode",
		Long: help("Fetches what a transparency log knows of commits that gitsign signed in its online mode.",
			ending{term.ExitDone, "done"}, ending{term.ExitError, "error"}),
		Args: groupArgs,
		RunE: func(*cobra.Command, []string) error { return term.UsageErrorf("choose fetch") },
	}
	cmd.AddCommand(newEvidenceFetchCommand(p))
	return cmd
}

func newEvidenceFetchCommand(p *program) *cobra.Command {
	opts := evidenceOptions{repo: ".", client: &evidence.Client{}}
	cmd := &cobra.Command{
		Use:   "fetch REV | TAG | A..B",
		Short: "Fetch from a Rekor log what proves commits of gitsign's online mode",
		Long: help(`Asks a Rekor v1 log with a search index for the entry of each commit that gitsign signed in its online mode, which writes nothing of the log into
the commit. The entries are written as Sigstore bundles into git notes of the repository (refs/notes/gitops-evidence), or into a file. They are
fetched once and verified offline: by the agent, which reads the notes of its remote, and by verify --evidence.

A range A..B follows first parents; --side-branches adds what its merges bring in. A tag is looked up with the tags that it names and its commit. Objects
that have evidence already, or that need none, are skipped. --again also looks up commits with evidence, for example after somebody changed the notes. The command tells
the log the ids of the other objects, also of a private repository. It verifies only that an entry is about the object and its certificate; verify checks
the rest.`,
			ending{term.ExitDone, "every object has the evidence that it needs"},
			ending{term.ExitError, "error; what was found before it is written"},
			ending{term.ExitRefused, "the log has no entry of some objects"}),
		Example: `  gitops-agent evidence fetch origin/main~20..HEAD --rekor https://rekor.sigstore.dev
  git push origin refs/notes/gitops-evidence
  gitops-agent evidence fetch HEAD --rekor https://rekor.sigstore.dev --file evidence.jsonl`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.revision = args[0]
			return runEvidenceFetch(cmd.Context(), p.out, p.err, opts)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.client.URL, "rekor", "", "the `URL` of the log")
	flags.StringVar(&opts.client.CAFile, "rekor-ca-file", "", "a `file` with certificates to trust for the log in addition to those of the system")
	flags.StringVar(&opts.repo, "repo", opts.repo, "the `directory` of the repository")
	flags.BoolVar(&opts.sides, "side-branches", false, "also look up the commits that the merges of a range bring in")
	flags.BoolVar(&opts.again, "again", false, "also look up what has evidence already, and replace it")
	flags.StringVar(&opts.file, "file", "", "add the evidence to this `file`, one bundle on each line, instead of the notes")
	return cmd
}

type evidenceOptions struct {
	revision string
	client   *evidence.Client
	repo     string
	file     string // "" writes notes
	sides    bool   // with the side branches of a range
	again    bool   // also what has evidence
}

func runEvidenceFetch(ctx context.Context, out, notes io.Writer, opts evidenceOptions) error {
	if opts.client.URL == "" {
		return term.UsageErrorf("--rekor is required: the address of the log")
	}
	if err := opts.client.Check(); err != nil {
		return term.UsageErrorf("--rekor: %v", err)
	}
	repo, err := audit.OpenLocal(gitsource.FindRepository(opts.repo))
	if err != nil {
		return err
	}
	f := evidenceFetch{evidenceOptions: opts, repo: repo, progress: term.NewProgress(notes), found: map[gitsource.ID][]byte{}}
	tags, commits, err := audit.Objects(ctx, repo, opts.revision, opts.sides, f.progress.Show)
	if err != nil {
		return err
	}
	f.ids, f.tags = append(tags, commits...), len(tags)
	if f.known, err = f.present(); err != nil {
		return err
	}
	err = f.ask(ctx)
	f.progress.End()
	if err := errors.Join(err, f.write(context.WithoutCancel(ctx))); err != nil {
		return err
	}
	f.print(out)
	if len(f.missing) > 0 {
		return term.WithStatus(term.ExitRefused, nil)
	}
	return nil
}

// evidenceFetch is one run of the command.
type evidenceFetch struct {
	evidenceOptions

	repo     *gitsource.Repository
	progress *term.Progress
	ids      []gitsource.ID // the tags, then the commits
	tags     int
	known    verify.Evidence // what was fetched before

	found   map[gitsource.ID][]byte
	missing []gitsource.ID
	had     int // objects that have evidence already
}

// present returns the evidence that was fetched before.
func (f *evidenceFetch) present() (verify.Evidence, error) {
	if f.file == "" {
		return evidence.NewNotes(f.repo), nil
	}
	set, err := evidence.ReadFile(f.file)
	if errors.Is(err, fs.ErrNotExist) {
		return evidence.Set{}, nil
	}
	return set, err
}

// ask asks the log about each object that needs evidence and has none.
func (f *evidenceFetch) ask(ctx context.Context) error {
	for i, id := range f.ids {
		certificate, err := verify.OnlineCertificate(ctx, f.repo, id)
		if err != nil {
			return err
		}
		if certificate == nil {
			continue
		}
		if text, err := f.known.Bundles(ctx, id); err != nil {
			return err
		} else if len(text) > 0 && !f.again {
			f.had++
			continue
		}
		f.progress.Show("%d of %d objects, %d found", i, len(f.ids), len(f.found))
		bundle, err := f.client.Find(ctx, id, certificate)
		switch {
		case err != nil:
			return err
		case bundle == nil:
			f.missing = append(f.missing, id)
		default:
			f.found[id] = bundle
		}
	}
	return nil
}

// write writes what was found.
func (f *evidenceFetch) write(ctx context.Context) error {
	switch {
	case len(f.found) == 0:
		return nil
	case f.file == "":
		return evidence.WriteNotes(ctx, f.evidenceOptions.repo, f.found)
	}
	var bundles [][]byte
	for _, id := range f.ids {
		if b := f.found[id]; b != nil {
			bundles = append(bundles, b)
		}
	}
	return evidence.Append(f.file, bundles)
}

func (f *evidenceFetch) print(out io.Writer) {
	needed := len(f.found) + f.had + len(f.missing)
	objects := term.Count(len(f.ids)-f.tags, "commit")
	if f.tags > 0 {
		objects = term.Count(f.tags, "tag") + ", " + objects
	}
	_, _ = fmt.Fprintf(out, "%s: %d of the online mode, %d fetched, %d known before, %d not in the log\n",
		objects, needed, len(f.found), f.had, len(f.missing))
	for _, id := range f.missing {
		_, _ = fmt.Fprintf(out, "not in the log: %s\n", id)
	}
	if len(f.missing) > 0 && slices.Contains(f.ids[:f.tags], f.missing[0]) {
		_, _ = fmt.Fprintln(out, "older releases of gitsign logged a tag under an id that is not the tag's, and such an entry cannot be found: sign the tag again")
	}
	if len(f.found) > 0 && f.file == "" {
		_, _ = fmt.Fprintf(out, "push the notes: git push origin %s\n", evidence.NotesRef)
	}
}
