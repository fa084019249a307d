package journal

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestPresent removes or replaces what the journal needs while it is open. The journal notices this, takes no records, and makes no file again.
func TestPresent(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		remove   func(dir string) error
		returns  func(dir string) error // nil if nothing can undo it
		replaced bool                   // there is a file under the name of the lock
	}{
		"lock_removed": {func(dir string) error { return os.Remove(filepath.Join(dir, lockName)) }, nil, false},
		"lock_replaced": {func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, lockName)), os.WriteFile(filepath.Join(dir, lockName), nil, 0o600))
		}, nil, true},
		"directory_removed": {os.RemoveAll, nil, false},
		"directory_moved_and_back": {
			func(dir string) error { return os.Rename(dir, dir+".away") }, func(dir string) error { return os.Rename(dir+".away", dir) }, false,
		},
		"directory_replaced_by_a_copy": {func(dir string) error {
			return errors.Join(os.Rename(dir, dir+".away"), os.CopyFS(dir, os.DirFS(dir+".away")))
		}, nil, true},
		"segment_removed": {func(dir string) error { return os.Remove(filepath.Join(dir, segmentName(1))) }, nil, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "journal")
			j := openJournal(t, Options{Dir: dir})
			if err := errors.Join(j.Append(t.Context(), Event{Name: "first"}), j.Present()); err != nil {
				t.Fatalf("before: got %v, want no error", err)
			}
			if err := test.remove(dir); err != nil {
				t.Fatal(err)
			}
			if err := j.Append(t.Context(), Event{Name: "second"}); !errors.Is(err, ErrGone) {
				t.Errorf("append: got %v, want ErrGone", err)
			}
			if err := j.Present(); !errors.Is(err, ErrGone) {
				t.Errorf("got %v, want ErrGone", err)
			}
			if _, err := os.Lstat(filepath.Join(dir, lockName)); (err == nil) != test.replaced {
				t.Errorf("lock file: got error %v, want it there: %t", err, test.replaced)
			}
			if seq := j.State().Seq; seq != 1 {
				t.Errorf("got %d records, want the first alone", seq)
			}
			if test.returns == nil {
				return
			}
			if err := test.returns(dir); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(j.Present(), j.Append(t.Context(), Event{Name: "third"})); err != nil {
				t.Errorf("after its return: got %v, want no error", err)
			}
		})
	}
}
