package journalview

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/journal"
)

// damagedJournal returns the directory of a journal of three records, the first of which was changed, and its bytes.
func damagedJournal(t *testing.T) (dir string, content []byte) {
	t.Helper()
	dir = t.TempDir()
	j, err := journal.Open(journal.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two", "three"} {
		if err := j.Append(t.Context(), journal.Event{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.journal"))
	if err != nil || len(files) != 1 {
		t.Fatalf("got files %q and %v, want one", files, err)
	}
	content, err = os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	content[bytes.Index(content, []byte("one"))] = 'O'
	if err := os.WriteFile(files[0], content, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, content
}

func TestRepairAsks(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answer string
		want   string // in the error; "" is a repair
	}{
		"no":      {"no\n", "not confirmed"},
		"nothing": {"", "not confirmed"},
		"yes":     {"yes\n", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir, before := damagedJournal(t)
			var out, asked strings.Builder
			opts := RepairOptions{Dir: dir, Prompt: term.Prompt{In: strings.NewReader(test.answer), Out: &asked, Interactive: true}}
			err := Repair(&out, opts)
			if !strings.Contains(asked.String(), "the journal is damaged") || !strings.HasSuffix(asked.String(), "Repair it?\n[y/N] ") {
				t.Errorf("got question %q", asked.String())
			}
			_, damage := journal.Read(dir, func(journal.Record) error { return nil })
			if test.want == "" {
				if err != nil || damage != nil || !strings.Contains(out.String(), "lost    record 1, ") {
					t.Errorf("got %v, then %v, and\n%s\nwant a repair that lost record 1", err, damage, out.String())
				}
				return
			}
			after, readErr := os.ReadFile(filepath.Join(dir, "00000000000000000001.journal"))
			if err == nil || !strings.Contains(err.Error(), test.want) || out.Len() > 0 || !bytes.Equal(before, after) || readErr != nil {
				t.Errorf("got %v and %q, want nothing to be changed", err, out.String())
			}
			if !errors.As(damage, new(*journal.DamageError)) {
				t.Errorf("got %v, want the damage as it was", damage)
			}
		})
	}
}

func TestRepairDocumentNamesWhatIsLost(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		document repairDocument
		want     string
	}{
		"nothing":   {repairDocument{}, ""},
		"one":       {repairDocument{Lost: []gap{{4, 4}}}, "record 4"},
		"several":   {repairDocument{Lost: []gap{{1, 2}, {7, 7}}}, "records 1 to 2, record 7"},
		"compacted": {repairDocument{LostCompacted: 3}, "3 records of the last compaction"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.document.lost(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
