package model_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind/replication"
)

// machine is a guest of the world.
type machine struct {
	vmid    int
	keys    map[string]string
	pending map[string]string // values for the next start
	running bool
	foreign bool // a person made it
}

// world is a Proxmox of one node. Only the goroutine that the search has released touches it.
type world struct {
	guests  map[int]*machine
	volumes map[string]bool
	pools   map[string]string // comments by id
	jobs    map[string]*job   // of replication, by id
	tasks   []cluster.Task
	made    int // volumes that were ever made
}

func newWorld() *world {
	return &world{guests: map[int]*machine{}, volumes: map[string]bool{}, pools: map[string]string{}, jobs: map[string]*job{}}
}

func (w *world) clone() *world {
	c := &world{guests: map[int]*machine{}, volumes: maps.Clone(w.volumes), pools: maps.Clone(w.pools), jobs: map[string]*job{}, tasks: slices.Clone(w.tasks), made: w.made}
	for id, j := range w.jobs {
		c.jobs[id] = &job{keys: maps.Clone(j.keys), foreign: j.foreign, late: j.late}
	}
	for vmid, g := range w.guests {
		copied := *g
		copied.keys, copied.pending = maps.Clone(g.keys), maps.Clone(g.pending)
		c.guests[vmid] = &copied
	}
	return c
}

func isSlot(key string) bool { return strings.HasPrefix(key, "scsi") && key != "scsihw" }

// volumeOf returns the id of the volume in the text of a slot.
func volumeOf(text string) string {
	id, _, _ := strings.Cut(text, ",")
	return id
}

// users returns the vmids of the guests that use a volume, other than one.
func (w *world) users(volume string, other int) []int {
	var vmids []int
	for _, vmid := range slices.Sorted(maps.Keys(w.guests)) {
		for key, text := range w.guests[vmid].keys {
			if vmid != other && (isSlot(key) || strings.HasPrefix(key, "unused")) && volumeOf(text) == volume {
				vmids = append(vmids, vmid)
			}
		}
	}
	return vmids
}

// newVolume makes a volume for a guest and returns the text of its slot.
func (w *world) newVolume(vmid int, size string) string {
	w.made++
	id := fmt.Sprintf("local:%d/vm-%d-disk-%d.qcow2", vmid, vmid, w.made)
	w.volumes[id] = true
	return id + ",size=" + size + "G"
}

// set gives a guest a key as Proxmox does: a slot with a size gets a new volume.
func (w *world) set(g *machine, key, text string) {
	if storage, size, _ := strings.Cut(volumeOf(text), ":"); isSlot(key) && storage != "" && !strings.Contains(size, "/") {
		text = w.newVolume(g.vmid, size)
	}
	if key == "memory" && g.running && g.keys[key] != text {
		g.pending[key] = text
		return
	}
	g.keys[key] = text
}

// digest is that of the guest's configuration.
func (g *machine) digest() string {
	sum := sha256.New()
	for _, m := range []map[string]string{g.keys, g.pending} {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			fmt.Fprintf(sum, "%s=%s\n", key, m[key])
		}
	}
	return fmt.Sprintf("%.20x", sum.Sum(nil))
}

func (g *machine) status() guest.Status {
	if g.running {
		return guest.StatusRunning
	}
	return guest.StatusStopped
}

func (g *machine) observed() guest.Observed {
	seen := guest.Observed{
		Ref: guest.Ref{Kind: guest.VirtualMachine, Name: g.keys["name"], VMID: g.vmid}, Node: "pve1", Keys: map[string]guest.Value{}, Digest: g.digest(),
		Status: g.status(), ReadAt: time.Now(),
	}
	for key, text := range g.keys {
		seen.Keys[key] = guest.Value{Text: text, Set: true}
	}
	for key, text := range g.pending {
		v := seen.Keys[key]
		v.Pending = &text
		seen.Keys[key] = v
	}
	return seen
}

var errRefused = errors.New("refused")

