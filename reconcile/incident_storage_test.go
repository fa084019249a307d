package reconcile_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/queue"
)

// TestIncidentFortyClonesOfOneStorage makes forty clones of forty templates on one storage, which locks itself while it allocates. The agent limits
// the clones in flight, and makes each guest once.
func TestIncidentFortyClonesOfOneStorage(t *testing.T) {
	limits := func(o *reconcile.Options) {
		o.Parallel, o.Limits = 40, queue.Limits{PerStorage: 2, PerNode: 20}
	}
	runLabWithProbe(t, []labOption{limits}, func(t *testing.T, l *lab, p *probe) {
		for i := range 40 {
			_, err := l.sim.AddTemplate(pvesim.Guest{VMID: 9100 + i, Config: fmt.Sprintf("name: t-%d\nscsi0: local:%d/vm-%d-disk-0.qcow2,size=3G\n", i, 9100+i, 9100+i)})
			l.ok(err)
			l.files[fmt.Sprintf("web%d.yaml", i)] = strings.Replace(vmYAML(fmt.Sprintf("web-%d", i), 201+i),
				"clone: {name: tmpl-debian-12}", fmt.Sprintf("clone: {template: %d, storage: local}", 9100+i), 1)
		}
		var most atomic.Int64
		p.setHooks(hooks{write: func(call cluster.Call) {
			if call.CloneOf == 0 {
				return
			}
			underWay := int64(1)
			for _, task := range l.sim.Tasks() {
				if task.Active && task.Type == "qmclone" {
					underWay++
				}
			}
			most.Store(max(most.Load(), underWay))
		}})
		l.push("forty guests", alice)
		defer l.start()()
		l.converge()
		if got := most.Load(); got != 2 {
			t.Errorf("got %d clones at once, want two at once", got)
		}
		for i := range 40 {
			if got := l.sim.Effects(201+i, pvesim.Cloned); got != 1 {
				t.Errorf("got web-%d cloned %d times, want once", i, got)
			}
		}
	})
}
