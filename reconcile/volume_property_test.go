package reconcile_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/proxmox"
	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/reason"
)

var volumeSeeds = newSeeds("volume", 8, "random clusters with references to volumes")

// TestVolumeSeeds runs random clusters of managed and unmanaged machines and containers on two nodes with a shared and a local storage, replication jobs
// and random manifests. References of all kinds are made by hand at random moments, also while steps wait for a slot: current and pending values,
// snapshots, unused volumes, paths, linked clones. No call may attach, move, rename, migrate or delete a volume that another guest references, unless the
// reference was made after the agent read the guests for its check. The judge of the calls shares no code with the agent: it searches the texts of the
// configurations.
func TestVolumeSeeds(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	judged, refused := map[string]int{}, 0
	volumeSeeds.each(t, func(t *testing.T, seed uint64) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			calls, holds := runVolumeCluster(t, seed)
			mu.Lock()
			defer mu.Unlock()
			refused += holds
			for what, n := range calls {
				judged[what] += n
			}
		})
	}, func(t *testing.T) string {
		for _, what := range []string{"destroy", "attach", "move", "template", "migrate", "resize"} {
			if n := *volumeSeeds.count; n >= 16 && judged[what] == 0 || refused < n/2 {
				t.Errorf("got %v calls judged and %d refusals in %d clusters, want more: the property checks too little", judged, refused, n)
			}
		}
		return fmt.Sprintf("judged %v, %d steps refused", judged, refused)
	})
}

// runVolumeCluster runs the cluster of a seed. It returns how many volumes the judge checked, by what calls did to them, and how many guests had a step
// that was refused.
func runVolumeCluster(t *testing.T, seed uint64) (judged map[string]int, refusals int) {
	l := newLab(t, newSim(t, pvesim.Options{
		Nodes: []string{"pve1", "pve2"},
		Storages: []pvesim.Storage{
			{ID: "local", Type: "dir", Path: "/var/lib/vz", Content: "images,rootdir,iso,vztmpl,import,snippets,backup"},
			{ID: "local-lvm", Type: "lvmthin", Content: "images,rootdir"},
			{ID: "ceph", Type: "lvmthin", Content: "images,rootdir", Shared: true},
		},
	}))
	j := &volumeJudge{lab: l, next: l.sim.Transport(), made: make(map[string]made), replicas: make(map[int]string), judged: make(map[string]int)}
	l.opts.Cluster = l.connect(proxmox.Options{Transport: j})
	w := &volumeWorld{lab: l, judge: j, rng: rand.New(rand.NewPCG(seed, 7)), guests: map[int]*volumeGuest{}}
	w.begin()
	stop := l.start()
	l.converge()
	refused := make(map[int]bool)
	for round := range 4 {
		w.round(round)
		for _, g := range l.engine.Report().Guests {
			for _, h := range g.Held {
				refused[g.VMID] = refused[g.VMID] || strings.HasPrefix(string(h.Reason), "volume-")
			}
		}
	}
	stop()
	for _, fault := range j.faults {
		t.Errorf("seed %d: %s", seed, fault)
	}
	for _, violation := range l.sim.Violations() {
		t.Errorf("seed %d: %s", seed, violation)
	}
	return j.judged, len(refused)
}

// volumeGuest is what the manifest of a guest says.
type volumeGuest struct {
	storage  string // of its second disk or its mount point, and of the root volume of a container
	size     int    // in GiB
	volume   string // an existing volume in another slot; "" if there is none
	absent   bool   // that slot is to be empty
	node     string
	template bool
}

// volumeWorld changes manifests and configurations at random.
type volumeWorld struct {
	*lab
	judge  *volumeJudge
	rng    *rand.Rand
	guests map[int]*volumeGuest // by vmid
	clones int
}

// The managed guests are three machines and two containers; three guests are unmanaged, one of them a container.
const volumeContainer, lastManaged, firstForeign, lastForeign = 204, 205, 1000, 1002

