package journal_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/journal/storetest"

	"github.com/google/go-cmp/cmp"
)

// A journal goes from files to a service and back with its chain, and both continue it.
func TestCopy(t *testing.T) {
	tests := map[string]journal.Options{
		"one segment":       {},
		"after compactions": {SegmentSize: 600, CompactAfter: 2, Retain: journal.Retain{Records: 3}},
		"large":             {},
	}
	for name, opts := range tests {
		t.Run(name, func(t *testing.T) {
			files := t.TempDir()
			opts.Dir = files
			j, err := journal.Open(opts)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 30 {
				appendAll(t, j, journal.Assigned{Kind: "Container", Name: fmt.Sprint(i % 7), VMID: 100 + i}, event("x"))
			}
			if name == "large" {
				var bodies []journal.Body
				for range 40 {
					bodies = append(bodies, event(strings.Repeat("y", 100_000)))
				}
				if err := j.Append(t.Context(), bodies...); err != nil {
					t.Fatal(err)
				}
			}
			want := j.State()
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}

			service := &storetest.Memory{}
			there, err := journal.Copy(t.Context(), journal.Directory(files), journal.Service(service.Lead()))
			if err != nil {
				t.Fatal(err)
			}
			inFiles, err := journal.Read(files, func(journal.Record) error { return nil })
			if err != nil || there.Head != inFiles.Head || there.Records != inFiles.Records {
				t.Errorf("got %+v in the service, want %+v, %v", there, inFiles, err)
			}
			j, err = journal.Open(journal.Options{Dir: t.TempDir(), Blocks: service.Lead(), SegmentSize: opts.SegmentSize, CompactAfter: opts.CompactAfter, Retain: opts.Retain})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, j.State()); diff != "" {
				t.Errorf("state (-files +service):\n%s", diff)
			}
			for i := range 20 {
				appendAll(t, j, event(fmt.Sprint("continued ", i)))
			}
			want = j.State()
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}

			back := t.TempDir()
			if _, err := journal.Copy(t.Context(), journal.Service(service.Watch()), journal.Directory(back)); err != nil {
				t.Fatal(err)
			}
			opts.Dir = back
			j, err = journal.Open(opts)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, j.State()); diff != "" || j.Healthy() != nil {
				t.Errorf("state (-service +files), %v:\n%s", j.Healthy(), diff)
			}
			appendAll(t, j, event("and on"))
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			for _, to := range []journal.Place{journal.Directory(back), journal.Service(service.Lead())} {
				if _, err := journal.Copy(t.Context(), journal.Directory(files), to); !errors.Is(err, fs.ErrExist) {
					t.Errorf("got %v, want that no journal is replaced", err)
				}
			}
		})
	}
}
