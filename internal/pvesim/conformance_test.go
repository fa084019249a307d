package pvesim

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/recordings"
)

// series is recordings of one host, and what is compared of them.
type series struct {
	name string
	// files, and the groups of endpoints that are compared in each
	files []recordings.File
	scope map[string]string
	// entries is the minimum number of entries in the scope, so that no entry can drop out unnoticed. floor is the number that must match, as recorded
	// and with everything renamed. Both never decrease, unless an entry turns out to show a stub of the recorder.
	entries, floor int
	start          func(r *replay)
	actions        map[string]hostAction
	exceptions     map[string]string
	stubbed        map[string]string
}

// TestConformance replays the recorded calls in order and compares status, reason and body up to generated values.
func TestConformance(t *testing.T) {
	for _, of := range []series{firstSeries(t), secondSeries(t)} {
		checkScope(t, of)
		for name, rename := range map[string]renaming{"as_recorded": {}, "renamed": {on: true}} {
			t.Run(of.name+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { conform(t, of, rename) })
			})
		}
	}
}

func firstSeries(t *testing.T) series {
	return series{
		name: "first", files: recordings.First(t), scope: scope, entries: 2341, floor: 2329, start: startFirst, actions: hostActions, exceptions: exceptions,
	}
}

func conform(t *testing.T, of series, rename renaming) {
	t.Helper()
	r := newReplay(t, of, rename)
	for _, f := range of.files {
		r.file(f)
	}
	t.Logf("conformance: %d of %d entries, %d outside scope", r.passed, r.total, r.outside)
	fmt.Fprintf(os.Stderr, "conformance: %s series, %d of %d entries, %d outside scope\n", of.name, r.passed, r.total, r.outside)
	if r.total < of.entries {
		t.Errorf("entries in scope: got %d, want at least %d", r.total, of.entries)
	}
	if r.passed < of.floor {
		t.Errorf("matching entries: got %d, want at least %d", r.passed, of.floor)
	}
	for _, v := range r.sim.Violations() {
		t.Errorf("violation: %s", v)
	}
}

type replay struct {
	t                      *testing.T
	of                     series
	sim                    *Sim
	rename                 renaming
	tokens                 map[string]string
	upids                  map[string]string // recorded value to the simulator's
	digests                map[string]string // recorded value to the simulator's
	backups                map[string]string // recorded archive name to the simulator's
	sentMACs               map[string]bool
	races                  []*race
	racing                 *race // the group of the current entry, or nil
	passed, total, outside int
	first                  int64 // start of the first recorded task, in seconds since 1970
	begun                  time.Time
}

func newReplay(t *testing.T, of series, rename renaming) *replay {
	r := &replay{t: t, of: of, rename: rename, upids: map[string]string{}, digests: map[string]string{}, backups: map[string]string{}, sentMACs: map[string]bool{}, races: races(rename)}
	of.start(r)
	t.Cleanup(r.sim.Close)
	return r
}

// startFirst starts the cluster of the first series.
func startFirst(r *replay) {
	r.sim = New(Options{
		Nodes: []string{r.rename.text("pve1")},
		Storages: []Storage{
			{ID: "local", Type: "dir", Path: "/var/lib/vz", Content: "images,rootdir,iso,vztmpl,import,snippets,backup"},
			{ID: r.rename.text("local2"), Type: "dir", Path: "/var/lib/vz2", Content: "images,iso,rootdir"},
		},
		Tokens:   append(DefaultTokens(), Token{ID: "nobody@pve!none", Secret: "5eed0000-0000-4000-8000-000000000004"}),
		TaskTime: 20 * time.Millisecond, TaskTimes: map[string]time.Duration{"qmclone": 5 * time.Second, "vztemplate": 40 * time.Millisecond},
		HADelay:         -1, // no manager acted on the recorder's host
		ResourcesPeriod: 10 * time.Second,
		CPUs:            2, Memory: 25276510208,
	})
	r.tokens = map[string]string{
		"full": r.sim.Token("root@pam!full"), "agent": r.sim.Token("gitops@pve!agent"), "ro": r.sim.Token("gitops@pve!ro"),
		"none": r.sim.Token("nobody@pve!none"),
	}
	for id, size := range map[string]int64{
		"local:iso/tiny.iso": 17825792, "local:import/tiny.qcow2": 17825792, "local:vztmpl/busybox_1_amd64.tar.gz": 2 << 20,
	} {
		if err := r.sim.AddVolume(id, size); err != nil {
			r.t.Fatal(err)
		}
	}
	r.sim.volume("local:import/tiny.qcow2").Stored = 17039360
	r.sim.volume("local:vztmpl/busybox_1_amd64.tar.gz").Stored = 1068176
}

func (r *replay) vmid(recorded int) int { return r.rename.vmid(recorded) }

