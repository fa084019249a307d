package adoption

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/agent"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest"
)

// Options name the guests to adopt, and the directory of their manifests.
type Options struct {
	Config agent.Config
	Logger *slog.Logger
	Hint   func(error) string // the remedy for an error, or ""
	Notes  io.Writer          // for notes and progress: stderr
	VMIDs  []int              // sorted; none is every guest that no agent and no manifest manages
	Dir    string             // of the files; "" writes none
	Force  bool               // overwrite files that exist
	Env    bool               // also write the environments of containers, which often contain secrets
	AsSet  bool               // write sets for guests that differ in few fields; overwrites no file
}

// Run reads the guests and writes their manifests. Its error is about all guests, such as a cluster that does not answer; Result.Err is about
// single guests.
func Run(ctx context.Context, opts Options) (Result, error) {
	conflicts, err := newConflicts(ctx, opts.Config, opts.Notes, opts.Dir)
	if err != nil {
		return Result{}, err
	}
	cluster, err := opts.Config.ProxmoxReader(opts.Logger)
	if err != nil {
		return Result{}, err
	}
	defer cluster.Close()
	progress := term.NewProgress(opts.Notes)
	defer progress.End()
	found, err := guestReader{cluster, progress, opts.Notes}.read(ctx, opts.VMIDs)
	if err != nil {
		return Result{}, err
	}
	a := adopter{opts: opts, progress: progress}
	for _, vmid := range found.vmids {
		a.choose(vmid, found, conflicts)
	}
	if err := a.adoptChosen(ctx); err != nil {
		return Result{}, err
	}
	if opts.AsSet {
		a.makeSets(conflicts)
	}
	progress.End()
	if a.skipped > 0 {
		_, _ = fmt.Fprintf(opts.Notes, "gitops-agent: note: skipped %s that an agent or a manifest manages already\n", term.Count(a.skipped, "guest"))
	}
	return a.result(), nil
}

// adopter writes the manifests of one command line.
type adopter struct {
	opts     Options
	progress *term.Progress
	chosen   []candidate // sorted by vmid
	sets     []adoptedSet
	skipped  int // guests skipped because an agent or a manifest manages them; only if no guests are named
}

// candidate is a guest that was asked for, and what became of it.
type candidate struct {
	vmid int
	seen guest.Observed
	name string // in the repository
	done adoptedGuest
	err  error // why it is refused
}

// choose adds a guest to those to adopt, and reserves its name, so that the names do not depend on the order in which manifests are written.
func (a *adopter) choose(vmid int, found liveGuests, conflicts *conflicts) {
	c := candidate{vmid: vmid}
	if c.seen, c.err = found.guest(vmid); c.err == nil {
		if c.err = conflicts.check(c.seen, a.opts.Force); c.err != nil && len(a.opts.VMIDs) == 0 {
			a.skipped++
			return
		}
	}
	if c.err == nil {
		c.name = conflicts.name(c.seen)
	}
	a.chosen = append(a.chosen, c)
}

// manifestsAtOnce is how many manifests are made and written at the same time. Most of the time of one passes while the disk syncs its file, and
// file systems sync several files at once.
const manifestsAtOnce = 32

// adoptChosen adopts the chosen guests. It fails only if ctx ends; the guests that it has adopted by then have their files.
func (a *adopter) adoptChosen(ctx context.Context) error {
	var group errgroup.Group
	group.SetLimit(manifestsAtOnce)
	var ended atomic.Int64
	for i := range a.chosen {
		c := &a.chosen[i]
		if ctx.Err() != nil {
			break
		}
		if c.err != nil {
			continue
		}
		group.Go(func() error {
			c.done, c.err = a.adopt(c.seen, c.name)
			a.progress.Show("made %d of %d manifests", ended.Add(1), len(a.chosen))
			return nil
		})
	}
	_ = group.Wait()
	if ctx.Err() != nil {
		return fmt.Errorf("adopt guests: %w", context.Cause(ctx))
	}
	return nil
}

// adopt writes the manifest of a guest, or returns the reason why the guest is refused.
func (a *adopter) adopt(o guest.Observed, name string) (adoptedGuest, error) {
	adopted, err := manifest.Adopt(o, manifest.AdoptOptions{Cluster: a.opts.Config.Cluster.Name, Name: name, Env: a.opts.Env})
	var unfit *manifest.AdoptError
	switch {
	case errors.As(err, &unfit):
		return adoptedGuest{}, term.WithHint(err, unfit.Hint)
	case err != nil:
		return adoptedGuest{}, err
	case a.opts.Dir == "" || a.opts.AsSet:
		return adoptedGuest{Adopted: adopted}, nil
	default:
		file, err := a.writeGuest(adopted)
		return adoptedGuest{Adopted: adopted, file: file}, err
	}
}

func (a *adopter) result() Result {
	r := Result{sets: a.sets, toFiles: a.opts.Dir != "", hint: a.opts.Hint}
	for _, c := range a.chosen {
		if c.err != nil {
			r.refused = append(r.refused, refusedGuest{c.vmid, c.err})
		} else {
			r.done = append(r.done, c.done)
		}
	}
	return r
}
