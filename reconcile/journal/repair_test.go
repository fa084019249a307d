package journal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRepairDoesNotChangeAWholeJournal(t *testing.T) {
	dir := t.TempDir()
	j := openJournal(t, Options{Dir: dir})
	mustAppend(t, j, oneOfEach()...)
	want := j.State()
	mustClose(t, j)
	appendTo(t, filepath.Join(dir, segmentName(1)), "a torn tail is not damage")
	report, err := Repair(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(RepairReport{}, report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	j = openJournal(t, Options{Dir: dir})
	if diff := cmp.Diff(want, j.State()); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

func appendTo(t *testing.T, path, content string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(content); err != nil {
		t.Fatal(err)
	}
}

// A damaged journal in a real directory is repaired and then written again.
func TestRepair(t *testing.T) {
	dir := t.TempDir()
	j := openJournal(t, Options{Dir: dir, SegmentSize: 1})
	calls := [][]Body{
		{Accepted{Commit: "c1"}, Owned{VMID: 1, Identity: "i1", Origin: Created}},
		{Begun{Step: "s1", VMID: 1, Op: "start"}, Ordered{Key: "held", State: OrderReleased}, Ordered{Key: "old", State: OrderRun}},
		{Ended{Step: "s1", Result: Done}, Ordered{Key: "new", State: OrderSeen}},
		{Owned{VMID: 2, Identity: "i2", Origin: Adopted}},
	}
	for _, c := range calls {
		mustAppend(t, j, c...)
	}
	before := j.State()
	mustClose(t, j)
	damaged := filepath.Join(dir, segmentName(6)) // the third call
	content, err := os.ReadFile(damaged)
	if err != nil {
		t.Fatal(err)
	}
	content[headerSize+frameHead+20] ^= 1
	if err := os.WriteFile(damaged, content, 0o600); err != nil {
		t.Fatal(err)
	}

	report, err := Repair(dir)
	if err != nil {
		t.Fatal(err)
	}
	if report.Damage == nil || report.Damage.File != segmentName(6) {
		t.Fatalf("got %+v, want the damage in %s", report, segmentName(6))
	}
	saved := report.Saved
	report.Damage, report.Saved = nil, ""
	want := RepairReport{Kept: 6, Lost: []Gap{{6, 7}}, LostBytes: int64(len(content) - headerSize), Orders: []string{"held"}}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if kept, err := os.ReadFile(filepath.Join(dir, saved, segmentName(6))); err != nil || !slices.Equal(kept, content) {
		t.Errorf("got %d bytes, %v, want the damaged file in %s", len(kept), err, saved)
	}

	j = openJournal(t, Options{Dir: dir})
	if err := j.Healthy(); err != nil {
		t.Fatal(err)
	}
	got := j.State()
	if got.Lineage == before.Lineage || !got.Since.After(before.Since) || got.Seq != 10 {
		t.Errorf("got lineage %s since %s at %d, want a new one at 10", got.Lineage, got.Since, got.Seq)
	}
	if got.Orders["held"].State != OrderUnknown || got.Orders["old"].State != OrderRun {
		t.Errorf("got orders %+v, want held unknown and old run", got.Orders)
	}
	if len(got.Open) != 1 || got.Open[0].Step != "s1" {
		t.Errorf("got open steps %+v, want s1, whose end was lost", got.Open)
	}
	if got.Accepted.Commit != "c1" || len(got.Owned) != 2 {
		t.Errorf("got %+v, want the records before and behind the damage", got)
	}
	mustAppend(t, j, Ended{Step: "s1", Result: Unknown})
	mustClose(t, j)
	records := readAll(t, dir)
	if len(records) != 9 || records[6].Body.(Event).Name != EventRepaired {
		t.Errorf("got %d records, want 9 with the repair in the seventh: %+v", len(records), records)
	}
	if again, err := Repair(dir); err != nil || again.Damage != nil {
		t.Errorf("got %+v, %v, want nothing left to repair", again, err)
	}
}

// Any single file is cut, emptied, changed or removed, and the machine crashes at any operation of the repair. The journal is then usable,
// contains every record of the other files, and every file still exists under its old name or in the folder of damaged files.
func TestRepairAnything(t *testing.T) {
	t.Parallel()
	_, whole := scenarioStates(t, scenario())
	names, _ := whole.list()
	damageFile := map[string]func(d *memDisk, name string){
		"gone":   func(d *memDisk, name string) { delete(d.names, name); delete(d.durable, name) },
		"empty":  func(d *memDisk, name string) { d.put(name, nil) },
		"cut":    func(d *memDisk, name string) { d.put(name, d.names[name].cache[:headerSize+frameHead+9]) },
		"header": func(d *memDisk, name string) { d.names[name].cache[5] ^= 1; d.put(name, d.names[name].cache) },
		"payload": func(d *memDisk, name string) {
			d.names[name].cache[headerSize+frameHead+9] ^= 1
			d.put(name, d.names[name].cache)
		},
	}
	for how, damageFile := range damageFile {
		for _, name := range names {
			for at := range 14 {
				t.Run(fmt.Sprintf("%s/%s/%d", how, name, at), func(t *testing.T) {
					atScenarioEnd(t, func(t *testing.T) { repairDamaged(t, whole, func(d *memDisk) { damageFile(d, name) }, at) })
				})
			}
		}
	}
}

func repairDamaged(t *testing.T, whole *memDisk, damageFile func(*memDisk), crashAt int) {
	t.Helper()
	d := whole.clone()
	damageFile(d)
	files, _ := d.list()
	left := recordsOf(t, d)
	if crashAt > 0 {
		d.crashAt(crashAt)
		if _, err := repair(d, time.Now()); err != nil && !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
		d = crashOutcomes["some"](d, rand.New(rand.NewPCG(uint64(crashAt), 3)))
	}
	report, err := repair(d, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	d = crashOutcomes["nothing_unsynced"](d, nil)
	j := openJournal(t, scenarioOptions(d))
	if j.Healthy() != nil {
		t.Fatalf("got %v after %+v, want a healthy journal", j.Healthy(), report)
	}
	mustAppend(t, j, Event{Name: "after"})
	mustClose(t, j)
	got := recordsOf(t, d)
	for seq, body := range left {
		if diff := cmp.Diff(body, got[seq]); diff != "" {
			t.Fatalf("record %d (-want +got):\n%s", seq, diff)
		}
	}
	all := slices.Collect(maps.Keys(d.names))
	for _, file := range files {
		if !slices.ContainsFunc(all, func(name string) bool { return filepath.Base(name) == file }) {
			t.Errorf("%s does not exist, want it in the folder of damaged files: %v", file, all)
		}
	}
}

// recordsOf returns the records of all valid commits in the files of d.
func recordsOf(t *testing.T, d *memDisk) map[uint64]Body {
	t.Helper()
	out := map[uint64]Body{}
	names, _ := d.list()
	for _, name := range parseListing(names).all() {
		for b := d.names[name].cache; ; {
			f, at := findFrame(b, maxPayload)
			if at < 0 {
				break
			}
			b = b[at+int(f.size()):]
			records, err := f.records()
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range records {
				out[r.Seq] = r.Body
			}
		}
	}
	return out
}

// A file of another journal in the directory is moved to the folder of damaged files and not merged.
func TestRepairSetsForeignFilesAside(t *testing.T) {
	_, foreign := manySegments(t, "foreign")
	_, d := manySegments(t, "ours")
	d.put(segmentName(3), foreign.names[segmentName(3)].cache)
	report, err := repair(d, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{segmentName(3)}, report.Foreign); diff != "" {
		t.Errorf("foreign files (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Gap{{3, 3}}, report.Lost); diff != "" {
		t.Errorf("lost (-want +got):\n%s", diff)
	}
	for seq, body := range recordsOf(t, d) {
		if body == (Event{Name: "foreign"}) {
			t.Errorf("record %d is foreign", seq)
		}
	}
}

// A number is never used twice, even if the file with the first record of that number is lost.
func TestRepairReusesNoNumber(t *testing.T) {
	_, whole := scenarioStates(t, scenario())
	names, _ := whole.list()
	l := parseListing(names)
	compacted, _ := parseName(l.base, baseSuffix)
	first, _ := parseName(l.active(), segmentSuffix)
	tests := map[string]struct {
		damageFile func(d *memDisk)
		above      uint64
	}{
		"base_lost": {func(d *memDisk) {
			d.put(l.base, nil)
			delete(d.names, l.active())
			delete(d.durable, l.active())
		}, compacted},
		"both_lost": {func(d *memDisk) {
			d.put(l.base, nil)
			d.put(l.active(), nil)
			d.names[segmentName(first+40)] = d.names[l.active()]
		}, first + 39},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := whole.clone()
			tt.damageFile(d)
			if _, err := repair(d, time.Now()); err != nil {
				t.Fatal(err)
			}
			j := openJournal(t, Options{disk: d})
			if got := j.State().Seq; got <= tt.above || j.Healthy() != nil {
				t.Errorf("got record %d as the last, %v, want more than %d", got, j.Healthy(), tt.above)
			}
		})
	}
}

// The second repair within a second uses a different folder name.
func TestRepairTwiceInASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var saved []string
		_, d := manySegments(t, "ours")
		for range 2 {
			names, _ := d.list()
			l := parseListing(names)
			d.names[l.files()[0]].cache[headerSize+9] ^= 1
			report, err := repair(d, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			saved = append(saved, report.Saved)
			j := openJournal(t, Options{disk: d})
			if err := j.Append(context.Background(), Event{Name: "x"}); err != nil {
				t.Fatal(err)
			}
			mustClose(t, j)
		}
		if diff := cmp.Diff([]string{"damaged-20000101T000000Z", "damaged-20000101T000000Z-2"}, saved); diff != "" {
			t.Errorf("folders (-want +got):\n%s", diff)
		}
	})
}