// begin adds the guests, a replication job, and volumes that no guest holds.
func (w *volumeWorld) begin() {
	w.files["cluster.yaml"] = clusterYAML + "  guards: {maxDestroysPerDay: 100}\n"
	for vmid := 201; vmid <= lastManaged; vmid++ {
		w.guests[vmid] = &volumeGuest{storage: w.one("local-lvm", "ceph"), size: 4, node: "pve1"}
	}
	w.addBusyGuests()
	for vmid := firstForeign; vmid <= lastForeign; vmid++ {
		add, name, slot := w.sim.AddVM, "name", "scsi0"
		if vmid == lastForeign {
			add, name, slot = w.sim.AddCT, "hostname", "rootfs"
		}
		node := w.one("pve1", "pve1", "pve2")
		_, err := add(pvesim.Guest{
			VMID: vmid, Node: node, Running: w.rng.IntN(2) == 0,
			Config: fmt.Sprintf("%s: foreign-%d\nmemory: 512\n%s: %s:vm-%d-disk-0,size=4G\n", name, vmid, slot, w.one("local-lvm", "ceph"), vmid),
		})
		w.ok(err)
		if w.rng.IntN(2) == 0 {
			target := map[string]string{"pve1": "pve2", "pve2": "pve1"}[node]
			w.sim.AddReplication(vmid, target)
			w.judge.replicas[vmid] = target
		}
	}
	for _, storage := range []string{"local-lvm", "ceph"} {
		for vmid := 290; vmid <= 292; vmid++ {
			w.ok(w.sim.AddVolume(fmt.Sprintf("%s:vm-%d-disk-0", storage, vmid), 4<<30))
		}
	}
	w.write()
	w.push("begin", alice)
}

func (w *volumeWorld) one(words ...string) string { return words[w.rng.IntN(len(words))] }

// write writes the manifests of the guests.
func (w *volumeWorld) write() {
	for vmid := 201; vmid <= lastManaged; vmid++ {
		file := fmt.Sprintf("%d.yaml", vmid)
		delete(w.files, file)
		if g, wanted := w.guests[vmid]; wanted {
			w.files[file] = onNode(g.manifest(vmid), g.node)
		}
	}
}

// manifest returns the manifest of a guest on pve1.
func (g *volumeGuest) manifest(vmid int) string {
	container := vmid >= volumeContainer
	slot, path := "scsi2: {", ""
	if container {
		slot, path = "mp1: {", ", path: /more"
	}
	extra := ""
	switch {
	case g.absent:
		extra = ", " + slot + "absent: true}"
	case g.volume != "":
		extra = ", " + slot + `volume: "` + g.volume + `"` + path + "}"
	}
	lines := []string{"lifecycle: {destroy: allow, recreate: allow}"}
	if g.template {
		lines = append(lines, "template: true")
	}
	if container {
		lines = append(lines, fmt.Sprintf("mounts: {mp0: {storage: %s, size: %dGi, path: /data}%s}", g.storage, g.size, extra))
		return strings.NewReplacer("dns-1", fmt.Sprintf("dns-%d", vmid), "vmid: 210", fmt.Sprintf("vmid: %d", vmid), "rootfs: {storage: local,", "rootfs: {storage: "+g.storage+",").
			Replace(dnsYAML(lines...))
	}
	lines = append(lines, fmt.Sprintf("disks: {scsi1: {storage: %s, size: %dGi}%s}", g.storage, g.size, extra))
	return strings.Replace(vmYAML(fmt.Sprintf("web-%d", vmid), vmid, lines...), "clone: {name: tmpl-debian-12}", "blank: {}", 1)
}

// round changes manifests while references are made, with the write slots of the node busy most of the time.
func (w *volumeWorld) round(n int) {
	if w.rng.IntN(4) > 0 {
		w.occupyWriteSlots()
	}
	for range 1 + w.rng.IntN(3) {
		w.changeManifest()
	}
	w.write()
	w.push(fmt.Sprintf("round %d", n), alice)
	w.engine.Hint()
	for range 2 + w.rng.IntN(5) {
		time.Sleep(time.Duration(w.rng.Int64N(int64(2 * time.Second))))
		w.refer()
	}
	w.sim.Release()
	w.approveAll()
	w.cloneByHand()
	for range w.rng.IntN(4) {
		time.Sleep(time.Duration(w.rng.Int64N(int64(8 * time.Second))))
		w.refer()
	}
	w.sim.ClearFaults()
	time.Sleep(2 * time.Minute)
	w.sim.Release()
}

