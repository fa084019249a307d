package comment

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Outcome is what became of the comment.
type Outcome string

// The outcomes.
const (
	Created  Outcome = "created"
	Updated  Outcome = "updated"
	Same     Outcome = "unchanged"
	Outdated Outcome = "outdated" // a later run has written the comment already
)

// Times between attempts.
const (
	firstWait = time.Second
	lastWait  = time.Minute
)

// Keep brings the comment of a name to a text, and repeats what fails for a passing reason until ctx ends. Each attempt looks for the comment again, so that
// a request of which the answer was lost makes no second comment.
func Keep(ctx context.Context, p Place, markerName, text string) (Outcome, error) {
	if err := errors.Join(p.Check(), CheckName(markerName)); err != nil {
		return "", err
	}
	k := keeper{Place: p, name: markerName, body: bodyOf(p.Kind, markerName, p.Run, text)}
	wait := firstWait
	for {
		outcome, err := k.attempt(ctx)
		if err == nil || !isTemporary(err) {
			return outcome, err
		}
		var refused *statusError
		pause := wait
		if errors.As(err, &refused) && refused.wait > pause {
			pause = min(refused.wait, lastWait)
		}
		select {
		case <-ctx.Done():
			return "", err
		case <-time.After(pause):
		}
		wait = min(2*wait, lastWait)
	}
}

// keeper keeps one comment.
type keeper struct {
	Place
	name, body string
	own        []string // names of the account of the token
	created    bool
}

func (k *keeper) attempt(ctx context.Context) (Outcome, error) {
	if k.own == nil {
		own, err := k.accounts(ctx)
		if err != nil {
			return "", err
		}
		k.own = own
	}
	mine, err := k.mine(ctx)
	if err != nil {
		return "", err
	}
	if len(mine) == 0 {
		k.created = true
		if err := k.create(ctx, k.body); err != nil {
			return "", err
		}
		if mine, err = k.mine(ctx); err != nil || len(mine) == 0 { // another run may have made one at the same time
			return Created, err
		}
	}
	return k.settle(ctx, mine)
}

// settle keeps the oldest comment, with the newest text, and deletes the others.
func (k *keeper) settle(ctx context.Context, mine []note) (Outcome, error) {
	newest := k.body
	newestRun := k.Run
	for _, n := range mine {
		if run, _ := runOf(k.name, n.Body); run > newestRun {
			newest, newestRun = n.Body, run
		}
	}
	outcome := Same
	if k.created {
		outcome = Created
	}
	if mine[0].Body != newest {
		if err := k.edit(ctx, mine[0].ID, newest); err != nil {
			return "", err
		}
		outcome = Updated
	}
	for _, n := range mine[1:] {
		if err := k.remove(ctx, n.ID); err != nil {
			return "", err
		}
	}
	if newest != k.body {
		outcome = Outdated
	}
	return outcome, nil
}

// mine returns the comments with the marker that the account of the token wrote, the oldest first.
func (k *keeper) mine(ctx context.Context) ([]note, error) {
	all, err := k.notes(ctx)
	if err != nil {
		return nil, err
	}
	mine := slices.DeleteFunc(all, func(n note) bool {
		_, marked := runOf(k.name, n.Body)
		return !marked || !slices.Contains(k.own, n.User.name()+n.Author.name())
	})
	slices.SortFunc(mine, func(a, b note) int { return int(a.ID - b.ID) })
	return mine, nil
}
