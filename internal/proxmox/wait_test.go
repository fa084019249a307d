package proxmox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/proxmox/route"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// taskServer answers as a node with one task, which runs for the time runs and ends with exit.
type taskServer struct {
	start   time.Time
	runs    time.Duration
	exit    string
	log     []string
	polls   []time.Duration
	queries []string
}

func (s *taskServer) answer(req *http.Request) (stubReply, error) {
	base := route.Base + "/nodes/pve1/tasks/" + testUPID
	switch req.URL.Path {
	case base + "/status":
		s.polls = append(s.polls, time.Since(s.start))
		if time.Since(s.start) < s.runs {
			return ok(`{"status":"running","upid":"` + testUPID + `"}`), nil
		}
		return ok(fmt.Sprintf(`{"status":"stopped","exitstatus":%q}`, s.exit)), nil
	case base + "/log":
		s.queries = append(s.queries, req.URL.RawQuery)
		return respond(200, "OK", s.page(req.URL.Query())), nil
	default:
		return stubReply{}, fmt.Errorf("unexpected request %s", req.URL)
	}
}

// page returns part of the log as Proxmox does: lines are numbered from 1, start counts from 0.
func (s *taskServer) page(query url.Values) string {
	var start, limit int
	_, _ = fmt.Sscan(query.Get("start"), &start)
	_, _ = fmt.Sscan(query.Get("limit"), &limit)
	var rows []string
	for i := start; i < min(start+limit, len(s.log)); i++ {
		rows = append(rows, fmt.Sprintf(`{"n":%d,"t":%q}`, i+1, s.log[i]))
	}
	return fmt.Sprintf(`{"total":%d,"data":[%s]}`, len(s.log), strings.Join(rows, ","))
}

var endedTask = cluster.Task{
	UPID: testUPID, Node: "pve1", Type: "qmstart", VMID: 101, User: "gitops@pve!agent", Start: time.Unix(0x6B00C1F6, 0),
}

func TestWait(t *testing.T) {
	long := make([]string, 120)
	for i := range long {
		long[i] = fmt.Sprintf("line %d", i+1)
	}
	warned := slices.Concat([]string{"WARN: a", "WARN: b"}, long, []string{"WARN: a", "TASK WARNINGS: 3"})
	tests := map[string]struct {
		exit  string
		log   []string
		ends  cluster.TaskOutcome
		means error
		tail  string
		warns []string
		read  []string // queries of the log
	}{
		"ok":       {"OK", []string{"TASK OK"}, cluster.TaskSucceeded, nil, "", nil, nil},
		"warnings": {"WARNINGS: 3", warned, cluster.TaskWarned, nil, "", []string{"a", "b"}, []string{"start=0&limit=1", "start=0&limit=2000"}},
		"failed":   {"VM 140 already running", long, cluster.TaskFailed, cluster.ErrConflict, "line 116\nline 117\nline 118\nline 119\nline 120", nil, []string{"start=0&limit=1", "start=115&limit=5"}},
		"unnamed":  {"no space left on device", []string{"a", "b"}, cluster.TaskFailed, nil, "a\nb", nil, []string{"start=0&limit=1", "start=0&limit=5"}},
		"died":     {"unexpected status", nil, cluster.TaskLost, cluster.ErrOutcomeUnknown, "", nil, []string{"start=0&limit=1", "start=0&limit=5"}},
		"stopped":  {"received interrupt", []string{"a"}, cluster.TaskFailed, cluster.ErrOutcomeUnknown, "a", nil, []string{"start=0&limit=1", "start=0&limit=5"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &taskServer{start: time.Now(), runs: time.Second, exit: test.exit, log: test.log}
				got, err := inProcess(t, roundTrip(server.answer)).Wait(t.Context(), testUPID)
				if err != nil {
					t.Fatal(err)
				}
				want := endedTask
				want.Outcome, want.Exit, want.Err, want.LogTail, want.Warnings = test.ends, test.exit, test.means, test.tail, test.warns
				if diff := cmp.Diff(want, got, cmpopts.EquateErrors()); diff != "" {
					t.Errorf("task (-want +got)\n%s", diff)
				}
				if diff := cmp.Diff(test.read, server.queries); diff != "" {
					t.Errorf("reads of the log (-want +got)\n%s", diff)
				}
				if want := test.means == nil && test.tail == ""; got.OK() != want {
					t.Errorf("got OK %v, want %v", got.OK(), want)
				}
			})
		})
	}
}

func TestWaitIncreasesInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &taskServer{start: time.Now(), runs: 10 * time.Second, exit: "OK"}
		if _, err := inProcess(t, roundTrip(server.answer)).Wait(t.Context(), testUPID); err != nil {
			t.Fatal(err)
		}
		want := []time.Duration{
			0, 60, 150, 285, 487, 791, 1246, 1930, 2955, 4493, 6493, 8493, 10493,
		}
		for i, at := range server.polls {
			server.polls[i] = at / time.Millisecond
		}
		if diff := cmp.Diff(want, server.polls); diff != "" {
			t.Errorf("polls, in ms (-want +got)\n%s", diff)
		}
	})
}