// changeManifest removes a guest, or names a volume for it, moves or grows its disk, moves it to the other node, turns it into a template, or has it
// again.
func (w *volumeWorld) changeManifest() {
	vmid := 201 + w.rng.IntN(lastManaged-200)
	g, wanted := w.guests[vmid]
	if !wanted {
		w.guests[vmid] = &volumeGuest{storage: "local-lvm", size: 4, node: "pve1"}
		return
	}
	switch w.rng.IntN(10) {
	case 0, 1, 2:
		delete(w.guests, vmid)
	case 3, 4:
		g.volume, g.absent = w.volume(), false
	case 5:
		g.volume, g.absent = "", true
	case 6:
		g.storage = w.one("local-lvm", "ceph")
	case 7:
		g.size++
	case 8:
		g.node = w.one("pve1", "pve2")
	default:
		g.template = true
	}
}

// approveAll approves what is held for an approval, with one push.
func (w *volumeWorld) approveAll() {
	var orders []string
	for _, g := range w.engine.Report().Guests {
		for _, h := range g.Held {
			if h.Digest != "" && h.Reason == reason.Approval {
				orders = append(orders, "Gitops-Approve: "+h.Digest)
			}
		}
	}
	if len(orders) > 0 {
		w.pollNow(w.push("Approve\n\n"+strings.Join(orders, "\n")+"\n", olga))
	}
}

// cloneByHand makes a linked clone of a managed template.
func (w *volumeWorld) cloneByHand() {
	for _, g := range w.sim.Guests() {
		if g.Template && g.VMID <= lastManaged && w.clones < 3 {
			kind := "qemu"
			if g.VMID >= volumeContainer {
				kind = "lxc"
			}
			w.clones++
			w.tryOn(g.Node, "POST", fmt.Sprintf("/%s/%d/clone", kind, g.VMID), fmt.Sprintf("newid=%d&full=0", lastForeign+w.clones))
			return
		}
	}
}

// volume returns a volume of a guest, or one that no guest holds, which no manifest names.
func (w *volumeWorld) volume() string {
	var free []string
	for _, v := range w.sim.Volumes() {
		named := false
		for _, g := range w.guests {
			named = named || g.volume == v.ID
		}
		if v.Owner != 0 && v.Owner != 9000 && !strings.HasPrefix(v.ID, "local:") && !named {
			free = append(free, v.ID)
		}
	}
	return free[w.rng.IntN(len(free))]
}

// refer makes a reference by hand, or removes those of an unmanaged guest.
func (w *volumeWorld) refer() {
	var vmids []int
	for _, g := range w.sim.Guests() {
		if g.VMID != 9000 && g.Lock == "" {
			vmids = append(vmids, g.VMID)
		}
	}
	vmid, volume := vmids[w.rng.IntN(len(vmids))], w.volume()
	_, name, _ := strings.Cut(volume, ":")
	var line func(text string) string
	current := func(added string) func(string) string { return func(text string) string { return added + text } }
	slot, options := "scsi", ",size=4G"
	if strings.Contains(w.sim.Config(vmid), "hostname: ") {
		slot, options = "mp", ",mp=/by-hand,size=4G"
	}
	switch w.rng.IntN(7) {
	case 0, 1:
		line = current(fmt.Sprintf("%s%d: %s%s\n", slot, 5+w.rng.IntN(3), volume, options))
	case 2:
		line = current("unused7: " + volume + "\n")
	case 3:
		if slot == "mp" {
			return // a container has no arguments
		}
		line = current("args: -drive file=/dev/pve/" + name + "\n")
	case 4:
		line = func(text string) string {
			return text + fmt.Sprintf("\n[by-hand-%d]\n%s9: %s%s\nsnaptime: 1700000000\n", w.rng.IntN(1000), slot, volume, options)
		}
	case 5:
		line = func(text string) string {
			head, snapshots, _ := strings.Cut(text, "\n[")
			if snapshots != "" {
				return text
			}
			return head + "\n[PENDING]\n" + slot + "6: " + volume + options + "\n"
		}
	default:
		if vmid < firstForeign {
			return
		}
		line = func(text string) string {
			head, _, _ := strings.Cut(text, "\n[")
			return regexp.MustCompile(`(?m)^(scsi[1-9]|mp\d|unused\d|args): .*\n`).ReplaceAllString(head+"\n", "")
		}
	}
	w.judge.edit(vmid, volume, line)
}

