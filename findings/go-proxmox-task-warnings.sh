#!/usr/bin/env bash
# github.com/luthermonson/go-proxmox v0.8.1
#
# One would expect: a task that ended with warnings (exit status "WARNINGS: 1") counts as done, as in Proxmox
#   VE, whose web interface shows it yellow and whose PVE::Tools::upid_status_is_error says no. And
#   Task.Wait, like the wait of a process, returns an error if the task failed.
# Instead: a task with warnings has IsFailed, since only "OK" is a success. Task.Wait returns nil for every
#   task that stopped, a failed one too; the outcome is in the fields alone.
# Why it matters: a container that was created with a warning about its locale is reported as failed, and
#   created again under another number; a failed backup is reported as taken where only the error is read.
# Source: tasks.go, Task.Ping and Task.Wait.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
go mod init finding >go.log 2>&1
go get github.com/luthermonson/go-proxmox@v0.8.1 >go.log 2>&1 || { cat go.log >&2; exit 2; }

cat >main.go <<'EOF'
package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/luthermonson/go-proxmox"
)

func main() {
	const upid = "UPID:pve1:000A1B2C:00D3E4F5:69000000:vzcreate:100:root@pam:"
	for _, status := range []string{"OK", "WARNINGS: 1", "unable to create CT 100"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `{"data":{"upid":%q,"node":"pve1","type":"vzcreate","id":"100","user":"root@pam","pid":662316,"pstart":13886709,"starttime":1761607680,"status":"stopped","exitstatus":%q}}`, upid, status)
		}))
		task := proxmox.NewTask(upid, proxmox.NewClient(server.URL, proxmox.WithAPIToken("root@pam!t", "s")))
		err := task.Wait(context.Background(), time.Millisecond, time.Minute)
		fmt.Printf("%s: successful %t, failed %t, error of Wait %v\n", status, task.IsSuccessful, task.IsFailed, err)
		server.Close()
	}
}
EOF
go run . >got 2>go.log || { cat go.log >&2; exit 2; }

cat >want <<'EOF'
OK: successful true, failed false, error of Wait <nil>
WARNINGS: 1: successful false, failed true, error of Wait <nil>
unable to create CT 100: successful false, failed true, error of Wait <nil>
EOF
go list -m github.com/luthermonson/go-proxmox
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
