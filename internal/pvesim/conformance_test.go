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
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// conformanceFloor is how many recorded entries must match. It only goes up.
const conformanceFloor = 100

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
var outOfScope = regexp.MustCompile(`^/api2/json(?:/cluster/(?:log|ha|backup)|/nodes/[^/]+/(?:status|network|vzdump|startall|stopall)$|` +
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
}

func newReplay(t *testing.T) *replay {
	opts := Options{
		Storages: []Storage{
			{ID: "local", Type: "dir", Path: "/var/lib/vz", Content: "images,rootdir,iso,vztmpl,import,snippets,backup"},
			{ID: "local2", Type: "dir", Path: "/var/lib/vz2", Content: "images,iso,rootdir"},
		},
		Tokens:   append(DefaultTokens(), Token{ID: "gitops@pve!none", Secret: "5eed0000-0000-4000-8000-000000000004"}),
		TaskTime: 200 * time.Millisecond, ResourcesPeriod: 10 * time.Second,
	}
	r := &replay{t: t, sim: New(opts), upids: map[string]string{}, digests: map[string]string{}, sentMACs: map[string]bool{}}
	t.Cleanup(r.sim.Close)
	r.tokens = map[string]string{
		"full": r.sim.Token("root@pam!full"), "agent": r.sim.Token("gitops@pve!agent"), "ro": r.sim.Token("gitops@pve!ro"),
		"none": r.sim.Token("gitops@pve!none"),
	}
	for id, size := range map[string]int64{
		"local:iso/tiny.iso": 17825792, "local:import/tiny.qcow2": 17825792, "local:vztmpl/busybox_1_amd64.tar.gz": 2 << 20,
	} {
		if err := r.sim.AddVolume(id, size); err != nil {
			t.Fatal(err)
		}
	}
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
		diff := r.replay(e)
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
	return fmt.Sprintf("  got  %d %s %s\n  want %d %s %s", got.status, got.reason, got.body, want.status, want.reason, want.body)
}

var (
	upidPattern   = regexp.MustCompile(`UPID:[^:\s"]+:[0-9A-F]{8}:[0-9A-F]{8,9}:[0-9A-F]{8}:([^:\s"]+):([^:\s"]*):([^:\s"]+):`)
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
		raw, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		b.Write(raw)
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

// hostActions are keyed by file and the entry that they precede.
var hostActions = map[string]hostAction{
	"13/3":  edit(130, "lock", "backup"),
	"13/25": edit(130, "lock", ""),
}