// made is when a reference was made.
type made struct {
	seq int // among the requests of the agent
	at  time.Time
}

// volumeJudge is the transport of the agent's client. It judges every write when it is sent.
type volumeJudge struct {
	*lab
	next http.RoundTripper

	mu       sync.Mutex
	seq      int
	indexed  int             // when the agent last began to read the guests for a check: only then it lists the replication jobs
	made     map[string]made // references that were made by hand, by vmid and volume
	replicas map[int]string  // nodes with copies of the guests' local volumes
	judged   map[string]int  // volumes, by what a call did to them
	faults   []string
}

// edit changes the file of a guest by hand.
func (j *volumeJudge) edit(vmid int, volume string, change func(string) string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seq++
	before := j.sim.Config(vmid)
	if before == "" || strings.Contains(before, "lock: ") || strings.Contains(before, "args: ") && strings.HasPrefix(change(""), "args: ") {
		return
	}
	added := strings.SplitN(change(""), ": ", 2)[0] + ": "
	if strings.Contains("\n"+before, "\n"+added) && !strings.HasPrefix(added, "\n") {
		return // the key is set already
	}
	j.ok(j.sim.EditFile(vmid, change))
	j.made[fmt.Sprint(vmid, " ", volume)] = made{j.seq, time.Now()}
}

// RoundTrip judges a write, and notes when the agent reads the guests for a check.
func (j *volumeJudge) RoundTrip(r *http.Request) (*http.Response, error) {
	j.mu.Lock()
	j.seq++
	path := strings.TrimPrefix(r.URL.Path, "/api2/json")
	if r.Method == http.MethodGet && path == "/cluster/replication" {
		j.indexed = j.seq
	}
	params := r.URL.Query()
	if r.Method != http.MethodGet && r.Body != nil {
		body, err := io.ReadAll(r.Body)
		j.ok(err)
		r.Body = io.NopCloser(bytes.NewReader(body))
		maps.Copy(params, formOrJSON(j, body))
	}
	if r.Method != http.MethodGet {
		j.judge(r.Method, path, params)
	}
	j.mu.Unlock()
	return j.next.RoundTrip(r)
}

func formOrJSON(l *volumeJudge, body []byte) url.Values {
	values := url.Values{}
	if len(body) > 0 && body[0] == '{' {
		for _, m := range regexp.MustCompile(`"([^"]+)":"([^"]*)"`).FindAllSubmatch(body, -1) {
			values.Set(string(m[1]), string(m[2]))
		}
		return values
	}
	parsed, err := url.ParseQuery(string(body))
	l.ok(err)
	return parsed
}

var (
	guestCall   = regexp.MustCompile(`^/nodes/(\w+)/(?:qemu|lxc)/(\d+)(/\w+)?$`)
	createCall  = regexp.MustCompile(`^/nodes/(\w+)/(?:qemu|lxc)$`)
	diskKey     = regexp.MustCompile(`^(?:(?:scsi|virtio|ide|sata|mp)\d+|rootfs)$`)
	volumeToken = regexp.MustCompile(`(?:local-lvm|ceph):(?:vm|base)-\d+-[a-z0-9-]+`)
)

