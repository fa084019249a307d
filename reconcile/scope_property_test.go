package reconcile_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/reason"
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

// grant is what wanda may touch beside the web servers that the source creates. It judges calls without the agent's code: it searches their texts.
type grant struct {
	forbidden map[int]bool // guests that are not hers
	sources   []string     // the only sources of new guests; empty allows templates
}

var (
	ownedName   = regexp.MustCompile(`[a-z0-9-]+:[^,\s]*?(?:\b(?:vm|base|subvol)-|/(?:vm|ct)/|vzdump-(?:qemu|lxc)-)(\d+)[^,\s]*`)
	ownedFolder = regexp.MustCompile(`[a-z0-9-]+:(\d+)/[^,\s]*`)
)

// violation returns what a call touches and wanda may not touch, "" if there is nothing.
func (g grant) violation(call cluster.Call) string {
	if g.forbidden[call.VMID] {
		return fmt.Sprint("guest ", call.VMID)
	}
	switch from := call.CloneOf; {
	case from == 0:
	case len(g.sources) > 0 && !g.lists(fmt.Sprint(from)) && (from != 9000 || !g.lists("VirtualMachine/tmpl-debian-12")):
		return fmt.Sprintf("guest %d, which the sources do not list", from)
	case len(g.sources) == 0 && g.forbidden[from]:
		return fmt.Sprintf("guest %d", from)
	}
	for key, text := range call.Params {
		for _, pattern := range []*regexp.Regexp{ownedName, ownedFolder} {
			for _, at := range pattern.FindAllStringSubmatchIndex(text, -1) {
				name, owner := text[at[0]:at[1]], text[at[2]:at[3]]
				isSource := key == "archive" || key == "ostemplate" || strings.HasSuffix(text[:at[0]], "import-from=")
				if isSource && len(g.sources) > 0 && (g.lists(name) || g.lists(owner)) {
					continue
				}
				if g.forbidden[atoi(owner)] || isSource && len(g.sources) > 0 {
					return fmt.Sprintf("%s in %s", name, key)
				}
			}
		}
	}
	return ""
}

// lists reports whether the sources list a name or a vmid.
func (g grant) lists(name string) bool {
	return slices.ContainsFunc(g.sources, func(pattern string) bool {
		ok, _ := path.Match(pattern, name)
		return ok
	})
}

// randomWeb returns a random manifest of a web server, which wanda may write. Most of them are accepted: a refused revision proves nothing.
func randomWeb(r *rand.Rand, name string) string {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	source := pick("{clone: {name: tmpl-debian-12}}", "{clone: {template: 9000}}", "{clone: {template: 9000}}", "{blank: {}}", "{clone: {template: 1000, full: true}}", "{clone: {template: 220, full: true}}",
		"{clone: {template: 1001, full: true}}", "{blank: {}}", `{image: {from: "local-lvm:vm-1001-disk-7"}}`, `{image: {from: "local:import/debian-12-genericcloud-amd64.qcow2"}}`,
		`{backup: {volume: "pbs:backup/vm/1000/2026-01-01T00:00:00Z", storage: local}}`)
	text := "apiVersion: proxmox.gitops/v1alpha1\nkind: VirtualMachine\nmetadata: {name: " + name + "}\nspec:\n  node: pve1\n  source: " + source + "\n"
	lines := []string{"memory: {size: " + pick("1Gi", "2Gi") + "}", "lifecycle: {destroy: " + pick("allow", "approve") + "}", "state: " + pick("running", "stopped")}
	switch vmid := pick("", "", "", "25"+name[len(name)-1:], "220", "1000", "1001"); {
	case vmid == "1000" || vmid == "1001":
		lines = append(lines, "vmid: "+vmid, "adopt: ifUnmanaged")
	case vmid != "":
		lines = append(lines, "vmid: "+vmid)
	}
	var disks []string
	if strings.Contains(source, "image") {
		disks = append(disks, "scsi0: {storage: local-lvm, size: 4Gi}")
	}
	if r.IntN(4) == 0 {
		volume := pick("local-lvm:vm-1000-disk-7", "local-lvm:vm-1001-disk-7", "local-lvm:vm-220-disk-7", "local:1000/vm-250-disk-7.qcow2", "local-lvm:data")
		disks = append(disks, `scsi1: {volume: "`+volume+`"}`)
	}
	if len(disks) > 0 {
		lines = append(lines, "disks: {"+strings.Join(disks, ", ")+"}")
	}
	return text + indented(lines)
}

var scopeSeeds = newSeeds("scope", 8, "random histories of pushes by a signer with a limited scope")

// TestScopeHoldsForRandomPushes lets wanda, who may change web servers and touch some vmids and sources, push random manifests. No call touches db-1,
// which alice wrote, and no call touches a guest that the source did not create, unless the signer's vmids or sources contain it.
func TestScopeHoldsForRandomPushes(t *testing.T) {
	t.Parallel()
	var judged, held atomic.Int64
	scopeSeeds.each(t, func(t *testing.T, seed uint64) {
		runLab(t, nil, func(_ *testing.T, l *lab) { l.pushAtRandom(rand.New(rand.NewPCG(seed, 5)), &judged, &held) })
	}, func(t *testing.T) string {
		if n := int64(*scopeSeeds.count); judged.Load() < n || held.Load() < n {
			t.Errorf("got %d calls and %d holds in %d histories, want more: the property checks too little", judged.Load(), held.Load(), n)
		}
		return fmt.Sprintf("%d calls judged, %d pushes held", judged.Load(), held.Load())
	})
}

// pushAtRandom runs one history.
func (l *lab) pushAtRandom(r *rand.Rand, judged, held *atomic.Int64) {
	log := &callLog{Cluster: l.cluster}
	l.opts.Cluster = log
	vmids := [][]string{nil, {"1000"}, {"1001-1002"}}[r.IntN(3)]
	hers := grant{sources: [][]string{nil, nil, {"9000"}, {"VirtualMachine/tmpl-*"}, {"1001"}, {"local-lvm:vm-1001-*", "9000"}, {"local:import/*"}}[r.IntN(7)]}
	l.trustWanda(vmids, hers.sources)
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
	hers.forbidden = map[int]bool{220: true, 1000: !slices.Contains(vmids, "1000"), 1001: !slices.Contains(vmids, "1001-1002")}
	for range 8 {
		file := fmt.Sprintf("web-%d", 1+r.IntN(3))
		if delete(l.files, file+".yaml"); r.IntN(5) > 0 {
			l.files[file+".yaml"] = randomWeb(r, file)
		}
		l.push(file, wanda)
		time.Sleep(3 * time.Minute)
		if l.engine.Report().Source.Refused != nil {
			delete(l.files, file+".yaml") // such as a vmid that another manifest has
		} else if _, isHeld := l.heldFor("VirtualMachine/"+file, reason.Scope); isHeld {
			held.Add(1)
		}
		if r.IntN(4) == 0 {
			stop()
			stop = l.start()
		}
		for _, call := range log.take() {
			judged.Add(1)
			if what := hers.violation(call); what != "" {
				l.Fatalf("got %+v, which touches %s, with vmids %v and sources %v, under the manifest\n%s", call, what, vmids, hers.sources, l.files[file+".yaml"])
			}
		}
	}
}
