package journal_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/journal"
)

var updateCompat = flag.Bool("update-compat", false, "rewrite the golden files of the older journals; only the code that wrote the journals may do that")

// readAfter is the age at which the tests read the older journals. The journals were written within the first hours of the year
// 2000, the time at which a synctest bubble starts, so that destroys and freed vmids of the last 24 hours are part of the state.
const readAfter = 12 * time.Hour

// olderJournals returns the folders under testdata that hold a journal of an older version.
func olderJournals(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob("testdata/v*/*/journal")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("got %d older journals, %v, want some", len(dirs), err)
	}
	for i, dir := range dirs {
		dirs[i] = filepath.Dir(dir)
	}
	return dirs
}

// eachOlderJournal runs test on a copy of every older journal, 12 hours after the journal was begun.
func eachOlderJournal(t *testing.T, test func(t *testing.T, fixture, dir string)) {
	t.Helper()
	for _, fixture := range olderJournals(t) {
		t.Run(filepath.Base(filepath.Dir(fixture))+"/"+filepath.Base(fixture), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "journal")
			if err := os.CopyFS(dir, os.DirFS(filepath.Join(fixture, "journal"))); err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(readAfter)
				test(t, fixture, dir)
			})
		})
	}
}

// compatState is a State with names that do not depend on the names of Go fields.
type compatState struct {
	Lineage             string                             `json:"lineage"`
	Since               time.Time                          `json:"since"`
	Seq                 uint64                             `json:"seq"`
	Accepted            *journal.Accepted                  `json:"accepted"`
	AcceptedAt          time.Time                          `json:"acceptedAt"`
	Open                []compatStep                       `json:"open"`
	Assigned            map[string]int                     `json:"assigned"`
	Owned               map[int]journal.Owned              `json:"owned"`
	Guarded             map[int]journal.Guarded            `json:"guarded"`
	Applied             map[int]journal.Applied            `json:"applied"`
	IneffectiveRestarts map[int]journal.IneffectiveRestart `json:"futile"`
	Orders              map[string]compatOrder             `json:"orders"`
	Freed               map[int]time.Time                  `json:"freed"`
	Destroys            []time.Time                        `json:"destroys"`
}

type compatStep struct {
	Begun      journal.Begun `json:"begun"`
	Seq        uint64        `json:"seq"`
	Time       time.Time     `json:"time"`
	Dispatched int           `json:"dispatched"`
	UPID       string        `json:"upid"`
}

type compatOrder struct {
	Ordered journal.Ordered `json:"ordered"`
	Time    time.Time       `json:"time"`
}

func compatOf(s journal.State) compatState {
	c := compatState{
		Lineage: s.Lineage, Since: s.Since, Seq: s.Seq, Accepted: s.Accepted, AcceptedAt: s.AcceptedAt,
		Assigned: map[string]int{}, Owned: s.Owned, Guarded: s.Guarded, Applied: s.Applied, IneffectiveRestarts: s.IneffectiveRestarts,
		Orders: map[string]compatOrder{}, Freed: s.Freed, Destroys: s.Destroys,
	}
	for _, o := range s.Open {
		c.Open = append(c.Open, compatStep{o.Begun, o.Seq, o.Time, o.Dispatched, o.UPID})
	}
	for label, vmid := range s.Assigned {
		c.Assigned[label.Kind+"/"+label.Name] = vmid
	}
	for key, o := range s.Orders {
		c.Orders[key] = compatOrder{o.Ordered, o.Time}
	}
	return c
}

// ignoredFields matches the fields of a guarded record that the older version wrote and the current one ignores: nothing reads them.
var ignoredFields = regexp.MustCompile(`,\s*"(shutdownTimeoutNanos|protection)":\s*(\d+|true)`)

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *updateCompat {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want = ignoredFields.ReplaceAll(want, nil)
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("got another content than %s (-want +got):\n%s", path, diff)
	}
}