func (r *replay) file(f recordings.File) {
	name, _, _ := strings.Cut(f.Name, "-")
	passed, total := 0, 0
	for i, e := range f.Exchanges {
		r.of.actions[name+"/"+itoa(i)].run(r)
		if r.of.stubbed[name+"/"+itoa(i)] != "" || !r.of.inScope(f.Name, e.URL) {
			r.outside++
			continue
		}
		total++
		r.advance(e)
		r.makeWay(e)
		r.enterRace(name + "/" + itoa(i))
		diff := r.replay(r.rename.entry(e))
		if diff == "" {
			diff = r.leaveRace(name + "/" + itoa(i))
		}
		if diff == "" {
			diff = r.followed(e, r.rename.entry(e))
		}
		time.Sleep(pauseAfter(f.Exchanges, i))
		why, excused := r.of.exceptions[name+"/"+itoa(i)]
		switch {
		case diff == "" && excused:
			r.t.Errorf("%s/%d: got it equal, want it off the list of exceptions", name, i)
		case diff == "":
			passed++
		case !excused:
			r.t.Errorf("%s/%d %s %s: got another answer, want it equal or the reason among the exceptions\n%s", name, i, e.Method, e.URL, diff)
		case testing.Verbose():
			r.t.Logf("MISS %s/%d %s %s: %s\n%s", name, i, e.Method, e.URL, why, diff)
		}
	}
	r.passed += passed
	r.total += total
	r.t.Logf("%s: %d of %d", f.Name, passed, total)
}

// pauseAfter returns the time between a call and the next call: one millisecond where the recorder called in parallel or found a task
// still running, otherwise long enough for a task to end.
func pauseAfter(entries []recordings.Exchange, i int) time.Duration {
	next := i + 1
	if entries[i].Parallel || entries[i].Status != http.StatusOK {
		return time.Millisecond
	}
	if next < len(entries) && strings.Contains(entries[next].Reply, `"status":"running","upid"`) {
		return time.Millisecond
	}
	if next < len(entries) && entries[next].AtOnce {
		return time.Millisecond
	}
	return 30 * time.Millisecond
}

// advance waits until the time that the recorded task id shows.
func (r *replay) advance(e recordings.Exchange) {
	m := upidStart.FindStringSubmatch(e.Reply)
	if m == nil || e.Method == http.MethodGet {
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

// replay sends one recorded request and returns the difference of the reply, or "".
func (r *replay) replay(e recordings.Exchange) string {
	got := r.send(e)
	if strings.HasSuffix(e.URL, "/status") && strings.Contains(e.Reply, `"stopped"`) && strings.Contains(e.URL, "/tasks/") {
		for range 3000 { // the recorder waited for the end
			if !strings.Contains(got.body, `"running"`) {
				break
			}
			time.Sleep(100 * time.Millisecond)
			got = r.send(e)
		}
	}
	r.learn(e.Reply, got.body)
	want := answer{status: e.Status, reason: e.Reason, body: r.normalize(e.Reply)}
	got.body = r.normalize(got.body)
	if r.racing != nil {
		want.body = anyLast(want.body)
		got.body = r.racing.renumber(want.body, anyLast(got.body))
	}
	if got == want {
		return ""
	}
	return fmt.Sprintf("  got  %d %s %s\n  want %d %s %s", got.status, got.reason, missingWords(got.body, want.body), want.status, want.reason, missingWords(want.body, got.body))
}

func (r *replay) send(e recordings.Exchange) answer {
	u := e.URL
	for old, now := range r.backups {
		u = strings.ReplaceAll(u, old, now)
	}
	for old, now := range r.upids {
		u = strings.ReplaceAll(u, old, now)
		u = strings.ReplaceAll(u, url.QueryEscape(old), url.QueryEscape(now))
	}
	var body io.Reader
	if e.Body != nil {
		s := *e.Body
		for old, now := range r.digests {
			s = strings.ReplaceAll(s, old, now)
		}
		for old, now := range r.backups {
			s = strings.ReplaceAll(s, old, now)
		}
		for _, m := range macPattern.FindAllString(strings.ReplaceAll(s, "%3A", ":"), -1) {
			r.sentMACs[m] = true
		}
		body = strings.NewReader(s)
	}
	req, err := http.NewRequestWithContext(r.t.Context(), e.Method, "http://pve"+u, body)
	if err != nil {
		r.t.Fatal(err)
	}
	if e.ContentType != "" {
		req.Header.Set("Content-Type", e.ContentType)
	}
	if tok := e.Token; tok != "" {
		if known := r.tokens[tok]; known != "" {
			tok = known
		}
		req.Header.Set("Authorization", "PVEAPIToken="+tok)
	}
	return (&client{t: r.t, sim: r.sim}).send(req)
}
