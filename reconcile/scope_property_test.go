package reconcile_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// callLog notes every call that the agent makes.
type callLog struct {
	cluster.Cluster
	mu    sync.Mutex
	calls []cluster.Call
}

func (c *callLog) Do(ctx context.Context, call cluster.Call, check cluster.LastCheck) (string, error) {
	return c.Cluster.Do(ctx, call, func(ctx context.Context) error {
		err := check(ctx)
		if err == nil {
			c.mu.Lock()
			c.calls = append(c.calls, call)
			c.mu.Unlock()
		}
		return err
	})
}

// take returns the calls since the last take.
func (c *callLog) take() []cluster.Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.calls
	c.calls = nil
	return calls
}

// touched returns the vmids that a call touches: the guest, the guest that it copies, and the owners of the volumes that it names.
func touched(call cluster.Call) []int {
	vmids := []int{call.VMID}
	if call.CloneOf != 0 {
		vmids = append(vmids, call.CloneOf)
	}
	for _, m := range guest.Mentions(call.Kind, call.Params) {
		vmids = append(vmids, guest.VolumeOwners(m.Name)...)
	}
	return vmids
}

// randomWeb returns a random manifest of a web server, which wanda may write.
func randomWeb(r *rand.Rand, name string) string {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	text := "apiVersion: proxmox.gitops/v1alpha1\nkind: VirtualMachine\nmetadata: {name: " + name + "}\nspec:\n  node: pve1\n  source: " +
		pick("{clone: {name: tmpl-debian-12}}", "{clone: {template: 1000}}", "{clone: {template: 220}}", "{clone: {template: 1001}}", "{blank: {}}",
			`{image: {from: "local-lvm:vm-1001-disk-0"}}`, `{backup: {volume: "pbs:backup/vm/1000/2026-01-01T00:00:00Z", storage: local}}`) + "\n"
	if r.IntN(2) == 0 {
		text += "  vmid: " + pick("220", "1000", "1001", "250", "251") + "\n"
	}
	lines := []string{
		"adopt: ifUnmanaged", "memory: {size: " + pick("1Gi", "2Gi") + "}", "lifecycle: {destroy: " + pick("allow", "approve") + "}", "state: " + pick("running", "stopped"),
		`disks: {scsi1: {volume: "` + pick("local-lvm:vm-1000-disk-7", "local-lvm:vm-1001-disk-7", "local-lvm:vm-220-disk-7", "local:1000/vm-250-disk-7.qcow2", "local-lvm:data") + `"}}`,
	}
	r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	return text + indented(lines[:r.IntN(len(lines)+1)])
}

// TestScopeHoldsForRandomPushes lets wanda, who may change web servers and touch some vmids, push random manifests. No call touches db-1, which alice
// wrote, and no call touches a guest that the source did not create, unless the signer's vmids contain it.
func TestScopeHoldsForRandomPushes(t *testing.T) {
	for seed := range uint64(16) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				r := rand.New(rand.NewPCG(seed, 5))
				log := &callLog{Cluster: l.cluster}
				l.opts.Cluster = log
				vmids := [][]string{nil, {"1000"}, {"1001-1002"}}[r.IntN(3)]
				l.trustWanda(vmids, nil)
				for vmid, config := range map[int]string{1000: mailConfig, 1001: "name: web-2\nmemory: 512\nscsi0: local-lvm:vm-1001-disk-0,size=1G"} {
					_, err := l.sim.AddVM(pvesim.Guest{VMID: vmid, Config: config})
					l.ok(err)
				}
				for _, volume := range []string{"local-lvm:vm-1000-disk-7", "local-lvm:vm-1001-disk-7", "local-lvm:vm-220-disk-7", "local:1000/vm-250-disk-7.qcow2"} {
					l.ok(l.sim.AddVolume(volume, 1<<30))
				}
				l.files["db.yaml"], l.files["keep.yaml"] = vmYAML("db-1", 220, "memory: {size: 1Gi}"), vmYAML("keep-1", 221)
				l.push("two guests", alice)
				stop := l.start()
				defer func() { stop() }()
				l.converge()
				if r.IntN(2) == 0 { // its vmid is free for other manifests, and its destroy waits for an approval
					delete(l.files, "db.yaml")
					l.push("without db-1", alice)
					l.digestOfHold(220)
				}
				log.take()
				forbidden := map[int]bool{220: true, 1000: true, 1001: true}
				maps.DeleteFunc(forbidden, func(vmid int, _ bool) bool {
					return vmid == 1000 && slices.Contains(vmids, "1000") || vmid == 1001 && slices.Contains(vmids, "1001-1002")
				})
				for range 8 {
					file := fmt.Sprintf("web-%d", 1+r.IntN(3))
					if delete(l.files, file+".yaml"); r.IntN(5) > 0 {
						l.files[file+".yaml"] = randomWeb(r, file)
					}
					l.push(file, wanda)
					time.Sleep(3 * time.Minute)
					if r.IntN(4) == 0 {
						stop()
						stop = l.start()
					}
					for _, call := range log.take() {
						for _, vmid := range touched(call) {
							if forbidden[vmid] {
								t.Fatalf("got %+v, which touches %d, under the manifest\n%s", call, vmid, l.files[file+".yaml"])
							}
						}
					}
				}
			})
		})
	}
}
