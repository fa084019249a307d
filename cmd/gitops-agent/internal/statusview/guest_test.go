package statusview

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/history"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

func TestWriteGuest(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.March, 22, 12, 0, 0, 0, time.UTC)
	g := report.Guest{
		GuestName: report.GuestName{Kind: guest.VirtualMachine, Name: "web-1", VMID: 201, Node: "pve1"}, Managed: true, Sync: report.OutOfSync, Health: report.Healthy,
		Operation: report.Waiting, Status: guest.StatusRunning, Tags: []string{"prod", "web"}, DependsOn: []string{"Container/dns-1", "Container/gone"},
		ObservedAt: now.Add(-5 * time.Second), DriftSince: now.Add(-90 * time.Second), Converged: now.Add(-2 * time.Minute), Revision: "main@sha1:3f2a1c94",
		Schedules: []report.Schedule{
			{Field: "schedule", Words: "every day at 02:30", Next: now.Add(time.Hour)}, {Field: "schedule", Words: "day 1 of every month in 2023 at 02:00"},
		},
		Snapshots: &report.Snapshots{Schedule: "daily", Taken: 3, Newest: now.Add(-36 * time.Hour), LateSince: now.Add(-12 * time.Hour)},
		Changes:   []report.Change{{Key: "memory", From: "2048", To: "4096", Class: guest.Live, Note: "hotplug", Origin: "web.yaml:12:5"}, {Key: "tags", From: "a", Class: guest.Live}},
		Held:      []report.HeldStep{{Op: cluster.OpReboot, Hold: report.Hold{Reason: reason.Approval, Message: "0 of 1 approvals", Hint: "gitops-agent approve 5d0f"}}},
	}
	r := report.Report{Time: now, Guests: []report.Guest{
		g,
		{GuestName: report.GuestName{Kind: guest.Container, Name: "dns-1"}, Sync: report.Synced, Health: report.Healthy},
		{GuestName: report.GuestName{Kind: guest.Container, Name: "proxy"}, Sync: report.SyncUnknown, Health: report.Degraded, DependsOn: []string{"VirtualMachine/web-1"}},
	}}
	values := []report.Value{
		{Key: "agent", Live: "1"}, {Key: "memory", Desired: "4096", Live: "2048", Next: "4096", Waits: true, Differs: true, Origin: "web.yaml:12:5"}, {Key: "scsi1", Absent: true},
	}
	entries := []history.Entry{
		{Time: now.Add(-time.Minute), Name: "drifted", Text: "cluster"},
		{
			Time: now.Add(-time.Hour), Name: "create", Step: "s1", Result: journal.Done, Ended: now.Add(-time.Hour + 4*time.Second), Tasks: []string{"UPID:pve1:1"},
			Revision: "main@sha1:3f2a1c94d07b5f", Signer: "alice@example.org", Released: "olga@example.org",
		},
		{Time: now.Add(-2 * time.Hour), Name: "start", Step: "s2"},
	}
	want := `VirtualMachine/web-1
  vmid        201
  node        pve1
  sync        OutOfSync, drifted for 1m30s
  health      Healthy
  operation   Waiting
  status      running
  read        5s ago
  in sync     2m0s ago with main@sha1:3f2a1c94
  snapshots   3 by the schedule daily, the newest 36h0m0s ago, late for 12h0m0s
  schedule    every day at 02:30, next in 1h0m0s
  schedule    day 1 of every month in 2023 at 02:00, never again
  tags        prod, web
  note        held reboot (approval): 0 of 1 approvals
  note        gitops-agent approve 5d0f
  depends on  Container/dns-1 (Synced, Healthy)
  depends on  Container/gone (not managed)
  needed by   Container/proxy (Unknown, Degraded)

Differences:
  KEY     FROM  TO    CLASS           REQUESTED BY
  memory  2048  4096  live (hotplug)  web.yaml:12:5
  tags    a     -     live            -

Configuration:
  KEY     MANIFEST  LIVE                               REQUESTED BY
  memory  4096      2048 (after the next start: 4096)  web.yaml:12:5
  scsi1   absent    -                                  -

Keys that the manifest does not manage:
  agent  1

History:
  TIME                  WHAT     RESULT              COMMIT      SIGNED BY
  2026-03-22T11:59:00Z  drifted  event               -           -                  cluster
  2026-03-22T11:00:00Z  create   done in 4s          3f2a1c94d0  alice@example.org  released by olga@example.org; UPID:pve1:1
  2026-03-22T10:00:00Z  start    running for 2h0m0s  -           -
`
	var out strings.Builder
	WriteGuest(&out, report.NewGuestDocument(r, g, values, entries))
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("guest (-want +got):\n%s", diff)
	}
}

