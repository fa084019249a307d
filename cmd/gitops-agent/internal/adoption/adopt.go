package adoption

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/agent"
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
	found, err := guestReader{cluster, term.NewProgress(opts.Notes), opts.Notes}.read(ctx, opts.VMIDs)
	if err != nil {
		return Result{}, err
	}
	a := adopter{opts: opts, conflicts: conflicts, found: found, result: Result{toFiles: opts.Dir != "", hint: opts.Hint}}
	for _, vmid := range found.vmids {
		if err := a.adopt(vmid); err != nil {
			a.refuse(vmid, err)
		}
	}
	if a.skipped > 0 {
		_, _ = fmt.Fprintf(opts.Notes, "gitops-agent: note: skipped %s that an agent or a manifest manages already\n", term.Count(a.skipped, "guest"))
	}
	return a.result, nil
}

// adopter writes the manifests of one command line.
type adopter struct {
	opts      Options
	conflicts *conflicts
	found     liveGuests
	skipped   int // guests skipped because an agent or a manifest manages them; only if no guests are named
	result    Result
}

func (a *adopter) refuse(vmid int, err error) {
	a.result.refused = append(a.result.refused, refusedGuest{vmid, err})
}

// adopt writes the manifest of a guest, or returns the reason why the guest is refused.
func (a *adopter) adopt(vmid int) error {
	o, err := a.found.guest(vmid)
	if err != nil {
		return err
	}
	if err := a.conflicts.check(o, a.opts.Force); err != nil {
		if len(a.opts.VMIDs) == 0 {
			a.skipped++
			return nil
		}
		return err
	}
	name := a.conflicts.name(o)
	adopted, err := manifest.Adopt(o, manifest.AdoptOptions{Cluster: a.opts.Config.Cluster.Name, Name: name, Env: a.opts.Env})
	var unfit *manifest.AdoptError
	switch {
	case errors.As(err, &unfit):
		return term.WithHint(err, unfit.Hint)
	case err != nil:
		return err
	}
	file := ""
	if a.opts.Dir != "" {
		if file, err = a.write(adopted); err != nil {
			return err
		}
	}
	a.result.done = append(a.result.done, adoptedGuest{adopted, file})
	return nil
}
