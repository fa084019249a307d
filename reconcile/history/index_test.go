package history_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	_ "gitops-agent/internal/memtemp"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/history"
	"gitops-agent/reconcile/journal"
)

var noon = time.Date(2026, time.March, 22, 12, 0, 0, 0, time.UTC)

// indexOf returns an index of records that follow each other by a second.
func indexOf(bodies ...journal.Body) *history.Index {
	x := &history.Index{}
	for i, b := range bodies {
		x.Add(journal.Record{Seq: uint64(i), Time: noon.Add(time.Duration(i) * time.Second), Body: b})
	}
	return x
}

const (
	commit   = "3f2a1c94d07b5f2e6a8c1b0d9e4f7a6b5c3d2e1f"
	revision = "main@sha1:" + commit
)

func life() *history.Index {
	return indexOf(
		journal.Accepted{Commit: commit, Subject: "alice@example.org", Issuer: "https://accounts.example.org", ProvenTime: noon.Add(-time.Minute)},
		journal.Owned{VMID: 201, Kind: "VirtualMachine", Name: "web-1", Origin: journal.Created, Claiming: true},
		journal.Begun{Step: "s1", VMID: 201, Kind: "VirtualMachine", Name: "web-1", Op: "create", Class: "live", Revision: revision},
		journal.Dispatched{Step: "s1", UPID: "UPID:pve1:1"},
		journal.Begun{Step: "s2", VMID: 202, Kind: "Container", Name: "dns-1", Op: "destroy", Class: "destructive", Revision: revision},
		journal.Dispatched{Step: "s1"},
		journal.Ended{Step: "s1", Result: journal.Done},
		journal.Owned{VMID: 201, Kind: "VirtualMachine", Name: "web-1", Origin: journal.Created},
		journal.Ended{Step: "s2", Result: journal.Failed, Error: strings.Repeat("ü", 400)},
		journal.Ordered{Key: "k", Step: "s2", Subject: "bob@example.org", State: journal.OrderRun},
		journal.Event{Name: "drifted", VMID: 201, Revision: revision, Message: "cluster"},
		journal.Event{Name: event.RecordConverged, Revision: revision},
		journal.Event{Name: event.RecordRefused, Revision: "9be1", Message: "unsigned"},
		journal.Event{Name: event.RecordRefused, Revision: "9be1", Message: "unsigned", Detail: "commit is not signed", Hint: "sign it"},
		journal.Disowned{VMID: 202, Reason: "gone"},
	)
}

func TestIndex(t *testing.T) {
	t.Parallel()
	x := life()
	at := func(s int) time.Time { return noon.Add(time.Duration(s) * time.Second) }
	want := []history.Entry{
		{Time: at(10), Name: "drifted", Guest: "VirtualMachine/web-1", VMID: 201, Text: "cluster", Revision: revision, Signer: "alice@example.org"},
		{Time: at(7), Name: "created", Guest: "VirtualMachine/web-1", VMID: 201},
		{
			Time: at(2), Name: "create", Guest: "VirtualMachine/web-1", VMID: 201, Class: "live", Step: "s1", Result: journal.Done, Ended: at(6), Tasks: []string{"UPID:pve1:1"},
			Revision: revision, Signer: "alice@example.org",
		},
	}
	if diff := cmp.Diff(want, x.Entries("", 201, 10)); diff != "" {
		t.Errorf("entries of 201 (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[:1], x.Entries("VirtualMachine/web-1", 201, 1)); diff != "" {
		t.Errorf("newest entry of 201 (-want +got):\n%s", diff)
	}
	if got := x.Entries("Container/dns-1", 0, 10); len(got) != 2 || got[0].Name != "disowned" || got[1].Released != "bob@example.org" {
		t.Errorf("got %+v, want the destroy that bob released, and the end of the ownership", got)
	}
	steps := x.Steps(10)
	if len(steps) != 2 || steps[0].Step != "s2" || len(steps[0].Text) > 510 || !strings.HasSuffix(steps[0].Text, "ü…") {
		t.Errorf("got steps %+v, want s2 with a clipped error, then s1", steps)
	}
	wantRevisions := []history.Revision{
		{Commit: "9be1", Time: at(13), Refused: "unsigned", Error: "commit is not signed", Hint: "sign it"},
		{Commit: commit, Time: at(0), Signer: "alice@example.org", Issuer: "https://accounts.example.org", Proven: noon.Add(-time.Minute), Converged: at(11), Steps: 2},
	}
	if diff := cmp.Diff(wantRevisions, x.Revisions(10)); diff != "" {
		t.Errorf("revisions (-want +got):\n%s", diff)
	}
}

func TestRunningStep(t *testing.T) {
	t.Parallel()
	steps := indexOf(journal.Begun{Step: "s1", VMID: 201, Kind: "VirtualMachine", Name: "web-1", Op: "create"}).Steps(1)
	if len(steps) != 1 || !steps[0].Running() {
		t.Errorf("got %+v, want a step that runs", steps)
	}
}

// TestIndexIsBounded adds 300,000 records and measures what the index keeps.
func TestIndexIsBounded(t *testing.T) {
	x := &history.Index{}
	held := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	add := func(from, to int) {
		text := strings.Repeat("x", 10_000)
		for i := from; i < to; i++ {
			step := fmt.Sprintf("s%d", i)
			x.Add(journal.Record{Body: journal.Accepted{Commit: step}})
			x.Add(journal.Record{Body: journal.Begun{Step: step, VMID: 100 + i%1000, Kind: "VirtualMachine", Name: "a", Op: "config", Revision: step}})
			x.Add(journal.Record{Body: journal.Ended{Step: step, Result: journal.Failed, Error: text}})
		}
	}
	add(0, 10_000)
	before := held()
	add(10_000, 100_000)
	if after := held(); after > before+1<<20 {
		t.Errorf("got %d bytes after 100,000 steps, want about the %d after 10,000", after, before)
	}
	if got := len(x.Steps(1 << 20)); got > 4000 || got < 2000 {
		t.Errorf("got %d steps, want 2,000 to 4,000", got)
	}
	runtime.KeepAlive(x)
}
