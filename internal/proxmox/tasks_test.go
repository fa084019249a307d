package proxmox

import (
	"testing"
	"time"

	"gitops-agent/reconcile/cluster"

	"github.com/google/go-cmp/cmp"
)

func TestTasks(t *testing.T) {
	entry := func(upid, rest string) string { return `{"upid":"` + upid + `",` + rest + `}` }
	running := entry(testUPID2, `"status":"RUNNING","saved":"0","user":"root@pam"`) // another list has no status for a running task
	quiet := entry(testUPID2, `"user":"root@pam"`)
	done := entry(testUPID, `"status":"WARNINGS: 1","endtime":1795211767,"user":"gitops@pve","tokenid":"agent"`)
	image := "UPID:pve1:00000736:00046DEA:6B00C3F0:imgdel:101@local:root@pam!full:"
	client := inProcess(t, byPath(t, map[string]stubReply{
		"GET /nodes/pve1/tasks?limit=2000&since=1795211700&source=all&typefilter=qmcreate&vmid=101": ok("[" + done + "]"),
		"GET /nodes/pve1/tasks?limit=2000&since=1795211700&source=all&typefilter=qmstart&vmid=101":  ok("[" + running + "," + quiet + "]"),
		"GET /nodes/pve2/tasks?limit=2000&source=all":                                               ok("[" + entry(image, `"status":"OK","endtime":"1795212272"`) + "]"),
		"GET /nodes/pve3/tasks?limit=2000&source=all":                                               ok("[]"),
	}))
	got, err := client.Tasks(t.Context(), cluster.TaskQuery{
		Node: "pve1", VMID: 101, Types: []string{"qmcreate", "qmstart"}, Since: time.Unix(1795211700, 5),
	})
	if err != nil {
		t.Fatal(err)
	}
	created := endedTask
	created.Outcome, created.Exit, created.End = cluster.TaskWarned, "WARNINGS: 1", time.Date(2026, 11, 20, 21, 56, 7, 0, time.UTC).Local()
	started := cluster.Task{
		UPID: testUPID2, Node: "pve1", Type: "qmstart", VMID: 101, User: "root@pam", Start: time.Unix(0x6B00C1F8, 0), Running: true,
	}
	if diff := cmp.Diff([]cluster.Task{started, created}, got); diff != "" {
		t.Errorf("tasks (-want +got)\n%s", diff)
	}
	got, err = client.Tasks(t.Context(), cluster.TaskQuery{Node: "pve2"})
	if err != nil || len(got) != 1 || got[0].VMID != 0 || got[0].Exit != "OK" || got[0].Running {
		t.Errorf("got %v, error %v, want an image's task", got, err)
	}
	for id, want := range map[string]int{"101@local": 1, "102@local": 0} {
		if got, err := client.Tasks(t.Context(), cluster.TaskQuery{Node: "pve2", ID: id}); err != nil || len(got) != want {
			t.Errorf("got %d tasks about %s, %v, want %d", len(got), id, err, want)
		}
	}
	if got, err := client.Tasks(t.Context(), cluster.TaskQuery{Node: "pve3"}); err != nil || len(got) != 0 {
		t.Errorf("got %v, error %v, want no tasks", got, err)
	}
	if _, err := client.Tasks(t.Context(), cluster.TaskQuery{Node: "../pve3"}); err == nil {
		t.Error("got no error for a bad node, want one")
	}
}
