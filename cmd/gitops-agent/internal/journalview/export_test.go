package journalview

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"gitops-agent/reconcile/journal"
)

func TestExport(t *testing.T) {
	t.Parallel()
	records := history()
	damage := &journal.DamageError{File: "f", Err: errors.New("a flipped bit")}
	for name, test := range map[string]struct {
		after uint64
		err   error
		first uint64
		lines int
	}{
		"whole":                       {0, nil, 1, len(records)},
		"continued":                   {10, nil, 11, len(records) - 10},
		"nothing new":                 {uint64(len(records)), nil, 0, 0},
		"damaged after these records": {0, damage, 1, len(records)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := Source{Name: "journal", Read: func(yield func(journal.Record) error) (journal.Summary, error) {
				for _, r := range records {
					if err := yield(r); err != nil {
						return journal.Summary{}, err
					}
				}
				return journal.Summary{}, test.err
			}}
			var out bytes.Buffer
			if err := Export(&out, source, test.after); !errors.Is(err, test.err) {
				t.Errorf("got the error %v, want %v", err, test.err)
			}
			lines := strings.SplitAfter(out.String(), "\n")
			lines = lines[:len(lines)-1]
			if len(lines) != test.lines {
				t.Fatalf("got %d lines, want %d:\n%s", len(lines), test.lines, out.String())
			}
			for i, line := range lines {
				var r struct{ Seq uint64 }
				if err := json.Unmarshal([]byte(line), &r); err != nil || r.Seq != test.first+uint64(i) {
					t.Errorf("got %v and record %d in line %d, want record %d: %s", err, r.Seq, i+1, test.first+uint64(i), line)
				}
			}
		})
	}
}

func TestExportStopsWhenTheOutputDoes(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	source := Source{Name: "journal", Read: func(yield func(journal.Record) error) (journal.Summary, error) {
		for i := range 1_000_000 {
			if err := yield(journal.Record{Seq: uint64(i + 1), Body: journal.Event{Name: "e"}}); err != nil {
				if i > 10_000 {
					t.Errorf("stopped only after %d records", i)
				}
				return journal.Summary{}, err
			}
		}
		return journal.Summary{}, nil
	}}
	if err := Export(failingWriter{full}, source, 0); !errors.Is(err, full) {
		t.Errorf("got %v, want %v", err, full)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }
