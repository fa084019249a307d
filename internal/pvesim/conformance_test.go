package pvesim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// conformanceFloor is how many recorded entries must match. It only goes up.
const conformanceFloor = 2250

// recording is one file of recorded calls.
type recording struct {
	Title   string
	Entries []recorded
}

type recorded struct {
	Note    string
	Request struct {
		Method, URL, Token string
		Headers            map[string]string
		RawBody            *string `json:"raw_body"`
	}
	Response struct {
		Status int
		Reason string
		Body   string
	}
}

// sharedDir finds the recorded material beside the module, or skips.
func sharedDir(t *testing.T, elem ...string) string {
	t.Helper()
	dir := filepath.Join(append([]string{"..", "..", "..", "shared"}, elem...)...)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("recorded material is absent: %v", err)
	}
	return dir
}

// outOfScope are calls that the simulator does not answer: other parts of the API.
var outOfScope = regexp.MustCompile(`^/api2/json(?:/cluster/(?:log|backup)|/nodes/[^/]+/(?:status|network|vzdump|startall|stopall)$|` +
	`/nodes/[^/]+/(?:qemu|lxc)/\d+/(?:agent|cloudinit|interfaces|migrate|rrd|monitor|vncproxy|firewall|feature)|/access/(?:acl|users|roles|ticket))`)

// TestConformance replays the recorded calls in order and compares status, reason and body up to generated values.
func TestConformance(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(sharedDir(t, "transcripts"), "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("list recordings: got %d, %v", len(files), err)
	}
	slices.Sort(files)
	synctest.Test(t, func(t *testing.T) {
		r := newReplay(t)
		for _, f := range files {
			r.file(f)
		}
		t.Logf("conformance: %d of %d entries, %d outside scope", r.passed, r.total, r.outside)
		fmt.Fprintf(os.Stderr, "conformance: %d of %d entries, %d outside scope\n", r.passed, r.total, r.outside)
		if r.passed < conformanceFloor {
			t.Errorf("matching entries: got %d, want at least %d", r.passed, conformanceFloor)
		}
		for _, v := range r.sim.Violations() {
			t.Errorf("violation: %s", v)
		}
	})
}

type replay struct {
	t                      *testing.T
	sim                    *Sim
	tokens                 map[string]string
	upids                  map[string]string // recorded to ours
	digests                map[string]string // recorded to ours
	sentMACs               map[string]bool
	passed, total, outside int
	first                  int64 // start of the first recorded task
	begun                  time.Time
}

func newReplay(t *testing.T) *replay {
	opts := Options{
		Storages: []Storage{
			{ID: "local", Type: "dir", Path: "/var/lib/vz", Content: "images,rootdir,iso,vztmpl,import,snippets,backup"},
			{ID: "local2", Type: "dir", Path: "/var/lib/vz2", Content: "images,iso,rootdir"},
		},
		Tokens:   append(DefaultTokens(), Token{ID: "nobody@pve!none", Secret: "5eed0000-0000-4000-8000-000000000004"}),
		TaskTime: 20 * time.Millisecond, TaskTimes: map[string]time.Duration{"qmclone": 5 * time.Second},
		HADelay:         -1, // no manager acted on the recorder's host
		ResourcesPeriod: 10 * time.Second,
		CPUs:            2, Memory: 25276510208,
	}
	r := &replay{t: t, sim: New(opts), upids: map[string]string{}, digests: map[string]string{}, sentMACs: map[string]bool{}}
	t.Cleanup(r.sim.Close)
	r.tokens = map[string]string{
		"full": r.sim.Token("root@pam!full"), "agent": r.sim.Token("gitops@pve!agent"), "ro": r.sim.Token("gitops@pve!ro"),
		"none": r.sim.Token("nobody@pve!none"),
	}
	for id, size := range map[string]int64{
		"local:iso/tiny.iso": 17825792, "local:import/tiny.qcow2": 17825792, "local:vztmpl/busybox_1_amd64.tar.gz": 2 << 20,
	} {
		if err := r.sim.AddVolume(id, size); err != nil {
			t.Fatal(err)
		}
	}
	r.sim.volume("local:import/tiny.qcow2").Stored = 17039360
	r.sim.volume("local:vztmpl/busybox_1_amd64.tar.gz").Stored = 1068176
	return r
}

func (r *replay) file(path string) {
	b, err := os.ReadFile(path)
	if err != nil {
		r.t.Fatal(err)
	}
	var rec recording
	if err := json.Unmarshal(b, &rec); err != nil {
		r.t.Fatalf("decode %s: %v", path, err)
	}
	name, _, _ := strings.Cut(filepath.Base(path), "-")
	passed, total := 0, 0
	for i, e := range rec.Entries {
		hostActions[name+"/"+itoa(i)].run(r)
		if outOfScope.MatchString(e.Request.URL) {
			r.outside++
			continue
		}
		total++
		r.advance(e)
		diff := r.replay(e)
		time.Sleep(pauseAfter(rec.Entries, i))
		if diff == "" {
			passed++
		} else if testing.Verbose() {
			r.t.Logf("MISS %s/%d %s %s %s\n%s", name, i, e.Request.Method, e.Request.URL, e.Note, diff)
		}
	}
	r.passed += passed
	r.total += total
	r.t.Logf("%s: %d of %d", filepath.Base(path), passed, total)
}

// pauseAfter is the time between a call and the next one: none to speak of where the recorder called in parallel or found a task
// still running, else long enough for a task to end.
func pauseAfter(entries []recorded, i int) time.Duration {
	note := entries[i].Note
	next := i + 1
	if strings.Contains(note, "parallel") || strings.Contains(note, "race") || entries[i].Response.Status != http.StatusOK {
		return time.Millisecond
	}
	if next < len(entries) && strings.Contains(entries[next].Response.Body, `"status":"running","upid"`) {
		return time.Millisecond
	}
	if next < len(entries) && strings.HasSuffix(entries[next].Note, "immediately after") {
		return time.Millisecond
	}
	return 30 * time.Millisecond
}

// advance lets as much time pass as the recorded task ids show.
func (r *replay) advance(e recorded) {
	m := upidStart.FindStringSubmatch(e.Response.Body)
	if m == nil || e.Request.Method == http.MethodGet {
		return
	}
	at, err := strconv.ParseInt(m[1], 16, 64)
	if err != nil {
		r.t.Fatal(err)
	}
	if r.first == 0 {
		r.first, r.begun = at, time.Now()
	}
	if wait := time.Until(r.begun.Add(time.Duration(at-r.first) * time.Second)); wait > 0 {
		time.Sleep(wait)
	}
}

// replay sends one recorded request and returns how the answer differs.
func (r *replay) replay(e recorded) string {
	got := r.send(e)
	if strings.HasSuffix(e.Request.URL, "/status") && strings.Contains(e.Response.Body, `"stopped"`) && strings.Contains(e.Request.URL, "/tasks/") {
		for range 3000 { // the recorder waited for the end
			if !strings.Contains(got.body, `"running"`) {
				break
			}
			time.Sleep(100 * time.Millisecond)
			got = r.send(e)
		}
	}
	r.learn(e.Response.Body, got.body)
	want := answer{status: e.Response.Status, reason: e.Response.Reason, body: r.normalize(e.Response.Body)}
	got.body = r.normalize(got.body)
	if got == want {
		return ""
	}
	return fmt.Sprintf("  got  %d %s %s\n  want %d %s %s", got.status, got.reason, only(got.body, want.body), want.status, want.reason, only(want.body, got.body))
}

// only is what a canonical body has and the other has not.
func only(body, other string) string {
	var out []string
	rest := strings.Split(other, " ")
	for w := range strings.SplitSeq(body, " ") {
		if i := slices.Index(rest, w); i >= 0 {
			rest = slices.Delete(rest, i, i+1)
		} else {
			out = append(out, w)
		}
	}
	return strings.Join(out, " ")
}

var (
	upidPattern   = regexp.MustCompile(`UPID:[^:\s"]+:[0-9A-F]{8}:[0-9A-F]{8,9}:[0-9A-F]{8}:([^:\s"]+):([^:\s"]*):([^:\s"]+):`)
	upidStart     = regexp.MustCompile(`^\{"data":"UPID:[^:]+:[0-9A-F]+:[0-9A-F]+:([0-9A-F]{8}):`)
	stateDate     = regexp.MustCompile(`state-suspend-\d{4}-\d\d-\d\d`)
	digestPattern = regexp.MustCompile(`"digest":"([0-9a-f]{40})"`)
	macPattern    = regexp.MustCompile(`(?i)\bBC:24:11(?::[0-9A-F]{2}){3}\b`)
	uuidPattern   = regexp.MustCompile(`\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`)
)

func (r *replay) send(e recorded) answer {
	u := e.Request.URL
	for old, now := range r.upids {
		u = strings.ReplaceAll(u, old, now)
		u = strings.ReplaceAll(u, url.QueryEscape(old), url.QueryEscape(now))
	}
	var body io.Reader
	if e.Request.RawBody != nil {
		s := *e.Request.RawBody
		for old, now := range r.digests {
			s = strings.ReplaceAll(s, old, now)
		}
		for _, m := range macPattern.FindAllString(strings.ReplaceAll(s, "%3A", ":"), -1) {
			r.sentMACs[m] = true
		}
		body = strings.NewReader(s)
	}
	req, err := http.NewRequestWithContext(r.t.Context(), e.Request.Method, "http://pve"+u, body)
	if err != nil {
		r.t.Fatal(err)
	}
	for k, v := range e.Request.Headers {
		req.Header.Set(k, v)
	}
	if tok := e.Request.Token; tok != "" {
		if known := r.tokens[tok]; known != "" {
			tok = known
		}
		req.Header.Set("Authorization", "PVEAPIToken="+tok)
	}
	return (&client{t: r.t, sim: r.sim}).send(req)
}

// learn remembers which of our generated values stands for which recorded one.
func (r *replay) learn(want, got string) {
	w, g := upidPattern.FindAllString(want, -1), upidPattern.FindAllString(got, -1)
	if len(w) > 0 && len(g) > 0 {
		if _, known := r.upids[w[0]]; !known {
			r.upids[w[0]] = g[0]
		}
	}
	wd, gd := digestPattern.FindStringSubmatch(want), digestPattern.FindStringSubmatch(got)
	if wd != nil && gd != nil {
		r.digests[wd[1]] = gd[1]
	}
}

// measured are keys whose values depend on the host or the moment.
var measured = map[string]bool{
	"cpu": true, "mem": true, "memhost": true, "disk": true, "netin": true, "netout": true, "diskread": true, "diskwrite": true, "uptime": true,
	"used": true, "avail": true, "used_fraction": true, "pid": true, "pstart": true, "starttime": true, "endtime": true, "ctime": true,
	"snaptime": true, "digest": true, "pressurecpufull": true, "pressurecpusome": true, "pressureiofull": true, "pressureiosome": true,
	"pressurememoryfull": true, "pressurememorysome": true, "blockstat": true, "ballooninfo": true, "ssl_fingerprint": true, "saved": true,
	"total": true,
}

// isMeasured also knows the keys that are measured in a status and settings in a config.
func isMeasured(key string, in map[string]any) bool {
	if key == "swap" {
		return in["maxswap"] != nil
	}
	if _, isText := in[key].(string); key == "cpu" && isText {
		return false
	}
	return measured[key]
}

