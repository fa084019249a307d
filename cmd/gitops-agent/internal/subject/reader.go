package subject

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/audit"
	"gitops-agent/cmd/gitops-agent/internal/planview"
	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/gitsource"
	"gitops-agent/internal/agent"
	"gitops-agent/internal/evidence"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/verify"
)

// A Reader reads manifests and the state of the journal.
type Reader struct {
	Config agent.Config
	Notes  io.Writer // for notes and warnings: stderr
}

// Read returns the manifests of a working copy if dir is not "", those of a fetched revision if ref is not "", and otherwise those of the
// accepted revision. It prints their warnings.
func (r Reader) Read(ctx context.Context, ref, dir string) (planview.Subject, error) {
	state, err := r.State()
	if err != nil {
		return planview.Subject{}, err
	}
	return r.ReadWith(ctx, state, ref, dir)
}

// ReadWith is Read for a journal that was read before.
func (r Reader) ReadWith(ctx context.Context, state journal.State, ref, dir string) (planview.Subject, error) {
	subject, err := r.find(ctx, state, ref, dir)
	for _, w := range slices.Concat(subject.Set.Warnings, subject.Set.Ended(time.Now()), subject.Set.Secrets, subject.Set.Mistakes) {
		_, _ = fmt.Fprintf(r.Notes, "gitops-agent: warning: %s\n", term.Printable(w.String()))
	}
	return subject, err
}

// ReadIfAccepted is Read without a revision, but returns no manifests if dir is "" and the agent has not accepted a revision yet.
func (r Reader) ReadIfAccepted(ctx context.Context, dir string) (planview.Subject, error) {
	state, err := r.State()
	switch {
	case err != nil:
		return planview.Subject{}, err
	case dir == "" && state.Accepted == nil:
		r.Note("no revision is accepted yet, so only the needs of the agent itself are checked; --dir DIR adds the manifests of a working copy")
		return planview.Subject{State: state}, nil
	default:
		return r.ReadWith(ctx, state, "", dir)
	}
}

func (r Reader) find(ctx context.Context, state journal.State, ref, dir string) (planview.Subject, error) {
	switch {
	case dir != "":
		return r.workingCopy(ctx, dir, state, manifest.Parse)
	case ref != "":
		return r.revision(ctx, ref, state)
	default:
		return r.Accepted(ctx, state)
	}
}

// State reads the state of the journal. Without a journal the agent owns no guests.
func (r Reader) State() (journal.State, error) {
	state, err := r.Config.JournalState(context.Background())
	var damage *journal.DamageError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.Note("there is no journal in %s: the plan is that of an agent that owns no guest", r.Config.StateDir)
		return journal.State{}, nil
	case errors.As(err, &damage):
		r.Note("the journal is damaged (%v): the plan uses the records before the damage, and what they do not name is unknown", err)
		return state, nil
	default:
		return state, err
	}
}

// Base returns the manifests of a directory in place of those that the agent accepted last. What earlier releases accepted is read as they did.
func (r Reader) Base(ctx context.Context, dir string) (planview.Subject, error) {
	return r.workingCopy(ctx, dir, journal.State{}, manifest.ParseEarlier)
}

// Note prints a note about what the result is based on.
func (r Reader) Note(format string, args ...any) {
	_, _ = fmt.Fprintf(r.Notes, "gitops-agent: note: %s\n", term.Printable(fmt.Sprintf(format, args...)))
}

func (r Reader) scope() intake.Scope {
	return intake.Scope{Cluster: r.Config.Cluster.Name, Paths: r.Config.Source.Paths}
}

func (r Reader) workingCopy(ctx context.Context, dir string, state journal.State, parse parser) (planview.Subject, error) {
	set, err := read(ctx, []folder{{dir: dir, prefix: repositoryPrefix(dir, r.Config.Source.Paths)}}, parse)
	switch {
	case errors.As(err, new(*manifest.Problems)):
		return planview.Subject{}, term.WithHint(err, "gitops-agent validate "+dir+" prints the same problems")
	case err != nil:
		return planview.Subject{}, err
	case set.Cluster.Name != r.Config.Cluster.Name:
		return planview.Subject{}, term.WithHint(
			fmt.Errorf("%s: the Cluster is named %q, but this agent manages %q", set.Cluster.Origin, set.Cluster.Name, r.Config.Cluster.Name),
			"plan the folder of the cluster of this agent, or correct cluster.name in its config")
	}
	return planview.Subject{Basis: planview.BasisWorkingCopy, Revision: dir, Set: set, State: state}, nil
}

