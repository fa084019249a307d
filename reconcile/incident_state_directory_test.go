package reconcile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile/reason"
)

// TestIncidentStateDirectoryIsRemoved removes or replaces the state directory, or only its lock file, while the agent runs. The agent must not write to the
// cluster from then on, neither for a new revision nor for a call that already waits, and must not make the directory again.
func TestIncidentStateDirectoryIsRemoved(t *testing.T) {
	t.Parallel()
	lock := func(l *lab) string { return filepath.Join(l.state, "journal", "lock") }
	tests := map[string]struct {
		remove func(l *lab) error
		back   func(l *lab) error // nil if the agent cannot continue without a restart
		exists bool               // afterwards there is a directory
	}{
		"directory_removed": {func(l *lab) error { return os.RemoveAll(l.state) }, nil, false},
		"lock_removed":      {func(l *lab) error { return os.Remove(lock(l)) }, nil, true},
		"directory_moved_and_back": {
			func(l *lab) error { return os.Rename(l.state, l.state+".away") }, func(l *lab) error { return os.Rename(l.state+".away", l.state) }, false,
		},
		"segments_removed": {func(l *lab) error {
			names, err := filepath.Glob(filepath.Join(l.state, "journal", "*.journal"))
			for _, name := range names {
				l.ok(os.Remove(name))
			}
			return err
		}, nil, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.rareTicks()
				l.files["web.yaml"] = vmYAML("web-1", 201, "description: first")
				l.files["db.yaml"] = vmYAML("db-1", 202, "description: first")
				l.push("two guests", alice)
				defer l.start()()
				l.converge()
				l.ok(l.sim.Edit(202, "description", "by hand"))
				l.ok(test.remove(l))
				l.sim.ResetCounters()
				l.files["web.yaml"] = vmYAML("web-1", 201, "description: second")
				l.push("another revision", alice)
				time.Sleep(time.Hour)
				if counters := l.sim.Counters(); counters.Writes != 0 {
					t.Errorf("got %d writes without a state directory, want none: %v", counters.Writes, counters.Routes)
				}
				w := l.engine.Report().Writes
				if w.Allowed || w.Reason != reason.StopStateDirectory || !strings.Contains(w.Message, "put the same directory back") {
					t.Errorf("got writes %+v, want them stopped with the remedy", w)
				}
				if _, err := os.Stat(l.state); (err == nil) != test.exists {
					t.Errorf("state directory: got error %v, want it to exist: %t", err, test.exists)
				}
				if _, err := os.Stat(lock(l)); err == nil && name != "segments_removed" {
					t.Error("got a new lock file, want none")
				}
				if test.back == nil {
					return
				}
				l.ok(test.back(l))
				l.engine.Hint() // the polls have become rare
				l.converge()
				if got := l.sim.Value(202, "description"); !strings.HasPrefix(got, "first") {
					t.Errorf("after its return: got description %q, want the drift repaired", got)
				}
			})
		})
	}
}
