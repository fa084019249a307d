package agent

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"gitops-agent/reconcile/event"
	"gitops-agent/verify"
)

// trust owns the policy in force. Policy reads the trusted root file at each call and compares its content, because files are replaced by
// renaming, by changing a symbolic link, and within one tick of the clock. A file without a valid trusted root changes nothing. If a TUF
// repository is configured, the root from TUF replaces the root of the file, until the file is changed.
type trust struct {
	config    Config
	tuf       TUFConfig // the zero value: only the file
	log       *slog.Logger
	onRoot    func(verify.RootInfo) // called for each root that comes into force
	onRefresh func(error)           // called for each refresh by TUF, with nil if it succeeded; may be nil

	stateLost func() error // why the state directory is not the one that this process locked; nil before the journal is open

	mu        sync.Mutex // not held during requests to the network
	policy    *verify.Policy
	refreshed *refreshedRoot // the newest root from TUF; nil before the first refresh
	said      *event.Subject // what was told of a root that was rejected; nil if nothing
	rejection error          // why the newest root is not in force; nil if it is
	unfetched error          // why the newest refresh by TUF failed; nil if it did not
}

// Policy returns the policy of the config with the trusted root with which an agent would start: the root of the file, or the root that an
// earlier agent received from TUF.
func (c Config) Policy() (*verify.Policy, error) {
	if c.Trust.TUF.URL == "" {
		return c.pinnedPolicy()
	}
	t := &trust{config: c, tuf: c.Trust.TUF, log: slog.New(slog.DiscardHandler), onRoot: func(verify.RootInfo) {}}
	if err := t.restore(); err != nil {
		return nil, err
	}
	return t.Policy()
}

// Policy returns the policy in force. It returns the same pointer until another trusted root comes into force.
func (t *trust) Policy() (*verify.Policy, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.policy == nil && t.tuf.URL != "" {
		if err := t.restore(); err != nil {
			t.log.Warn("refreshed trusted root not read, the file is in force until the next refresh", "error", err)
		}
	}
	root, err := t.newestRoot()
	if err == nil && t.policy != nil && sha256.Sum256(root) == t.policy.Root().SHA256 {
		t.noteInForce()
		return t.policy, nil
	}
	var policy *verify.Policy
	if err == nil {
		policy, err = verify.NewPolicy(t.config.policyOptions(root))
	}
	switch {
	case err != nil && t.policy == nil:
		return nil, err
	case err != nil:
		t.warnOnce(root, err)
		return t.policy, nil
	}
	t.install(policy)
	return policy, nil
}

func (t *trust) store() trustStore { return trustStore{filepath.Join(t.config.StateDir, "trust")} }

// restore loads the root that an earlier agent received from the same TUF repository. After an error the root of the file is in force.
func (t *trust) restore() error {
	stored, err := t.store().load()
	if err != nil || stored == nil {
		return err
	}
	if err := t.checkRoot(stored.Root); err != nil {
		return fmt.Errorf("read refreshed trusted root: %w", err)
	}
	if stored.URL == t.tuf.URL {
		t.refreshed = stored
	}
	return nil
}

// checkRoot returns an error if the agent would have no policy with the root, or a policy that no new commit can satisfy.
func (t *trust) checkRoot(root []byte) error {
	policy, err := verify.NewPolicy(t.config.policyOptions(root))
	if err != nil {
		return err
	}
	if end := policy.Root().Expiry; !end.IsZero() && end.Before(time.Now()) {
		return fmt.Errorf("trusted root %x expired at %s", policy.Root().SHA256, end.Format(time.RFC3339))
	}
	return nil
}

// newestRoot returns the trusted root that should be in force.
func (t *trust) newestRoot() ([]byte, error) {
	pinned, err := readAgentRoot(t.config.Trust.TrustedRootFile)
	if err != nil {
		return nil, err
	}
	if t.refreshed != nil && t.refreshed.Pinned == sha256.Sum256(pinned) {
		return t.refreshed.Root, nil
	}
	return pinned, nil
}

// warnOnce logs that a root was rejected, once for each content and for each error of reading.
func (t *trust) warnOnce(root []byte, err error) {
	t.rejection = err
	about := fmt.Sprintf("%x", sha256.Sum256(root))
	if root == nil {
		about = err.Error()
	}
	t.rejected().Is(event.RootRejected, true, event.ID{about}, func() event.Details { return event.Details{Fields: []any{"error", err}} }, nil)
}

// rejected returns the subject that remembers which root was rejected.
func (t *trust) rejected() *event.Subject {
	if t.said == nil {
		t.said = event.NewSink(t.log).Subject()
	}
	return t.said
}

func (t *trust) install(policy *verify.Policy) {
	if t.policy != nil {
		t.log.Info("trusted root replaced", "sha256", fmt.Sprintf("%x", policy.Root().SHA256))
	}
	t.policy = policy
	t.noteInForce()
	t.onRoot(policy.Root())
}

// noteInForce notes that the newest root is in force.
func (t *trust) noteInForce() {
	t.rejection = nil
	t.rejected().Drop(event.RootRejected)
}

// doubt returns why a newer trusted root than that of the policy may exist: the file cannot be read or used, or the TUF repository does not serve one. The previous
// root stays in force. Nil if there is no doubt.
func (t *trust) doubt() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.policy == nil {
		return nil // Policy returns why
	}
	return cmp.Or(t.rejection, t.unfetched)
}
