package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// oneOfEach returns a record of every kind, with every field set.
func oneOfEach() []Body {
	proven := time.Date(2026, 3, 1, 12, 0, 0, 5000, time.UTC)
	return []Body{
		Accepted{
			Commit: "c1", Tree: "t1", Branch: "main", ProvenTime: proven, Sequence: 7,
			Subject: "ana@example.org", Issuer: "https://issuer.example",
		},
		Evidence{Commit: "c1", Bundle: `{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json"}`},
		Begun{
			Step: "s1", VMID: 101, Kind: "VirtualMachine", Name: "web-1", Node: "pve1", Op: "create", Class: "live",
			Revision: "main@sha1:c1", StepDigest: "d1", TaskVMID: 9000, TaskTypes: []string{"qmclone"}, TaskID: "debian.qcow2",
			Detail: map[string]string{"storage": "local-lvm"}, TakesBack: map[string]string{"memory": "a1"},
		},
		Dispatched{Step: "s1", UPID: "UPID:pve1:1", Refused: true},
		Ended{Step: "s1", Result: Failed, Error: "clone: <no space> \"left\"", Sent: true},
		Assigned{Kind: "VirtualMachine", Name: "web-1", VMID: 101},
		Owned{VMID: 101, Kind: "VirtualMachine", Name: "web-1", Identity: "i1", Tag: "gitops-0a", UUID: "u1", Origin: Created, Task: "UPID:pve1:a", Configuring: true, Unstarted: true, CreatedWith: "secrets.key=0a source=0b"},
		Guarded{
			VMID: 101, Kind: "VirtualMachine", Name: "web-1", Destroy: "deny", Recreate: "approve", Identity: "i1", Gone: true, File: "web/web-1.yaml",
			Rules: GuardRules{RebootPolicy: "window", Window: "Sat 02:00-04:00 UTC", ShutdownSeconds: 180, Suspended: "without end", MovedTo: 102},
		},
		ClusterGuarded{MaxDestroysPerDay: 3, Approvals: 2},
		Applied{
			VMID: 101, Identity: "i1", Fingerprints: map[string]string{"cipassword": "f1"}, Booted: true, BootedAt: proven,
			Process:  Process{Node: "pve1", PID: 4711, Uptime: 60, Start: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)},
			InEffect: map[string]Effect{"ipconfig0": {Print: "a1", Since: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)}, "scsi1": {Device: "local-lvm:vm-101-disk-1", Unknown: true}},
			Waiting:  map[string]string{"ipconfig0": "b2", "scsi1": ""}, Unlisted: true,
		},
		IneffectiveRestart{VMID: 101, Revision: "main@sha1:c1", StepDigest: "d2", Over: true},
		Attached{
			VMID: 101, Identity: "i1", Volumes: map[string]string{"scsi0": "local-lvm:vm-101-disk-0", "scsi1": ""}, Filling: []string{"scsi2"},
			Others: []string{"local-lvm:vm-101-disk-9"},
		},
		Snapshots{VMID: 101, Identity: "i1", Due: proven, Failed: "no space", Taken: []TakenSnapshot{{Name: "s1", Key: "k1", Keep: 3, Failed: "busy"}}},
		Repeated{VMID: 101, Over: true},
		Flapping{VMID: 101, Kind: "VirtualMachine", Name: "web-1", Level: 6.5},
		Seen{VMID: 101, Kind: "VirtualMachine", Name: "web-1", Identity: "i1", Keys: map[string]string{"memory": "f1"}},
		Waited{Step: "s1", Seconds: 60, Uptime: 86400, UptimeAt: 30},
		Ordered{
			Key: "k1", Order: "d1", Subject: "bo@example.org", Issuer: "https://issuer.example", Signer: "bo", Commit: "c2",
			ProvenTime: proven, State: OrderReleased, Step: "s1", VMID: 101, Identity: "i1", Entry: "e1", Guests: []string{"VirtualMachine/web-*"}, Paths: []string{"web"}, Limited: true, Why: "no", UPID: "UPID:pve1:1", Log: "a\nb", Volume: "pbs:backup/vm/101/2026-01-01T00:00:00Z",
			Change: ListChange{Kind: "IPSet", ID: "admins", Final: "f1"},
		},
		Overridden{VMID: 101, Order: "k1", State: "stopped", Until: proven},
		Writer{Number: 3, Nonce: "ABCDEFGHIJKLMNOP"},
		Introduced{Kind: "VirtualMachine", Name: "web-1", VMID: 101, Removed: true, By: []Introduction{
			{Signer: "ana", Entry: "e1", Limited: true, Commit: "c1", Fields: []string{AllFields, "spec.vmid"}},
		}},
		Event{Name: "held", VMID: 101, Revision: "main@sha1:c1", Message: "waits for approval", Detail: "it restarts the guest", Hint: "gitops-agent approve 1f"},
		Disowned{VMID: 102, Reason: "destroyed"},
		Rollout{
			Name: "web", Revision: "c1", State: RolloutFailed, Batch: 3, Batches: 11, Guests: 200, Since: proven, Why: "not ready", Failed: []int{101}, Order: "k1",
		},
		Staged{VMID: 101, Kind: "VirtualMachine", Name: "web-1", Rollout: "web", Batch: 3, Released: true, Removed: true, Commit: "c0", Tree: "t0", By: []Introduction{
			{Signer: "ana", Entry: "e1", Commit: "c0", Fields: []string{AllFields}},
		}},
		PolicyInForce{
			Name: "two-nics", File: "web/policies.yaml", Line: 1, Column: 1, On: "step", Operations: []string{"destroy"}, Classes: []string{"destructive"}, Kinds: []string{"Container"},
			When: "true", Result: "requireApproval", Approvals: 2, Message: "ask", MessageExpression: "step.op", By: []PolicySigner{{Signer: "wanda", Paths: []string{"web"}, Guests: []string{"Container/web-*"}}},
		},
		Left{VMID: 101, Files: []string{"web/prod/web-1.yaml"}, Labels: []string{"VirtualMachine/web-0"}},
		Placed{VMID: 101, Kind: "VirtualMachine", Name: "web-1", Node: "pve2", Reason: "least memory of 3 that fit"},
		Downloaded{Name: "debian-13", Node: "pve1", Volume: "local:import/debian-13-4a6b0d1c2e3f.qcow2", Size: 1 << 30, Task: "UPID:pve1:d", Prune: true, File: "images.yaml", Gone: true},
		OwnedObject{Kind: "Pool", ID: "prod/web", Name: "web", Identity: "5e", Marker: "gitops-0011aabb", Origin: Created, Claiming: true, Destroy: "deny", File: "pools.yaml", Agreed: map[string]AgreedText{"a": {Text: "b", Unsure: true}, "c": {}}},
		DisownedObject{Kind: "Pool", ID: "old", Reason: "removed"},
	}
}