func (r *replay) normalize(body string) string {
	body = stateDate.ReplaceAllString(body, "state-suspend-DATE")
	s := upidPattern.ReplaceAllString(body, "UPID:$1:$2:$3")
	s = uuidPattern.ReplaceAllString(s, "UUID")
	s = regexp.MustCompile(`ctime=\d+`).ReplaceAllString(s, "ctime=N")
	s = macPattern.ReplaceAllStringFunc(s, func(m string) string {
		if r.sentMACs[m] {
			return m
		}
		return "MAC"
	})
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return s
	}
	var b bytes.Buffer
	canonical(&b, v)
	return b.String()
}

// canonical prints JSON with sorted keys, lists of objects sorted, and measured values blanked.
func canonical(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case map[string]any:
		b.WriteByte('{')
		for _, k := range slices.Sorted(maps.Keys(v)) {
			fmt.Fprintf(b, "%q:", k)
			switch {
			case isMeasured(k, v), k == "value" && v["key"] == "digest":
				b.WriteString("N")
			case k == "content":
				c := strings.Split(fmt.Sprint(v[k]), ",")
				slices.Sort(c)
				b.WriteString(strings.Join(c, ","))
			default:
				canonical(b, v[k])
			}
			b.WriteByte(' ')
		}
		b.WriteByte('}')
	case []any:
		items := make([]string, 0, len(v))
		for _, x := range v {
			var ib bytes.Buffer
			canonical(&ib, x)
			items = append(items, ib.String())
		}
		slices.Sort(items)
		b.WriteString("[" + strings.Join(items, " ") + "]")
	default:
		fmt.Fprintf(b, "%q", fmt.Sprint(v))
		fmt.Fprintf(b, "%.1T", v) // a number is not the text of a number
	}
}

// hostAction is something that happened on the recorder's host without a call.
type hostAction func(*Sim) error

func (a hostAction) run(r *replay) {
	if a == nil {
		return
	}
	if err := a(r.sim); err != nil {
		r.t.Logf("host action: %v", err)
	}
}

func edit(vmid int, key, value string) hostAction {
	return func(s *Sim) error { return s.Edit(vmid, key, value) }
}