func indentJSON(t *testing.T, v any) []byte {
	t.Helper()
	out, err := json.MarshalIndent(v, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	return append(out, '\n')
}

// readRecords returns every record of the journal in dir as a line of JSON.
func readRecords(t *testing.T, dir string) ([]byte, journal.Summary) {
	t.Helper()
	var lines bytes.Buffer
	summary, err := journal.Read(dir, func(r journal.Record) error {
		line, err := json.Marshal(r)
		lines.Write(append(line, '\n'))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines.Bytes(), summary
}

// TestReadsOlderJournals reads every older journal to exactly the records and the state that the version which wrote it reads, without
// the ignored fields.
func TestReadsOlderJournals(t *testing.T) {
	eachOlderJournal(t, func(t *testing.T, fixture, dir string) {
		records, summary := readRecords(t, dir)
		golden(t, filepath.Join(fixture, "records.jsonl"), records)
		golden(t, filepath.Join(fixture, "summary.json"), indentJSON(t, map[string]any{
			"lineage": summary.Lineage, "since": summary.Since, "files": summary.Files, "records": summary.Records, "seq": summary.Seq,
			"head": summary.Head, "bytes": summary.Bytes, "tornBytes": summary.TornBytes,
		}))
		state, err := journal.ReadState(dir)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, filepath.Join(fixture, "state.json"), indentJSON(t, compatOf(state)))
	})
}

// TestOpensAndExtendsOlderJournals opens every older journal, appends to it, opens it again and compacts it. The state of the older
// records stays the same throughout.
func TestOpensAndExtendsOlderJournals(t *testing.T) {
	eachOlderJournal(t, func(t *testing.T, fixture, dir string) {
		before, _ := readRecords(t, dir)
		old, err := journal.ReadState(dir)
		if err != nil {
			t.Fatal(err)
		}
		open := func(opts journal.Options) *journal.Journal {
			opts.Dir = dir
			j, err := journal.Open(opts)
			if err != nil {
				t.Fatal(err)
			}
			if err := j.Healthy(); err != nil {
				t.Fatalf("got an unhealthy journal: %v", err)
			}
			return j
		}
		ok := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		same := func(got journal.State, seq uint64) {
			t.Helper()
			want := old
			want.Seq = seq
			if diff := cmp.Diff(compatOf(want), compatOf(got)); diff != "" {
				t.Errorf("got another state than the older version's (-want +got):\n%s", diff)
			}
		}

		j := open(journal.Options{})
		same(j.State(), old.Seq)
		ok(j.Append(t.Context(), journal.Event{Name: "filler", Message: "after the older version"}))
		same(j.State(), old.Seq+1)
		ok(j.Close())
		after, _ := readRecords(t, dir)
		if !bytes.HasPrefix(after, before) || bytes.Count(after, []byte("\n")) != bytes.Count(before, []byte("\n"))+1 {
			t.Errorf("got records\n%s\nwant those of before and one more:\n%s", after, before)
		}

		compacted := 0
		j = open(journal.Options{SegmentSize: 2 << 10, CompactAfter: 1, OnCompact: func(c journal.Compacted) {
			ok(c.Err)
			compacted++
		}, Retain: journal.Retain{Age: time.Hour}})
		same(j.State(), old.Seq+1)
		time.Sleep(2 * time.Hour)
		const fillers = 10
		for range fillers {
			ok(j.Append(t.Context(), journal.Event{Name: "filler", Message: strings.Repeat("x", 1000)}))
		}
		same(j.State(), old.Seq+1+fillers)
		ok(j.Close())
		if compacted == 0 {
			t.Error("got no compaction, want some")
		}
		j = open(journal.Options{})
		same(j.State(), old.Seq+1+fillers)
		ok(j.Close())
	})
}

// TestOlderJournalsHoldEveryKind proves that the older journals cover each kind of record that their version writes.
func TestOlderJournalsHoldEveryKind(t *testing.T) {
	kinds := map[string]bool{}
	for _, fixture := range olderJournals(t) {
		_, err := journal.Read(filepath.Join(fixture, "journal"), func(r journal.Record) error {
			kinds[r.Kind()] = true
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range []string{
		"accepted", "begun", "dispatched", "ended", "assigned", "owned", "disowned", "guarded", "applied", "futile", "ordered", "event",
	} {
		if !kinds[kind] {
			t.Errorf("got no record of kind %s in the older journals, want one", kind)
		}
	}
	if len(kinds) != 12 {
		t.Errorf("got %d kinds, want 12", len(kinds))
	}
	names := olderJournals(t)
	for _, want := range []string{"compacted", "compaction_interrupted", "every_kind", "torn"} {
		if !slices.ContainsFunc(names, func(name string) bool { return filepath.Base(name) == want }) {
			t.Errorf("got no fixture %s in %v", want, names)
		}
	}
}