func openJournal(t testing.TB, opts Options) *Journal {
	t.Helper()
	j, err := Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

func mustAppend(t testing.TB, j *Journal, bodies ...Body) {
	t.Helper()
	if err := j.Append(context.Background(), bodies...); err != nil {
		t.Fatal(err)
	}
}

func mustClose(t testing.TB, j *Journal) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

func readAll(t testing.TB, dir string) []Record {
	t.Helper()
	var records []Record
	_, err := Read(dir, func(r Record) error { records = append(records, r); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return records
}

func bodiesOf(records []Record) []Body {
	var out []Body
	for _, r := range records {
		out = append(out, r.Body)
	}
	return out
}

func TestAppendSurvivesReopening(t *testing.T) {
	dir := t.TempDir()
	j := openJournal(t, Options{Dir: dir})
	if !j.Recovered().Created {
		t.Error("got Created false, want true in an empty directory")
	}
	mustAppend(t, j, oneOfEach()...)
	before := j.State()
	mustClose(t, j)
	if diff := cmp.Diff(before, j.State()); diff != "" {
		t.Errorf("state after Close (-before +after):\n%s", diff)
	}

	j = openJournal(t, Options{Dir: dir})
	if diff := cmp.Diff(before, j.State()); diff != "" {
		t.Errorf("state after reopening (-want +got):\n%s", diff)
	}
	r := j.Recovered()
	if r.Created || r.Records != len(oneOfEach()) || r.Files != 1 || r.TornBytes != 0 {
		t.Errorf("got %+v, want %d records of one file", r, len(oneOfEach()))
	}
	records := readAll(t, dir)
	if diff := cmp.Diff(oneOfEach(), bodiesOf(records)); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

func TestAppendNormalizes(t *testing.T) {
	dir := t.TempDir()
	j := openJournal(t, Options{Dir: dir})
	elsewhere := time.Date(2026, 3, 1, 14, 0, 0, 0, time.FixedZone("CEST", 7200))
	mustAppend(t, j, Accepted{Commit: "c", ProvenTime: elsewhere}, Begun{Step: "s", VMID: 1, Op: "config\xff", Detail: map[string]string{}})
	before := j.State()
	mustClose(t, j)
	j = openJournal(t, Options{Dir: dir})
	if diff := cmp.Diff(before, j.State()); diff != "" {
		t.Errorf("state after reopening (-want +got):\n%s", diff)
	}
	if got := before.Accepted.ProvenTime.String(); got != "2026-03-01 12:00:00 +0000 UTC" {
		t.Errorf("got proven time %s, want it in UTC", got)
	}
}

func TestAppendRefuses(t *testing.T) {
	tests := map[string]struct {
		before []Body
		bodies []Body
	}{
		"no_body":              {nil, []Body{nil}},
		"pointer":              {nil, []Body{&Event{Name: "x"}}},
		"accepted_nothing":     {nil, []Body{Accepted{}}},
		"begun_without_step":   {nil, []Body{Begun{VMID: 1, Op: "start"}}},
		"begun_without_vmid":   {nil, []Body{Begun{Step: "s", Op: "start"}}},
		"begun_without_op":     {nil, []Body{Begun{Step: "s", VMID: 1}}},
		"begun_twice":          {[]Body{Begun{Step: "s", VMID: 1, Op: "start"}}, []Body{Begun{Step: "s", VMID: 1, Op: "start"}}},
		"dispatched_unknown":   {nil, []Body{Dispatched{Step: "s"}}},
		"ended_unknown":        {nil, []Body{Ended{Step: "s", Result: Done}}},
		"ended_twice":          {[]Body{Begun{Step: "s", VMID: 1, Op: "start"}}, []Body{Ended{Step: "s", Result: Done}, Ended{Step: "s", Result: Done}}},
		"ended_without_result": {[]Body{Begun{Step: "s", VMID: 1, Op: "start"}}, []Body{Ended{Step: "s"}}},
		"result_not_defined":   {[]Body{Begun{Step: "s", VMID: 1, Op: "start"}}, []Body{Ended{Step: "s", Result: "maybe"}}},
		"assigned_no_name":     {nil, []Body{Assigned{Kind: "Container", VMID: 1}}},
		"assigned_negative":    {nil, []Body{Assigned{Kind: "Container", Name: "a", VMID: -1}}},
		"owned_no_identity":    {nil, []Body{Owned{VMID: 1, Origin: Created}}},
		"owned_no_origin":      {nil, []Body{Owned{VMID: 1, Identity: "i"}}},
		"disowned_nothing":     {nil, []Body{Disowned{}}},
		"applied_no_identity":  {nil, []Body{Applied{VMID: 101}}},
		"futile_no_revision":   {nil, []Body{IneffectiveRestart{VMID: 101, StepDigest: "d"}}},
		"attached_no_identity": {nil, []Body{Attached{VMID: 101}}},
		"snapshot_no_key":      {nil, []Body{Snapshots{VMID: 101, Identity: "i", Taken: []TakenSnapshot{{Name: "s1", Keep: 1}}}}},
		"guarded_nothing":      {nil, []Body{Guarded{Destroy: "deny"}}},
		"ordered_no_key":       {nil, []Body{Ordered{State: OrderSeen}}},
		"ordered_no_state":     {nil, []Body{Ordered{Key: "k"}}},
		"order_comes_back":     {[]Body{Ordered{Key: "k", State: OrderRun}}, []Body{Ordered{Key: "k", State: OrderReleased}}},
		"order_back_in_a_call": {nil, []Body{Ordered{Key: "k", State: OrderUnknown}, Ordered{Key: "k", State: OrderSeen}}},
		"event_no_name":        {nil, []Body{Event{}}},
		"too_long":             {nil, []Body{Event{Name: "x", Message: strings.Repeat("x", MaxAppend)}}},
		"all_or_none":          {nil, []Body{Event{Name: "x"}, Ended{Step: "s", Result: Done}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			j := openJournal(t, Options{Dir: dir})
			mustAppend(t, j, tt.before...)
			if err := j.Append(t.Context(), tt.bodies...); !errors.Is(err, ErrRefused) {
				t.Errorf("got %v, want ErrRefused", err)
			}
			if err := j.Healthy(); err != nil {
				t.Errorf("got %v, want a healthy journal", err)
			}
			mustAppend(t, j, Event{Name: "next"})
			records := readAll(t, dir)
			want := append(append([]Body{}, tt.before...), Event{Name: "next"})
			if diff := cmp.Diff(want, bodiesOf(records)); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
		})
	}
}

// After a restart, the journal still rejects records about steps that are open and orders that have ended.
func TestAppendRefusesAfterReopening(t *testing.T) {
	dir := t.TempDir()
	j := openJournal(t, Options{Dir: dir})
	mustAppend(t, j, Begun{Step: "s", VMID: 1, Op: "start"}, Ordered{Key: "k", State: OrderRun})
	mustClose(t, j)
	j = openJournal(t, Options{Dir: dir})
	for _, b := range []Body{Begun{Step: "s", VMID: 1, Op: "start"}, Ordered{Key: "k", State: OrderSeen}} {
		if err := j.Append(t.Context(), b); !errors.Is(err, ErrRefused) {
			t.Errorf("%+v: got %v, want ErrRefused", b, err)
		}
	}
	mustAppend(t, j, Ended{Step: "s", Result: Unknown}, Begun{Step: "s", VMID: 1, Op: "start"})
}

// Concurrent calls share commits. Each caller's calls stay in order, and the records of a call stay together.
func TestAppendConcurrently(t *testing.T) {
	dir := t.TempDir()
	var commits, synced int
	j := openJournal(t, Options{Dir: dir, SegmentSize: 4096, CompactAfter: 3, OnSync: func(s Sync) { commits++; synced += s.Records }})
	const writers, calls = 16, 25
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range calls {
				step := fmt.Sprintf("w%d-%d", w, i)
				if err := j.Append(t.Context(), Begun{Step: step, VMID: w + 1, Op: "config"}, Ended{Step: step, Result: Done}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	mustClose(t, j)
	if synced != 2*writers*calls || commits >= writers*calls {
		t.Errorf("got %d records in %d commits, want %d in fewer than %d", synced, commits, 2*writers*calls, writers*calls)
	}
	records := readAll(t, dir)
	next := map[int]int{}
	for i := 0; i < len(records); i += 2 {
		begun, ok := records[i].Body.(Begun)
		if !ok {
			t.Fatalf("record %d: got %T, want Begun", i, records[i].Body)
		}
		w := begun.VMID - 1
		if want := fmt.Sprintf("w%d-%d", w, next[w]); begun.Step != want {
			t.Fatalf("got step %s, want %s", begun.Step, want)
		}
		next[w]++
		if diff := cmp.Diff(Body(Ended{Step: begun.Step, Result: Done}), records[i+1].Body); diff != "" {
			t.Fatalf("the next record (-want +got):\n%s", diff)
		}
	}
	if len(records) != 2*writers*calls {
		t.Errorf("got %d records, want %d", len(records), 2*writers*calls)
	}
}

func TestAppendEndsWithContext(t *testing.T) {
	j := openJournal(t, Options{Dir: t.TempDir()})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 50 {
		if err := j.Append(ctx, Event{Name: "x"}); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want context.Canceled", err)
		}
	}
	waitForWriter(t, j)
	if got := j.State().Seq; got != 0 {
		t.Errorf("got seq %d, want 0: no record was sent to the writer", got)
	}
}

// Calls wait while the disk is busy. If they exceed one commit together, they share several commits.
func TestAppendBoundsCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newMemDisk()
		var commits []Sync
		j := openJournal(t, Options{disk: d, OnSync: func(s Sync) { commits = append(commits, s) }})
		const calls = 20
		resume := make(chan struct{})
		d.fault = func(int, string, string) error { <-resume; return nil }
		for range calls {
			go func() {
				if err := j.Append(t.Context(), Event{Name: "x", Message: strings.Repeat("x", sharedCommit/4)}); err != nil {
					t.Error(err)
				}
			}()
		}
		synctest.Wait() // all calls wait, most of them for the first commit
		close(resume)
		synctest.Wait()
		mustClose(t, j)
		for i, c := range commits {
			if c.Bytes > sharedCommit+frameHead+64 {
				t.Errorf("commit %d: got %d bytes, want at most %d", i, c.Bytes, sharedCommit)
			}
		}
		if len(commits) >= calls || len(commits) < calls/4 {
			t.Errorf("got %d commits for %d calls of a quarter commit, want them shared and bounded", len(commits), calls)
		}
		if got := j.State().Seq; got != calls {
			t.Errorf("got record %d as the last, want %d", got, calls)
		}
	})
}

func TestAppendNothing(t *testing.T) {
	j := openJournal(t, Options{Dir: t.TempDir()})
	mustAppend(t, j)
	if got := j.State().Seq; got != 0 {
		t.Errorf("got seq %d, want 0", got)
	}
}

func TestCloseRefusesAppends(t *testing.T) {
	j := openJournal(t, Options{Dir: t.TempDir()})
	mustClose(t, j)
	mustClose(t, j)
	if err := j.Append(t.Context(), Event{Name: "x"}); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

func TestOpenLocksTheDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		j := openJournal(t, Options{Dir: dir})
		_, err := Open(Options{Dir: dir})
		if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("(process %d)", os.Getpid())) {
			t.Errorf("got %v, want ErrLocked with this process's id", err)
		}
		if _, err := Repair(dir); !errors.Is(err, ErrLocked) {
			t.Errorf("Repair: got %v, want ErrLocked", err)
		}
		mustClose(t, j)
		mustClose(t, openJournal(t, Options{Dir: dir}))
	})
}

func TestOpenKeepsFilesPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "state")
	mustAppend(t, openJournal(t, Options{Dir: dir}), Event{Name: "x"})
	want := map[string]os.FileMode{".": 0o700, lockName: 0o600, segmentName(1): 0o600}
	for name, mode := range want {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != mode {
			t.Errorf("%s: got mode %o, want %o", name, got, mode)
		}
	}
}

func TestOpenWithoutDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", file} {
		if _, err := Open(Options{Dir: dir}); err == nil {
			t.Errorf("%q: got no error, want one", dir)
		}
	}
}

// A State does not change when the journal takes more records.
func TestStateIsASnapshot(t *testing.T) {
	dir := t.TempDir()
	j := openJournal(t, Options{Dir: dir})
	mustAppend(t, j, oneOfEach()...)
	mustAppend(t, j, Begun{Step: "s2", VMID: 5, Op: "start"})
	before := j.State()
	mustClose(t, j)
	j = openJournal(t, Options{Dir: dir})
	again := j.State()
	mustAppend(
		t, j, Accepted{Commit: "later"}, Dispatched{Step: "s2", UPID: "u"}, Assigned{Kind: "VirtualMachine", Name: "web-1"},
		Owned{VMID: 300, Identity: "i", Origin: Created}, Ordered{Key: "k1", State: OrderRun}, Disowned{VMID: 101},
	)
	after := j.State()
	if diff := cmp.Diff(before, again); diff != "" {
		t.Errorf("the state taken before (-want +got):\n%s", diff)
	}
	if after.Accepted.Commit != "later" || after.Open[0].UPID != "u" || len(after.Assigned) != 0 || len(after.Guarded) != 0 ||
		after.Orders["k1"].State != OrderRun || len(after.Owned) != 1 {
		t.Errorf("got %+v, want every change in it", after)
	}
}

// OnRecord gets every record once and in order: those that are appended, and at the next start those on disk.
func TestOnRecord(t *testing.T) {
	dir := t.TempDir()
	var got []Body
	opts := Options{Dir: dir, OnRecord: func(r Record) { got = append(got, r.Body) }}
	j := openJournal(t, opts)
	mustAppend(t, j, oneOfEach()...)
	mustClose(t, j)
	if diff := cmp.Diff(oneOfEach(), got); diff != "" {
		t.Errorf("appended records (-want +got):\n%s", diff)
	}
	got = nil
	mustClose(t, openJournal(t, opts))
	if diff := cmp.Diff(oneOfEach(), got); diff != "" {
		t.Errorf("records on disk (-want +got):\n%s", diff)
	}
}
