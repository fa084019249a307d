package agent

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"
)

// retryRefresh is the time until the next refresh after a failed one, if the configured interval is longer.
const retryRefresh = time.Hour

// keepFresh refreshes the trusted root until ctx ends. It returns at once if no TUF repository is configured.
func (t *trust) keepFresh(ctx context.Context) {
	if t.tuf.URL == "" {
		return
	}
	for ctx.Err() == nil {
		wait := t.tuf.interval()
		if err := t.refresh(ctx); err != nil {
			wait = min(wait, retryRefresh)
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// refresh fetches the trusted root of the TUF repository once, and installs it if it is new and valid. It logs and returns errors; after an
// error the root in force does not change.
func (t *trust) refresh(ctx context.Context) error {
	err := t.fetchAndInstall(ctx)
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err() // the agent stops, so this is not an error of the mirror
	}
	t.mu.Lock()
	t.unfetched = err
	t.mu.Unlock()
	if err != nil {
		t.log.WarnContext(ctx, "trusted root not refreshed, the previous one stays in force", "url", t.tuf.URL, "error", err)
	}
	if t.onRefresh != nil {
		t.onRefresh(err)
	}
	return err
}

func (t *trust) fetchAndInstall(ctx context.Context) error {
	if t.stateLost != nil {
		if err := t.stateLost(); err != nil {
			return fmt.Errorf("refresh trusted root: %w", err) // storing the root would make the directory again
		}
	}
	root, err := t.tuf.fetch(ctx, t.store().cache())
	if err != nil {
		return fmt.Errorf("refresh trusted root: %w", err)
	}
	if err := t.checkRoot(root); err != nil {
		return fmt.Errorf("check refreshed trusted root: %w", err)
	}
	err = t.setRefreshed(root)
	_, policyErr := t.Policy()
	return errors.Join(err, policyErr)
}

// setRefreshed stores a root from TUF. It ignores the root of the last refresh, so that this root does not replace a file that was changed
// since.
func (t *trust) setRefreshed(root []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.refreshed != nil && sha256.Sum256(t.refreshed.Root) == sha256.Sum256(root) {
		return nil
	}
	pinned, err := readAgentRoot(t.config.Trust.TrustedRootFile)
	if err != nil {
		return err
	}
	t.refreshed = &refreshedRoot{URL: t.tuf.URL, Pinned: sha256.Sum256(pinned), Root: root}
	return t.store().save(t.refreshed)
}
