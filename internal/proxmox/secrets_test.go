package proxmox

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"gitops-agent/internal/proxmox/wire"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// Errors and logs do not contain the token, a guest's password or a secret of the call, even if the server sends them back.
func TestErrorsContainNoSecrets(t *testing.T) {
	const password, named = "correct horse battery", "s3cret of a snippet"
	var logged bytes.Buffer
	echo := fmt.Sprintf("no such user %s or password %s or %s", testSecret, password, named)
	client := newClient(t, Options{
		Endpoints: []string{"https://pve1.test"},
		Transport: always(400, echo, fmt.Sprintf(`{"message":%q,"errors":{"cipassword":%q,"args":%q}}`, echo, "bad value "+password, "bad value "+named)),
		Logger:    slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	_, err := client.Do(t.Context(), cluster.Call{
		Op: cluster.OpConfig, Kind: guest.VirtualMachine, Node: "pve1", VMID: 100,
		Params: map[string]string{"cipassword": password, "args": named}, Secrets: map[string]string{"args": "snippet"},
	}, nil)
	var api *wire.APIError
	if !errors.As(err, &api) {
		t.Fatalf("got error %v, want an *APIError", err)
	}
	for _, text := range []string{fmt.Sprintf("%v %+v %#v", err, err, *api), logged.String()} {
		if strings.Contains(text, testSecret) || strings.Contains(text, password) || strings.Contains(text, named) {
			t.Errorf("got a secret in %s", text)
		}
	}
	if !strings.Contains(logged.String(), "/nodes/pve1/qemu/100/config") {
		t.Errorf("got log %q, want a line about the request", logged.String())
	}
}

// A text is withheld after it was classified: its meaning does not repeat a secret.
func TestTextsAreWithheldAfterClassifying(t *testing.T) {
	client := inProcess(t, always(500, "VM is locked (hunter2)", ""))
	_, err := client.Do(t.Context(), passwordCall, nil)
	if !errors.Is(err, cluster.ErrLocked) || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), wire.Withheld) {
		t.Errorf("got error %v, want ErrLocked and a withheld text", err)
	}
}

var passwordCall = cluster.Call{Op: cluster.OpConfig, Kind: guest.VirtualMachine, Node: "pve1", VMID: 100, Params: map[string]string{"cipassword": "hunter2"}}

// TestTextsOfTasksWithSecrets reads a failed task and its log. They are shown only if the task was started by a call without a secret, or if no such task has one.
func TestTextsOfTasksWithSecrets(t *testing.T) {
	const upid = "UPID:pve1:000000D3:0003A844:6B00C1F6:qmconfig:100:gitops@pve!agent:"
	plain := passwordCall
	plain.Params = map[string]string{"memory": "2048"}
	other := strings.Replace(upid, "qmconfig", "qmstart", 1)
	tests := map[string]struct {
		call  *cluster.Call // nil: the task is of an earlier process
		upid  string
		fails bool // the first reading of its status
		shown bool
	}{
		"secret": {&passwordCall, upid, false, false}, "no_secret": {&plain, upid, false, true}, "unknown_call": {nil, upid, false, false}, "other_task": {nil, other, false, true},
		"no_secret_after_a_failed_reading": {&plain, upid, true, true}, "secret_after_a_failed_reading": {&passwordCall, upid, true, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			fails := test.fails
			client := inProcess(t, roundTrip(func(req *http.Request) (stubReply, error) {
				switch {
				case req.Method == http.MethodPost:
					return ok(`"` + test.upid + `"`), nil
				case fails:
					return respond(403, "Permission check failed", ""), nil
				case strings.HasSuffix(req.URL.Path, "/log"):
					return respond(200, "OK", `{"data":[{"n":1,"t":"bad aHVudGVyMg=="},{"n":2,"t":"TASK ERROR: no"}],"total":2}`), nil
				case strings.HasSuffix(req.URL.Path, "/tasks"):
					return ok(`[{"upid":"` + test.upid + `","endtime":1795211999,"status":"bad hunter2"}]`), nil
				}
				return ok(`{"status":"stopped","exitstatus":"bad hunter2"}`), nil
			}))
			if test.call != nil {
				if _, err := client.Do(t.Context(), *test.call, nil); err != nil {
					t.Fatal(err)
				}
			}
			if fails {
				if _, err := client.Wait(t.Context(), test.upid); err == nil {
					t.Fatal("got no error of the reading that fails")
				}
				fails = false
			}
			task, err := client.Wait(t.Context(), test.upid)
			if err != nil || task.Outcome != cluster.TaskFailed {
				t.Fatalf("got %v and %v, want a failed task", task, err)
			}
			log, err := client.TaskLog(t.Context(), test.upid)
			if err != nil {
				t.Fatal(err)
			}
			listed, err := client.Tasks(t.Context(), cluster.TaskQuery{Node: "pve1"})
			if err != nil || len(listed) != 1 {
				t.Fatalf("got %v and %v, want one task", listed, err)
			}
			if got := strings.Contains(task.Exit, "hunter2") && strings.Contains(task.LogTail, "aHVudGVyMg=="); got != test.shown {
				t.Errorf("got %q and the log %q, want them shown: %t", task.Exit, task.LogTail, test.shown)
			}
			if !test.shown && (!strings.Contains(task.Exit, "see task "+upid+" on node pve1") || strings.Contains(task.LogTail, "aHVudGVyMg==")) {
				t.Errorf("got %q and the log %q, want where the text is", task.Exit, task.LogTail)
			}
			if of := test.upid == other; strings.Contains(log, "aHVudGVyMg==") != of || strings.Contains(listed[0].Exit, "hunter2") != of {
				t.Errorf("got the log %q and %q in the list, want them shown: %t", log, listed[0].Exit, of)
			}
		})
	}
}
