package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/internal/attest"
	"gitops-agent/reconcile/intake"
	"gitops-agent/verify"
)

// PromotionConfig accepts a tree only if the agent of another cluster stated that its cluster matched it.
type PromotionConfig struct {
	// Cluster is the cluster.name of the other agent, such as staging. Required with key_files.
	Cluster string `yaml:"cluster"`
	// KeyFiles are files with the public keys of the other agent's attest.key_file, as "openssl pkey -pubout" writes them. One of the keys must have signed
	// the statement. They are read at the start and at a reload. Required with cluster.
	KeyFiles []string `yaml:"key_files"`
	// Directory has the statements, as attest.directory of the other agent: <cluster>/<commit>.json. Default: none, they are in the git notes
	// refs/notes/gitops-attestations of the remote.
	Directory string `yaml:"directory"`
}

// isSet reports whether there is such a rule.
func (p PromotionConfig) isSet() bool {
	return p.Cluster != "" || len(p.KeyFiles) > 0 || p.Directory != ""
}

// check returns an error if the settings are wrong, as far as no file is needed to find it.
func (p PromotionConfig) check(own string) error {
	switch {
	case !p.isSet():
		return nil
	case p.Cluster == "" || len(p.KeyFiles) == 0:
		return errors.New("trust.promotion: cluster and key_files are required together: the cluster that must have matched a revision, and the keys of its agent")
	case p.Cluster == own:
		return fmt.Errorf("trust.promotion.cluster: got %q, which is this cluster: name the cluster that a revision is for first", own)
	}
	return nil
}

// keys reads the keys. The error has the problems of all files.
func (p PromotionConfig) keys() (attest.Keys, error) {
	var keys attest.Keys
	var problems []error
	for i, path := range p.KeyFiles {
		field := fmt.Sprintf("trust.promotion.key_files[%d]", i)
		text, err := ReadBounded(path)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", field, err))
			continue
		}
		found, err := attest.ParseKeys(text)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %s: %w", field, path, err))
		}
		keys = append(keys, found...)
	}
	return keys, errors.Join(problems...)
}

// checkPromotion returns an error if a key or the directory cannot be used.
func (c Config) checkPromotion() error {
	p := c.Trust.Promotion
	if !p.isSet() {
		return nil
	}
	if err := p.check(c.Cluster.Name); err != nil {
		return err
	}
	_, err := p.keys()
	if p.Directory != "" {
		if info, dirErr := os.Stat(p.Directory); dirErr != nil || !info.IsDir() {
			err = errors.Join(err, fmt.Errorf("trust.promotion.directory: %s is not a directory that can be read", p.Directory))
		}
	}
	return err
}

// Promotion returns the rule of trust.promotion for a repository, nil if there is none. Unless fetch is nil, it fetches the notes with statements when those in
// the repository say nothing.
func (c Config) Promotion(repo *gitsource.Repository, fetch func(ctx context.Context, ref string) error) (*intake.Promotion, error) {
	p := c.Trust.Promotion
	if !p.isSet() {
		return nil, nil //nolint:nilnil // no rule
	}
	keys, err := p.keys()
	if err != nil {
		return nil, err
	}
	return &intake.Promotion{Cluster: p.Cluster, Statements: statements{p.Directory, keys, repo, fetch}}, nil
}

// statements are what agents stated, in a directory or in the notes of a repository.
type statements struct {
	directory string // "" for notes
	keys      attest.Keys
	repo      *gitsource.Repository
	fetch     func(ctx context.Context, ref string) error // nil fetches nothing
}

// statementsTimeout bounds one fetch of notes.
const statementsTimeout = 30 * time.Second

// Matched implements intake.Statements. If something fails, no statement was found.
func (s statements) Matched(ctx context.Context, promoted verify.Promotion) (found bool, problem, err error) {
	found, problem = s.look(ctx, promoted)
	if !found && s.directory == "" && s.fetch != nil && ctx.Err() == nil {
		fetching, cancel := context.WithTimeout(ctx, statementsTimeout)
		defer cancel()
		if fetchErr := s.fetch(fetching, attest.NotesRef); fetchErr != nil {
			problem = errors.Join(problem, fmt.Errorf("fetch notes %s: %w", attest.NotesRef, fetchErr))
		} else {
			found, problem = s.look(ctx, promoted)
		}
	}
	return found, problem, ctx.Err()
}

// look looks for a statement without the network.
func (s statements) look(ctx context.Context, promoted verify.Promotion) (found bool, problem error) {
	source, err := s.open(ctx)
	if err != nil {
		return false, err
	}
	found, problem, err = attest.Reader{Source: source, Keys: s.keys}.Matched(ctx, promoted.Cluster, promoted.Branch, promoted.Commit)
	return found, errors.Join(problem, err)
}

func (s statements) open(ctx context.Context) (attest.Source, error) {
	if s.directory != "" {
		return attest.Directory{Path: s.directory}.Open()
	}
	return attest.OpenNotes(ctx, s.repo)
}