// act carries out a call as Proxmox does, and refuses what Proxmox refuses.
func (w *world) act(call cluster.Call) (upid string, err error) {
	if call.Kind == replication.Name {
		return "", w.actOnJob(call)
	}
	if call.Op.IsObject() {
		return "", w.actOnPool(call)
	}
	g, exists := w.guests[call.VMID]
	switch {
	case call.Op == cluster.OpCreate && exists:
		return "", fmt.Errorf("unable to create VM %d: it exists already: %w", call.VMID, cluster.ErrConflict)
	case call.Op == cluster.OpCreate:
		g = &machine{vmid: call.VMID, keys: map[string]string{}, pending: map[string]string{}}
		w.guests[call.VMID] = g
		for _, key := range slices.Sorted(maps.Keys(call.Params)) {
			if key != "vmid" && key != "pool" {
				w.set(g, key, call.Params[key])
			}
		}
		return w.task("qmcreate", call.VMID), nil
	case !exists:
		return "", fmt.Errorf("%w: %d", cluster.ErrNotExist, call.VMID)
	case call.Digest != "" && call.Digest != g.digest():
		return "", cluster.ErrConflict
	}
	switch call.Op { //nolint:exhaustive // the world refuses the others
	case cluster.OpConfig:
		for _, key := range slices.Sorted(maps.Keys(call.Params)) {
			w.set(g, key, call.Params[key])
		}
		for _, key := range call.Delete {
			delete(g.keys, key)
			delete(g.pending, key)
		}
		return w.task("qmconfig", call.VMID), nil
	case cluster.OpStart:
		if g.running {
			return "", fmt.Errorf("VM %d already running: %w", call.VMID, cluster.ErrConflict)
		}
		g.running = true
		g.applyPending()
		return w.task("qmstart", call.VMID), nil
	case cluster.OpStop, cluster.OpShutdown:
		if !g.running {
			return "", fmt.Errorf("VM %d not running: %w", call.VMID, cluster.ErrConflict)
		}
		g.running = false
		g.applyPending()
		return w.task("qm"+string(call.Op), call.VMID), nil
	case cluster.OpReboot:
		if !g.running {
			return "", fmt.Errorf("VM %d not running: %w", call.VMID, cluster.ErrConflict)
		}
		g.applyPending()
		return w.task("qmreboot", call.VMID), nil
	case cluster.OpDestroy:
		for key, text := range g.keys {
			if isSlot(key) || strings.HasPrefix(key, "unused") {
				delete(w.volumes, volumeOf(text))
			}
		}
		delete(w.guests, call.VMID)
		return w.task("qmdestroy", call.VMID), nil
	default:
		return "", fmt.Errorf("%w: the world has no %s", errRefused, call.Op)
	}
}

func (g *machine) applyPending() {
	maps.Copy(g.keys, g.pending)
	g.pending = map[string]string{}
}

// task notes a task that has ended.
func (w *world) task(kind string, vmid int) string {
	start := time.Now()
	upid := fmt.Sprintf("UPID:pve1:%08X:%08X:%08X:%s:%d:agent@pve!t:", len(w.tasks)+1, len(w.tasks), start.Unix(), kind, vmid)
	w.tasks = append(w.tasks, cluster.Task{UPID: upid, Node: "pve1", Type: kind, VMID: vmid, Start: start, Outcome: cluster.TaskSucceeded, Exit: "OK"})
	return upid
}

func (w *world) inventory() cluster.Inventory {
	inventory := cluster.Inventory{ReadAt: time.Now()}
	for _, vmid := range slices.Sorted(maps.Keys(w.guests)) {
		g := w.guests[vmid]
		inventory.Rows = append(inventory.Rows, cluster.Row{
			Kind: guest.VirtualMachine, VMID: vmid, Node: "pve1", Name: g.keys["name"], Status: g.status(), Tags: g.keys["tags"],
		})
	}
	return inventory
}

// reader is the world as a cluster.Reader and cluster.VolumeReader.
type reader struct{ *world }

func (r reader) Inventory(context.Context) (cluster.Inventory, error) { return r.inventory(), nil }

// Files lists none: no manifest of the model names an Image.
func (r reader) Files(context.Context, cluster.FilePlace) (map[string]int64, error) {
	return map[string]int64{}, nil
}

