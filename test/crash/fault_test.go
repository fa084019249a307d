//go:build integration

package crash

import (
	"maps"
	"slices"
	"strings"
)

// faults are what may go wrong with one of the next writes. None changes which effects must happen in the end: what certainly had no
// effect is done again, and what had one is not.
var faults = []map[string]any{
	{"kind": "latency", "delay": "300ms"},
	{"kind": "slow-call", "delay": "300ms"},
	{"kind": "proxy-status", "status": 595},
	{"kind": "proxy-status", "status": 596},
	{"kind": "proxy-status", "status": 596, "after_acting": true},
	{"kind": "proxy-status", "status": 599, "after_acting": true},
	{"kind": "error-text", "text": "got timeout"},
	{"kind": "error-text", "text": "can't lock file '/var/lock/qemu-server/lock-1.conf' - got timeout"},
	{"kind": "drop-before"},
	{"kind": "drop-after"},
	{"kind": "truncated-body"},
	{"kind": "invalid-json"},
	{"kind": "task-fails", "text": "a failure", "path": "/(config|resize|status/[a-z]+|migrate|move_disk|vzdump|rollback|download-url|snapshot)$"},
	{"kind": "task-never-ends", "path": "/(config|resize|status/start|migrate|move_disk|vzdump|download-url)$"},
	{"kind": "list-race", "delay": "200ms"},
}

// inject arms one fault for one of the next writes to a guest or another object.
func (w *world) inject() {
	w.Helper()
	fault := map[string]any{"writes": true, "path": "^/(pools|cluster|nodes/[^/]+/(qemu|lxc|vzdump|storage))", "nth": 1 + w.rng.IntN(3)}
	maps.Copy(fault, faults[w.rng.IntN(len(faults))])
	if path, _ := fault["path"].(string); fault["kind"] == "task-fails" && slices.ContainsFunc(w.present(), func(g *machine) bool { return g.running && g.kind == "VirtualMachine" }) {
		fault["path"] = strings.Replace(path, "|snapshot)", ")", 1) // a machine that runs stays locked until a person unlocks it
	}
	w.post("/faults", fault)
	w.did("fault: %v", fault)
	w.total.faults.Add(1)
}
