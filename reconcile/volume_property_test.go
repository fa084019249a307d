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
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/proxmox"
	"gitops-agent/internal/pvesim"
)

var volumeSeeds = newSeeds("volume", 16, "random clusters with references to volumes")

// TestVolumeSeeds runs random clusters of managed and unmanaged guests on two nodes, with random manifests. References of all kinds are made by hand at
// random moments, also while steps wait for a slot. No call may attach, move or delete a volume that another guest references, unless the reference was
// made after the agent read the guests for its check. The judge of the calls shares no code with the agent: it searches the texts of the configurations.
func TestVolumeSeeds(t *testing.T) {
	var checked, refused atomic.Int64
	volumeSeeds.each(t, func(t *testing.T, seed uint64) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			calls, holds := runVolumeCluster(t, seed)
			checked.Add(int64(calls))
			refused.Add(int64(holds))
		})
	}, func(t *testing.T) string {
		if n := int64(*volumeSeeds.count); checked.Load() < n || refused.Load() < n/2 {
			t.Errorf("got %d calls and %d refusals in %d clusters, want more: the property checks too little", checked.Load(), refused.Load(), n)
		}
		return fmt.Sprintf("%d calls checked, %d steps refused", checked.Load(), refused.Load())
	})
}

// runVolumeCluster runs the cluster of a seed. It returns how many calls the judge checked, and how many guests had a step that was refused.
func runVolumeCluster(t *testing.T, seed uint64) (calls, refusals int) {
	l := newLab(t, newSim(t, pvesim.Options{
		Nodes: []string{"pve1", "pve2"},
		Storages: []pvesim.Storage{
			{ID: "local", Type: "dir", Path: "/var/lib/vz", Content: "images,rootdir,iso,vztmpl,import,snippets,backup"},
			{ID: "local-lvm", Type: "lvmthin", Content: "images,rootdir"},
			{ID: "ceph", Type: "lvmthin", Content: "images,rootdir", Shared: true},
		},
	}))
	j := &volumeJudge{lab: l, next: l.sim.Transport(), made: make(map[string]made)}
	l.opts.Cluster = l.connect(proxmox.Options{Transport: j})
	w := &volumeWorld{lab: l, judge: j, rng: rand.New(rand.NewPCG(seed, 7)), disks: map[int][]string{}}
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
	return j.checked, len(refused)
}

// volumeWorld changes manifests and configurations at random.
type volumeWorld struct {
	*lab
	judge *volumeJudge
	rng   *rand.Rand
	disks map[int][]string // lines of the manifests of the guests with these vmids
}

// begin adds five managed guests, three unmanaged ones, and volumes that no guest holds.
func (w *volumeWorld) begin() {
	w.files["cluster.yaml"] = clusterYAML + "  guards: {maxDestroysPerDay: 100}\n"
	for vmid := 201; vmid <= 205; vmid++ {
		w.disks[vmid] = []string{"scsi1: {storage: " + w.one("local-lvm", "ceph") + ", size: 4Gi}"}
	}
	w.addBusyGuests()
	for vmid := 1000; vmid <= 1002; vmid++ {
		_, err := w.sim.AddVM(pvesim.Guest{
			VMID: vmid, Node: w.one("pve1", "pve1", "pve2"), Running: w.rng.IntN(2) == 0,
			Config: fmt.Sprintf("name: foreign-%d\nmemory: 512\nscsi0: %s:vm-%d-disk-0,size=4G\n", vmid, w.one("local-lvm", "ceph"), vmid),
		})
		w.ok(err)
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
	for vmid := 201; vmid <= 205; vmid++ {
		file := fmt.Sprintf("%d.yaml", vmid)
		delete(w.files, file)
		if lines, wanted := w.disks[vmid]; wanted {
			w.files[file] = strings.Replace(vmYAML(fmt.Sprintf("web-%d", vmid), vmid, "lifecycle: {destroy: allow, recreate: allow}", "disks: {"+strings.Join(lines, ", ")+"}"),
				"clone: {name: tmpl-debian-12}", "blank: {}", 1)
		}
	}
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
	for range w.rng.IntN(4) {
		time.Sleep(time.Duration(w.rng.Int64N(int64(8 * time.Second))))
		w.refer()
	}
	w.sim.ClearFaults()
	time.Sleep(2 * time.Minute)
	w.sim.Release()
}

// changeManifest removes a guest, or names a volume for it, or moves its disk, or has it again.
func (w *volumeWorld) changeManifest() {
	vmid := 201 + w.rng.IntN(5)
	lines, wanted := w.disks[vmid]
	switch what := w.rng.IntN(5); {
	case !wanted:
		w.disks[vmid] = []string{"scsi1: {storage: local-lvm, size: 4Gi}"}
	case what < 2:
		delete(w.disks, vmid)
	case what < 4 && len(lines) == 1:
		w.disks[vmid] = append(slices.Clone(lines), `scsi2: {volume: "`+w.volume()+`"}`)
	default:
		w.disks[vmid] = []string{"scsi1: {storage: " + w.one("local-lvm", "ceph") + ", size: 4Gi}"}
	}
}

// volume returns a volume of a guest, or one that no guest holds, which no manifest names.
func (w *volumeWorld) volume() string {
	var free []string
	for _, v := range w.sim.Volumes() {
		named := false
		for _, lines := range w.disks {
			named = named || strings.Contains(strings.Join(lines, " "), v.ID)
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
	switch w.rng.IntN(7) {
	case 0, 1:
		line = current(fmt.Sprintf("scsi%d: %s,size=4G\n", 5+w.rng.IntN(3), volume))
	case 2:
		line = current("unused7: " + volume + "\n")
	case 3:
		line = current("args: -drive file=/dev/pve/" + name + "\n")
	case 4:
		line = func(text string) string {
			return text + fmt.Sprintf("\n[by-hand-%d]\nscsi9: %s\nsnaptime: 1700000000\n", w.rng.IntN(1000), volume)
		}
	case 5:
		line = func(text string) string {
			head, snapshots, _ := strings.Cut(text, "\n[")
			if snapshots != "" {
				return text
			}
			return head + "\n[PENDING]\nscsi6: " + volume + "\n"
		}
	default:
		if vmid < 1000 {
			return
		}
		line = func(text string) string {
			head, _, _ := strings.Cut(text, "\n[")
			return regexp.MustCompile(`(?m)^(scsi[1-9]|unused\d|args): .*\n`).ReplaceAllString(head+"\n", "")
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

	mu      sync.Mutex
	seq     int
	indexed int             // when the agent last began to read the guests for a check: only then it lists the replication jobs
	made    map[string]made // references that were made by hand, by vmid and volume
	checked int
	faults  []string
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
	diskKey     = regexp.MustCompile(`^(?:scsi|virtio|ide|sata)\d+$`)
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
	case m[3] == "/move_disk":
		for _, volume := range volumeToken.FindAllString(lineOf(text, params.Get("disk")), -1) {
			j.judgeVolume("move", m[1], m[2], volume, false)
		}
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
	j.checked++
	storage, name, _ := strings.Cut(volume, ":")
	names := regexp.MustCompile(`(?:` + storage + `:|/dev/pve/)` + name + `(?:$|[,\s])`)
	owned := j.journal.State().Owned
	for _, g := range j.sim.Guests() {
		if fmt.Sprint(g.VMID) == vmid || storage != "ceph" && g.Node != node {
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