// Firewall reads none: no manifest of the model describes one.
func (r reader) Firewall(context.Context, cluster.Row, bool) (guest.FirewallSeen, error) {
	return guest.FirewallSeen{}, nil
}

func (r reader) FirewallEnabled(context.Context) (bool, error) { return true, nil }

func (r reader) Observe(_ context.Context, row cluster.Row) (guest.Observed, error) {
	g, exists := r.guests[row.VMID]
	if !exists {
		return guest.Observed{}, fmt.Errorf("%w: %d", cluster.ErrNotExist, row.VMID)
	}
	seen := g.observed()
	seen.Status = row.Status
	return seen, nil
}

func (r reader) Status(_ context.Context, row cluster.Row) (guest.Status, *guest.Process, error) {
	g, exists := r.guests[row.VMID]
	if !exists {
		return "", nil, fmt.Errorf("%w: %d", cluster.ErrNotExist, row.VMID)
	}
	return g.status(), nil, nil
}

func (r reader) RunStates(context.Context, string, guest.Kind) (map[int]guest.Status, error) {
	return nil, nil
}

func (r reader) CloudInit(context.Context, cluster.Row) (map[string]*string, error) { return nil, nil }

func (r reader) HABalances(context.Context) (bool, error)           { return false, nil }
func (r reader) HAMaster(context.Context) (cluster.HAMaster, error) { return cluster.HAMaster{}, nil }

func (r reader) HA(context.Context) (map[int]guest.HA, error) { return nil, nil }

func (r reader) Exists(_ context.Context, vmid int) (bool, error) {
	_, exists := r.guests[vmid]
	return exists, nil
}

func (r reader) Ready(context.Context) error { return nil }

func (r reader) Wait(_ context.Context, upid string) (cluster.Task, error) {
	for _, t := range r.tasks {
		if t.UPID == upid {
			return t, nil
		}
	}
	return cluster.Task{}, cluster.ErrNoTask
}

func (r reader) TaskLog(context.Context, string) (string, error) { return "", nil }

func (r reader) Tasks(_ context.Context, q cluster.TaskQuery) ([]cluster.Task, error) {
	var list []cluster.Task
	for _, t := range slices.Backward(r.tasks) {
		if (q.VMID == 0 || q.VMID == t.VMID) && (len(q.Types) == 0 || slices.Contains(q.Types, t.Type)) && !t.Start.Before(q.Since.Truncate(time.Second)) {
			list = append(list, t)
		}
	}
	return list, nil
}

// errNoUptime is the answer of a node whose uptime the token may not read. No node of the model is booted.
var errNoUptime = errors.New("no uptime")

func (r reader) Uptime(context.Context, string) (time.Duration, error) { return 0, errNoUptime }

func (r reader) MissingAudit(context.Context) (string, error) { return "", nil }

func (r reader) Nodes(context.Context) ([]cluster.Node, error) {
	return []cluster.Node{{Name: "pve1", Online: true}}, nil
}

func (r reader) StorageConfigs(context.Context) ([]cluster.Storage, error) {
	return []cluster.Storage{{ID: "local"}}, nil
}

func (r reader) Replications(context.Context) ([]cluster.Replication, error) { return nil, nil }

func (r reader) Snapshots(_ context.Context, row cluster.Row) (guest.Snapshots, error) {
	g, exists := r.guests[row.VMID]
	if !exists {
		return guest.Snapshots{}, fmt.Errorf("%w: %d", cluster.ErrNotExist, row.VMID)
	}
	return guest.Snapshots{Digest: g.digest()}, nil
}

func (r reader) StoredVolumes(_ context.Context, _, _ string, vmid int) ([]cluster.StoredVolume, error) {
	var list []cluster.StoredVolume
	for _, id := range slices.Sorted(maps.Keys(r.volumes)) {
		if owner, _ := guest.VolumeOwner(id); vmid == 0 || owner == vmid {
			list = append(list, cluster.StoredVolume{ID: id, Owner: owner})
		}
	}
	return list, nil
}