// Accepted returns the manifests of the revision that the agent accepted last.
func (r Reader) Accepted(ctx context.Context, state journal.State) (planview.Subject, error) {
	if state.Accepted == nil && state.Unread != nil {
		return planview.Subject{}, fmt.Errorf("it is unknown which revision is in force: %w", state.Unread)
	}
	if state.Accepted == nil {
		return planview.Subject{}, term.WithHint(errors.New("the agent has not accepted any revision yet"),
			"gitops-agent plan --dir DIR plans a working copy, --ref REV a fetched revision")
	}
	repo, err := r.repository()
	if err != nil {
		return planview.Subject{}, err
	}
	return r.load(ctx, repo, gitsource.ID(state.Accepted.Commit), planview.BasisAccepted, true, state)
}

// revision returns the manifests of any commit of the fetched repository, trusted or not: a plan changes nothing.
func (r Reader) revision(ctx context.Context, ref string, state journal.State) (planview.Subject, error) {
	repo, err := r.repository()
	if err != nil {
		return planview.Subject{}, err
	}
	id, err := repo.Resolve(ctx, ref)
	if err != nil {
		return planview.Subject{}, term.WithHint(err, "only a revision that the agent fetched can be planned; --dir DIR plans a working copy")
	}
	if state.Accepted != nil && state.Accepted.Commit == string(id) {
		return r.load(ctx, repo, id, planview.BasisAccepted, true, state)
	}
	on := planview.BasisVerified
	rev, err := r.verify(ctx, repo, id, state)
	if err != nil {
		on = planview.BasisUnverified
		r.Note("%.7s is not verified, and the agent would not apply it: %v", string(id), err)
	} else if obstacle, err := r.checkPromotion(ctx, repo, rev); err != nil {
		return planview.Subject{}, err
	} else if obstacle != "" {
		on = planview.BasisNotPromoted
		r.Note("%.7s is verified, and the agent would %s", string(id), obstacle)
	}
	return r.load(ctx, repo, id, on, err == nil && rev.IsUnchanged(), state)
}

// checkPromotion returns how trust.promotion would refuse a revision or let it wait, and why, "" if it does neither. Statements that the agent has not fetched
// count as missing.
func (r Reader) checkPromotion(ctx context.Context, repo *gitsource.Repository, rev verify.Revision) (obstacle string, err error) {
	promotion, err := r.Config.Promotion(repo, nil)
	if err != nil {
		return "", err
	}
	err = promotion.Check(ctx, repo, rev)
	refused := intake.Refusal(rev.Commit(), err)
	if refused == nil {
		return "", err
	}
	would := "refuse it"
	if errors.As(err, new(*intake.StatementMissingError)) {
		would = "not apply it yet"
	}
	return fmt.Sprintf("%s: %s: %s; %s", would, refused.Reason, refused.Error, refused.Hint), nil
}

// verify returns an error if the policy of the agent does not accept a revision now.
func (r Reader) verify(ctx context.Context, repo *gitsource.Repository, id gitsource.ID, state journal.State) (verify.Revision, error) {
	policy, err := r.Config.Policy()
	if err != nil {
		return verify.Revision{}, err
	}
	base := verify.Base{}
	if a := state.Accepted; a != nil {
		base = verify.Base{Commit: gitsource.ID(a.Commit), ProvenTime: a.ProvenTime}
	}
	return intake.WithEvidence(policy, state, id, evidence.NewNotes(repo)).Check(ctx, repo, id, base)
}

func (r Reader) repository() (*gitsource.Repository, error) {
	repo, err := gitsource.OpenRepository(r.Config.RepositoryDir())
	return repo, term.WithHint(err, "the agent fetches the repository when it runs; --dir DIR plans a working copy without it")
}

// load reads the manifests of a commit. If it has the tree that is in force, they are read as they were accepted.
func (r Reader) load(ctx context.Context, repo *gitsource.Repository, id gitsource.ID, on planview.Basis, inForce bool, state journal.State) (planview.Subject, error) {
	commit, err := repo.Commit(ctx, id)
	if err != nil {
		return planview.Subject{}, err
	}
	tree, err := audit.TreeOf(commit)
	if err != nil {
		return planview.Subject{}, err
	}
	read := intake.Load
	if inForce {
		read = intake.LoadAccepted
	}
	set, err := read(ctx, repo, id, tree, r.scope())
	if err != nil {
		return planview.Subject{}, err
	}
	return planview.Subject{Basis: on, Revision: r.Config.Source.Branch + "@sha1:" + string(id), Set: set, State: state}, nil
}
