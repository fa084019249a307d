#!/usr/bin/env bash
# github.com/luthermonson/go-proxmox v0.8.1
#
# One would expect: the channel of Task.Watch gives every line of the task's log in order, and is closed after the
#   last one.
# Instead: the lines of a page come in random order, since Log is a map that is ranged over. And whether the
#   task still runs is asked before more lines are: of a task that has ended only the first 50 lines come, of
#   a running one all that was logged between the last look and its end is missing. No error is returned.
# Why it matters: a log shown from it cannot be read, and lacks the last lines, which are those with the error.
#   Use Task.Log and sort its keys.
# Source: types.go, Log; tasks.go, Watch (one page of 50) and tasktail (returns before it calls Log).
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
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"

	"github.com/luthermonson/go-proxmox"
)

const upid = "UPID:pve1:000A1B2C:00D3E4F5:69000000:vzdump:100:root@pam:"

// node answers for one task that has the lines, and has stopped.
func node(lines []string) http.Handler {
	reply := func(w http.ResponseWriter, data any) { json.NewEncoder(w).Encode(map[string]any{"data": data}) }
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/log") {
			reply(w, map[string]any{"upid": upid, "node": "pve1", "status": "stopped", "exitstatus": "job errors"})
			return
		}
		start, _ := strconv.Atoi(r.URL.Query().Get("start"))
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		page := []map[string]any{}
		for i := start; i < len(lines) && len(page) < limit; i++ {
			page = append(page, map[string]any{"n": i + 1, "t": lines[i]})
		}
		reply(w, page)
	})
}

func main() {
	for _, count := range []int{50, 51, 120} {
		lines := make([]string, count)
		for i := range lines {
			lines[i] = fmt.Sprintf("line %d", i+1)
		}
		lines[count-1] = "TASK ERROR: job errors"
		server := httptest.NewServer(node(lines))
		task := proxmox.NewTask(upid, proxmox.NewClient(server.URL, proxmox.WithAPIToken("root@pam!t", "s")))
		watch, err := task.Watch(context.Background(), 0)
		if err != nil {
			panic(err)
		}
		var got []string
		for line := range watch {
			got = append(got, line)
		}
		fmt.Printf("a log of %d lines: %d came, in their order: %t, with the error: %t\n", count, len(got),
			slices.Equal(got, lines[:len(got)]), slices.Contains(got, lines[count-1]))
		server.Close()
	}
}
EOF
go run . >got 2>go.log || { cat go.log >&2; exit 2; }

cat >want <<'EOF'
a log of 50 lines: 50 came, in their order: false, with the error: true
a log of 51 lines: 50 came, in their order: false, with the error: false
a log of 120 lines: 50 came, in their order: false, with the error: false
EOF
go list -m github.com/luthermonson/go-proxmox
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