func TestSnapshotsText(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.March, 22, 12, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		snapshots report.Snapshots
		want      string
	}{
		"none_yet":      {report.Snapshots{Schedule: "daily"}, "0 by the schedule daily"},
		"none_and_late": {report.Snapshots{Schedule: "daily", LateSince: now.Add(-time.Minute)}, "0 by the schedule daily, late for 1m0s"},
		"in_time":       {report.Snapshots{Schedule: "mon..fri 02:30", Taken: 7, Newest: now.Add(-time.Hour)}, "7 by the schedule mon..fri 02:30, the newest 1h0m0s ago"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := snapshotsText(test.snapshots, now); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestReadGuest(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("guest") {
		case "201":
			_, _ = w.Write([]byte(`{"schemaVersion": 1, "guest": {"name": "web-1"}}`))
		case "older":
			_, _ = w.Write([]byte(`{"schemaVersion": 1, "guests": []}`))
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	client, err := NewClient(Target{URL: server.URL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d, body, err := client.ReadGuest(t.Context(), "201"); err != nil || d.Guest.Name != "web-1" || len(body) == 0 {
		t.Errorf("got %+v, %q, %v, want web-1", d, body, err)
	}
	for name, want := range map[string]string{"older": "older than this program", "202": "knows no guest 202"} {
		if _, _, err := client.ReadGuest(t.Context(), name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
}

// TestLargeRepliesTakeTurns: a client that shares turns begins to read a large document, and requests it again when it is its turn.
func TestLargeRepliesTakeTurns(t *testing.T) {
	t.Parallel()
	var isFree atomic.Bool
	requests := make(chan bool, 10) // whether the turn was free
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests <- isFree.Load()
		_, _ = io.WriteString(w, `{"schemaVersion": 1, "guest": {"name": "web-1"}, "x": ["`)
		part := strings.Repeat("a", 1000) + `","`
		for range maxBeside/1000 + 1 {
			_, _ = io.WriteString(w, part)
		}
		_, _ = io.WriteString(w, `"]}`)
	}))
	defer server.Close()
	client, err := NewClient(Target{URL: server.URL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	turns := NewTurns()
	end, err := turns.take(t.Context()) // of another client
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan error, 1)
	go func() {
		d, _, err := client.Sharing(turns).ReadGuest(t.Context(), "201")
		if err == nil && d.Guest.Name != "web-1" {
			err = fmt.Errorf("got the guest %q, want web-1", d.Guest.Name)
		}
		read <- err
	}()
	if <-requests {
		t.Error("the first request came after the turn of another client")
	}
	isFree.Store(true)
	end()
	if err := <-read; err != nil {
		t.Error(err)
	}
	if !<-requests || len(requests) > 0 {
		t.Errorf("got a second request before the turn, or a third one (%d)", len(requests))
	}
	if end, err = turns.take(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer end()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-requests
		cancel()
	}()
	if _, _, err := client.Sharing(turns).ReadGuest(ctx, "201"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v while another client has the turn, want to wait for it", err)
	}
}