// keep removes every guest but the named ones, as the recorder did by hand between files.
func keep(vmids ...int) hostAction {
	return func(s *Sim) error {
		for _, g := range s.Guests() {
			if !slices.Contains(vmids, g.VMID) {
				if err := s.RemoveGuest(g.VMID); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// holdLock keeps a guest's lock for a while, as a process on the host did.
func holdLock(vmid int, d time.Duration) hostAction {
	return func(s *Sim) error {
		unlock, err := s.LockGuest(vmid)
		if err == nil {
			time.AfterFunc(d, unlock)
		}
		return err
	}
}

// lostWorker makes the next create of a vmid lose its worker, which happened to the recorder by chance.
func lostWorker(vmid int) hostAction {
	return func(s *Sim) error { return s.Inject(Fault{Kind: LostWorker, Method: http.MethodPost, VMID: vmid}) }
}

func daemonDown(times int) hostAction {
	return func(s *Sim) error { return s.Inject(Fault{Kind: ProxyStatus, Status: 595, Times: times}) }
}

func pass(d time.Duration) hostAction {
	return func(*Sim) error { time.Sleep(d); return nil }
}

func deaf(vmid int) hostAction { return func(s *Sim) error { return s.IgnoreShutdown(vmid) } }

func hears(vmid int) hostAction {
	return func(s *Sim) error { s.guests[vmid].deaf = false; return nil }
}

func all(actions ...hostAction) hostAction {
	return func(s *Sim) error {
		for _, a := range actions {
			if err := a(s); err != nil {
				return err
			}
		}
		return nil
	}
}

func remove(vmid int) hostAction { return func(s *Sim) error { return s.RemoveGuest(vmid) } }

func addCT(vmid int, conf string) hostAction {
	return func(s *Sim) error { _, err := s.AddCT(Guest{VMID: vmid, Config: conf}); return err }
}

func addGuestVM(g Guest) hostAction {
	return func(s *Sim) error { _, err := s.AddVM(g); return err }
}

func stopped(vmid int) hostAction {
	return func(s *Sim) error {
		time.Sleep(time.Second)
		return s.SetRunning(vmid, false)
	}
}

func unlinkVolume(id string) hostAction {
	return func(s *Sim) error {
		return s.locked(func() error { s.free(id, "removed by hand"); return nil })
	}
}

func volume(id string, size int64) hostAction {
	return func(s *Sim) error { return s.AddVolume(id, size) }
}

// stopCall140And120 are two calls that the recorder made without recording them.
func stopCall140And120(s *Sim) error {
	for _, vmid := range []int{140, 120} {
		s.spawn("pve1", "qmstop", itoa(vmid), vmid, "root@pam!full", nil, func(t *task) error {
			return t.onGuest(QEMU, vmid, func() error {
				c := &call{sim: s, vars: values{"node": "pve1", "vmid": itoa(vmid)}}
				g, err := c.taskGuest(QEMU)
				if err == nil && g.running {
					s.halt(g)
				}
				return err
			})
		})
		time.Sleep(time.Second)
	}
	return nil
}

// hostActions are keyed by file and the entry that they precede.
var hostActions = map[string]hostAction{
	"10/153": edit(110, "efidisk0", ""), // the recorder's host lacked virt-fw-vars
	"11/232": stopped(120),              // and the firmware
	"13/0":   all(keep(101, 110), edit(101, "cores", "2")),
	"13/3":   edit(130, "lock", "backup"),
	"13/25":  edit(130, "lock", ""),
	"17/0": all(remove(140), addGuestVM(Guest{VMID: 140, Running: true, Config: "#v1\nagent: 1\nboot: order=ide2\ncores: 1\n" +
		"ide2: local:iso/tiny.iso,media=cdrom\nmemory: 256\nname: snap\nscsi0: local:1,format=qcow2\nscsihw: virtio-scsi-single\n"})),
	"17/23":  deaf(140),
	"17/58":  edit(140, "kvm", "0"),
	"17/63":  all(hears(140), holdLock(140, 25*time.Second)),
	"18/0":   all(stopCall140And120, volume("local:150/vm-150-disk-7.raw", mib)),
	"20/136": lostWorker(214),
	"20/138": lostWorker(216),
	"20/142": lostWorker(220),
	"20/177": holdLock(151, time.Minute),
	"21/0":   lostWorker(305),
	"22/10":  all(edit(214, "lock", ""), edit(216, "lock", ""), edit(220, "lock", "")),
	"23/0":   keep(101, 110),
	"25/0":   edit(401, "lock", ""),
	"26/0":   all(remove(400), addCT(400, "arch: amd64\nhostname: CT400\nmemory: 512\nostype: alpine\nrootfs: local:1\nswap: 512\nunprivileged: 1\n")),
	"27/1":   all(addGuestVM(Guest{VMID: 500, Config: "name: pm\n"}), pass(11*time.Second)),
	"29/0":   all(keep(), volume("local:401/vm-401-disk-2.raw", gib)),
	"32/0":   keep(520),
	"27/0":   keep(404, 500),
	"27/18":  pass(11 * time.Second),
	"32/6":   pass(11 * time.Second),
	"32/7":   deaf(530),
	"32/34":  holdLock(530, 26*time.Second),
	"33/1":   all(keep(520), daemonDown(2)),
	"38/17":  deaf(570),
	"40/0":   keep(),
	"33/4":   daemonDown(2),
	"34/6":   deaf(550),
	"39/31":  unlinkVolume("local:iso/tiny.iso"),
	"39/38":  volume("local:iso/tiny.iso", 17825792),
	"39/42":  unlinkVolume("local:580/vm-580-disk-0.raw"),
}