// judge records a fault if a call acts on a volume that another guest references. The mutex is held.
func (j *volumeJudge) judge(method, path string, params url.Values) {
	if m := createCall.FindStringSubmatch(path); m != nil && method == http.MethodPost {
		j.judgeNamed(m[1], params.Get("vmid"), "", params)
		return
	}
	m := guestCall.FindStringSubmatch(path)
	if m == nil {
		return
	}
	text := j.sim.Config(atoi(m[2]))
	own := regexp.MustCompile(`(?:local-lvm|ceph):(?:vm|base)-` + m[2] + `-[a-z0-9-]+`)
	switch {
	case method == http.MethodDelete && m[3] == "":
		for _, volume := range own.FindAllString(withoutSnapshots(text), -1) {
			j.judgeVolume("destroy", m[1], m[2], volume, false)
		}
	case m[3] == "/config":
		j.judgeNamed(m[1], m[2], withoutSnapshots(text), params)
		for key := range strings.SplitSeq(params.Get("delete"), ",") {
			if strings.HasPrefix(key, "unused") {
				for _, volume := range volumeToken.FindAllString(lineOf(text, key), -1) {
					j.judgeVolume("delete", m[1], m[2], volume, false)
				}
			}
		}
	case m[3] == "/move_disk", m[3] == "/move_volume":
		for _, volume := range volumeToken.FindAllString(lineOf(text, params.Get("disk")+params.Get("volume")), -1) {
			j.judgeVolume("move", m[1], m[2], volume, false)
		}
	case m[3] == "/template":
		for line := range strings.SplitSeq(withoutSnapshots(text), "\n") {
			if key, value, _ := strings.Cut(line, ": "); diskKey.MatchString(key) {
				for _, volume := range volumeToken.FindAllString(value, -1) {
					j.judgeVolume("template", m[1], m[2], volume, false)
				}
			}
		}
	case m[3] == "/migrate":
		for _, volume := range own.FindAllString(withoutSnapshots(text), -1) {
			if !strings.HasPrefix(volume, "ceph:") { // every node has these
				j.judgeVolume("migrate", m[1], m[2], volume, false)
			}
		}
	case m[3] == "/resize":
		key := params.Get("disk")
		if !volumeToken.MatchString(lineOf(text, key)) {
			j.faults = append(j.faults, fmt.Sprintf("resize of %s of guest %s, which holds no volume", key, m[2]))
		}
		j.judged["resize"]++
	}
}

// judgeNamed judges the volumes that parameters put into slots and that text does not name.
func (j *volumeJudge) judgeNamed(node, vmid, text string, params url.Values) {
	for key, values := range params {
		for _, volume := range volumeToken.FindAllString(strings.Join(values, ","), -1) {
			if diskKey.MatchString(key) && !strings.Contains(lineOf(text, key), volume) {
				j.judgeVolume("attach", node, vmid, volume, true)
			}
		}
	}
}

// judgeVolume records a fault if another guest references the volume since before the agent's last reading. An unused key of an owned guest does not
// forbid to attach.
func (j *volumeJudge) judgeVolume(what, node, vmid, volume string, attach bool) {
	j.judged[what]++
	storage, name, _ := strings.Cut(volume, ":")
	names := regexp.MustCompile(`(?:` + storage + `:|/dev/pve/)` + name + `(?:$|[,/\s])`)
	owned := j.journal.State().Owned
	for _, g := range j.sim.Guests() {
		if fmt.Sprint(g.VMID) == vmid || storage != "ceph" && g.Node != node && j.replicas[g.VMID] != node {
			continue
		}
		for line := range strings.SplitSeq(j.sim.Config(g.VMID), "\n") {
			if strings.HasPrefix(line, "#") || !names.MatchString(line) {
				continue
			}
			if _, ours := owned[g.VMID]; attach && ours && strings.HasPrefix(line, "unused") {
				continue
			}
			if made := j.made[fmt.Sprint(g.VMID, " ", volume)]; made.seq > j.indexed && time.Since(made.at) <= 5*time.Second {
				continue // the agent had read the guest, not longer ago than a reading may serve
			}
			j.faults = append(j.faults, fmt.Sprintf("%s of %s for guest %s, which guest %d references: %q", what, volume, vmid, g.VMID, line))
		}
	}
}

// withoutSnapshots returns the sections of a configuration that apply now and after the next start.
func withoutSnapshots(text string) string {
	var kept []string
	snapshot := false
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "[") {
			snapshot = line != "[PENDING]"
		}
		if !snapshot {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// lineOf returns the first line of a key.
func lineOf(text, key string) string {
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, key+":") {
			return line
		}
	}
	return ""
}

func atoi(text string) (n int) {
	_, _ = fmt.Sscan(text, &n)
	return n
}