// A task that was started now is first polled after a short time. It has often ended by then, and one poll is enough.
func TestWaitForANewTask(t *testing.T) {
	for name, test := range map[string]struct {
		runs time.Duration
		want []time.Duration // polls, in ms
	}{
		"short": {10 * time.Millisecond, []time.Duration{30}},
		"usual": {100 * time.Millisecond, []time.Duration{30, 90, 180}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &taskServer{start: time.Now(), runs: test.runs, exit: "OK"}
				client := inProcess(t, roundTrip(func(req *http.Request) (stubReply, error) {
					if req.Method == http.MethodPost {
						return ok(`"` + testUPID + `"`), nil
					}
					return server.answer(req)
				}))
				call := cluster.Call{Op: cluster.OpStart, Kind: guest.VirtualMachine, Node: "pve1", VMID: 101}
				upid, err := client.Do(t.Context(), call, nil)
				if err != nil {
					t.Fatal(err)
				}
				for range 2 { // the second time, the task is not new any more
					if _, err := client.Wait(t.Context(), upid); err != nil {
						t.Fatal(err)
					}
				}
				want := append(slices.Clone(test.want), test.want[len(test.want)-1])
				for i, at := range server.polls {
					server.polls[i] = at / time.Millisecond
				}
				if diff := cmp.Diff(want, server.polls); diff != "" {
					t.Errorf("polls, in ms (-want +got)\n%s", diff)
				}
			})
		})
	}
}

func TestWaitEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &taskServer{start: time.Now(), runs: time.Hour}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := inProcess(t, roundTrip(server.answer)).Wait(ctx, testUPID)
		if !errors.Is(err, context.DeadlineExceeded) || meanings(err) != nil {
			t.Errorf("got error %v, want the context's", err)
		}
		if got := time.Since(server.start); got != 10*time.Second {
			t.Errorf("got an end after %v, want 10s, the context's limit", got)
		}
	})
}

// An error of Wait does not end the task: the next Wait returns the end.
func TestWaitMayBeRepeated(t *testing.T) {
	down := true
	client := inProcess(t, roundTrip(func(*http.Request) (stubReply, error) {
		if down {
			return respond(595, "Connection refused", ""), nil
		}
		return ok(`{"status":"stopped","exitstatus":"OK"}`), nil
	}))
	if _, err := client.Wait(t.Context(), testUPID); !errors.Is(err, cluster.ErrNotReady) {
		t.Errorf("got error %v, want ErrNotReady", err)
	}
	down = false
	if got, err := client.Wait(t.Context(), testUPID); err != nil || !got.OK() {
		t.Errorf("got %v, error %v, want a task that succeeded", got, err)
	}
}

func TestWaitFails(t *testing.T) {
	tests := map[string]struct {
		upid  string
		reply stubReply
		want  []string
	}{
		"forgotten":      {testUPID, respond(400, "Parameter verification failed.", `{"errors":{"upid":"no such task"},"data":null}`), []string{"no such task"}},
		"not_understood": {testUPID, respond(400, "Parameter verification failed.", `{"errors":{"upid":"unable to parse worker upid"}}`), nil},
		"not_a_upid":     {"garbage", stubReply{}, nil},
		"empty":          {"", stubReply{}, nil},
		"odd_status":     {testUPID, ok(`{"status":"paused"}`), nil},
		"no_exit_status": {testUPID, ok(`{"status":"stopped"}`), nil},
		"denied":         {testUPID, respond(403, "Permission check failed (/nodes/pve1, Sys.Audit)", ""), []string{"access denied"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			client := inProcess(t, roundTrip(func(*http.Request) (stubReply, error) {
				if test.reply.status == 0 {
					t.Error("got a request, want none")
				}
				return test.reply, nil
			}))
			_, err := client.Wait(t.Context(), test.upid)
			if err == nil {
				t.Fatal("got no error, want one")
			}
			if diff := cmp.Diff(test.want, meanings(err)); diff != "" {
				t.Errorf("got error %v: meaning (-want +got)\n%s", err, diff)
			}
		})
	}
}

// The outcome is known without the log.
func TestWaitWithoutLog(t *testing.T) {
	client := inProcess(t, roundTrip(func(req *http.Request) (stubReply, error) {
		if strings.HasSuffix(req.URL.Path, "/log") {
			return respond(596, "Connection timed out", ""), nil
		}
		return ok(`{"status":"stopped","exitstatus":"disk full"}`), nil
	}))
	got, err := client.Wait(t.Context(), testUPID)
	if err != nil || got.Exit != "disk full" || got.LogTail != "" {
		t.Errorf("got %v, error %v, want only the exit status", got, err)
	}
}
