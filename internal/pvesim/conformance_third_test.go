package pvesim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/recordings"
)

// The third series shows what changes by itself on three nodes: rounds of the HA manager, migrations, lost nodes. A recorded answer is therefore not compared with one
// answer, but with those that the simulator gave in a window of time after the same cause: a call or an event on a host. The window reaches from half the recorded time
// to twice, and further by a round of whoever writes the answer, since a cause may come at any time of a round. The answers to one request must come in the recorded order.

// A part is recordings of one file that one simulated cluster replays.
type part struct {
	name    string // the file, and the beginning of its sections
	section string
	actions map[int]func(*Sim) // by number of the entry that they precede
	causes  bool               // every call that writes is a cause; otherwise the actions alone
	start   func(*Sim)
}

// thirdEntries is the minimum number of entries in scope, and thirdFloor that of those that must match. Neither decreases.
const (
	thirdEntries = 2540
	thirdFloor   = 2355
)

func TestConformanceThird(t *testing.T) {
	files := map[string]recordings.File{}
	for _, f := range recordings.Third(t) {
		name, _, _ := strings.Cut(f.Name, "-")
		files[name] = f
	}
	var mu sync.Mutex
	passed, total, outside := 0, 0, 0
	for _, p := range thirdParts {
		t.Run(strings.TrimSpace(p.name+" "+p.section), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newTimed(t, p, files[p.name])
				r.play()
				mu.Lock()
				defer mu.Unlock()
				passed, total, outside = passed+r.passed, total+r.total, outside+r.outside
				t.Logf("%s %s: %d of %d entries, %d outside scope", p.name, p.section, r.passed, r.total, r.outside)
			})
		})
	}
	fmt.Fprintf(os.Stderr, "conformance: third series, %d of %d entries (%.1f %%), %d outside scope\n", passed, total, 100*float64(passed)/float64(total), outside)
	if total < thirdEntries || passed < thirdFloor {
		t.Errorf("matching entries: got %d of %d, want at least %d of %d", passed, total, thirdFloor, thirdEntries)
	}
}

// timed replays a part.
type timed struct {
	t    *testing.T
	part part
	sim  *Sim
	norm replay // for its names of generated values
	mu   sync.Mutex
	work sync.WaitGroup // comparisons of segments that are over

	begun                  time.Time
	passed, total, outside int
	tracks                 []*track
}

// A track is what was recorded about one guest or one loss, in order of time.
type track struct {
	of      *timed
	entries []numbered
	guests  map[string]bool // ids of the guests that its calls name
	drift   time.Duration   // how much later than recorded the track is
	cacheMu sync.Mutex
	cache   map[string]string   // canonical answers
	before  map[string][]sample // what each request got in the last segment, with times before the next one
}

type numbered struct {
	recordings.Exchange
	n int // in its file
}

func newTimed(t *testing.T, p part, f recordings.File) *timed {
	r := &timed{t: t, part: p}
	r.sim = New(thirdOptions())
	t.Cleanup(r.sim.Close)
	r.norm = replay{t: t, sim: r.sim, upids: map[string]string{}, digests: map[string]string{}, sentMACs: map[string]bool{}}
	p.start(r.sim)
	byLetter := map[string]*track{}
	for n, e := range f.Exchanges {
		if !strings.HasPrefix(e.Section, p.section) {
			continue
		}
		letter, _, _ := strings.Cut(e.Section, " ")
		tr := byLetter[letter]
		if tr == nil {
			tr = &track{of: r, guests: map[string]bool{}, cache: map[string]string{}}
			byLetter[letter] = tr
			r.tracks = append(r.tracks, tr)
		}
		tr.entries = append(tr.entries, numbered{e, n})
		text := e.URL
		if e.Body != nil {
			text += " " + *e.Body
		}
		for _, id := range guestID.FindAllString(text, -1) {
			tr.guests[id] = true
		}
	}
	for _, tr := range r.tracks {
		slices.SortStableFunc(tr.entries, func(a, b numbered) int { return a.At - b.At })
	}
	return r
}

var guestID = regexp.MustCompile(`\b7[2-5]0\d\b`)

func (r *timed) play() {
	r.begun = time.Now()
	var all sync.WaitGroup
	for _, tr := range r.tracks {
		all.Go(tr.play)
	}
	all.Wait()
	r.work.Wait()
	for _, v := range r.sim.Violations() {
		r.t.Errorf("violation: %s", v)
	}
}

// isCause reports whether the times of what follows count from an entry.
func (r *timed) isCause(e numbered) bool {
	return r.part.actions[e.n] != nil || r.part.causes && e.Method != http.MethodGet && e.Status == http.StatusOK && !strings.Contains(e.Section, ", request")
}

func (tr *track) play() {
	for len(tr.entries) > 0 {
		n := 1
		for n < len(tr.entries) && !tr.of.isCause(tr.entries[n]) {
			n++
		}
		next := -1
		if n < len(tr.entries) {
			next = tr.entries[n].At
		}
		tr.segment(tr.entries[:n], next)
		tr.entries = tr.entries[n:]
	}
}

// A sample is an answer that the simulator gave to every request of a while.
type sample struct {
	at, until, took time.Duration
	got             string // canonical
}

// A stream is a request that the recorder repeated, with what it got and what the simulator gives.
type stream struct {
	readings []numbered
	wants    []string // canonical
	samples  []sample
	last     answer // the newest one
	text     string // canonical
}

// add adds an answer, in order of sending.
func (s *stream) add(at, took time.Duration, got string) {
	i := len(s.samples)
	for i > 0 && s.samples[i-1].at > at {
		i--
	}
	if i > 0 && s.samples[i-1].got == got && (s.samples[i-1].took-took).Abs() < time.Second {
		s.samples[i-1].until = max(at, s.samples[i-1].until)
		return
	}
	s.samples = slices.Insert(s.samples, i, sample{at, at, took, got})
}

const sampleEvery = 250 * time.Millisecond

// segment replays a cause and what follows it until the next cause, which was recorded at the time next, -1 if there is none.
func (tr *track) segment(entries []numbered, next int) {
	r := tr.of
	first := entries[0]
	tr.waitFor(first.At)
	if act := r.part.actions[first.n]; act != nil {
		act(r.sim)
	}
	origin := time.Now()
	since := func(e numbered) time.Duration { return time.Duration(e.At-first.At) * time.Millisecond }
	streams := map[string]*stream{}
	var keys []string
	stop := make(chan struct{})
	var running sync.WaitGroup
	var mu sync.Mutex
	for _, e := range entries {
		if e.Method == http.MethodGet {
			key := e.Via + " " + e.URL
			if streams[key] == nil {
				streams[key] = &stream{samples: slices.Clone(tr.before[key])}
				keys = append(keys, key)
			}
			streams[key].readings = append(streams[key].readings, e)
			streams[key].wants = append(streams[key].wants, tr.canonical(e, answer{e.Status, e.Reason, e.Reply}))
			continue
		}
		running.Go(func() {
			if sleepOr(origin.Add(since(e)), stop) {
				tr.write(e)
			}
		})
	}
	for _, key := range keys {
		s := streams[key]
		running.Go(func() {
			var asked sync.WaitGroup
			defer asked.Wait()
			from := max(0, s.from(first.At)-sampleEvery)
			for sleepOr(origin.Add(from), stop) {
				asked.Go(func() {
					sent := time.Now()
					got, ok := r.send(s.readings[0].Exchange)
					took := time.Since(sent)
					mu.Lock()
					defer mu.Unlock()
					if s.last != got {
						s.last, s.text = got, tr.canonical(s.readings[0], got)
					}
					if ok {
						s.add(sent.Sub(origin), took, s.text)
					}
				})
				step := sampleEvery
				switch past := time.Since(origin); {
				case past > 2*time.Minute:
					step = time.Second
				case past > 15*time.Second:
					step = 500 * time.Millisecond
				}
				from = time.Since(origin) + step
			}
		})
	}
	last := entries[len(entries)-1]
	end := since(last) + 100*time.Millisecond
	if next >= 0 {
		end = time.Duration(next-first.At) * time.Millisecond
	}
	time.Sleep(time.Until(origin.Add(end)))
	for limit := 2*end + 10*time.Second; time.Since(origin) < limit; time.Sleep(sampleEvery) {
		time.Sleep(time.Nanosecond) // until the answers of this moment are there
		mu.Lock()
		done := true
		for _, s := range streams {
			done = done && tr.couldWait(s, first, time.Since(origin))
		}
		mu.Unlock()
		if done {
			break
		}
		tr.drift += sampleEvery
	}
	close(stop)
	tr.before = map[string][]sample{}
	mu.Lock()
	for _, key := range keys {
		if strings.Contains(key, "/cluster/resources") {
			for _, x := range streams[key].samples {
				x.at, x.until = x.at-time.Since(origin), x.until-time.Since(origin)
				tr.before[key] = append(tr.before[key], x)
			}
		}
	}
	mu.Unlock()
	r.work.Go(func() {
		running.Wait()
		for _, key := range keys {
			tr.judge(streams[key], first)
		}
	})
}

// from returns when the first answer is due at the earliest.
func (s *stream) from(origin int) time.Duration {
	return time.Duration(s.readings[0].At-origin) * time.Millisecond / 2
}

func sleepOr(until time.Time, stop <-chan struct{}) bool {
	if d := time.Until(until); d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-stop:
			return false
		}
	}
	return true
}

func (tr *track) waitFor(at int) {
	time.Sleep(time.Until(tr.of.begun.Add(time.Duration(at)*time.Millisecond + tr.drift)))
}

// round is how long the writer of an answer may need before it begins: the HA manager, its local managers and the broadcast of states work every ten seconds.
func round(path string) time.Duration {
	if strings.Contains(path, "/cluster/resources") || strings.Contains(path, "/cluster/ha/status") || strings.Contains(path, "/status/current") {
		return 10 * time.Second
	}
	return 2 * time.Second
}

func window(e, origin numbered) (from, to time.Duration) {
	d := time.Duration(e.At-origin.At) * time.Millisecond
	slack := round(e.URL)
	if strings.Contains(e.URL, "/cluster/resources") {
		return d/2 - slack, 2*d + slack // it may be from before the cause
	}
	return max(0, d/2-slack), 2*d + slack
}

// couldWait reports whether waiting longer cannot help a stream.
func (tr *track) couldWait(s *stream, origin numbered, now time.Duration) bool {
	matched := tr.match(s, origin)
	for i, e := range s.readings {
		_, to := window(e, origin)
		if tr.of.leftOut(e) == "" && matched[i] < 0 && now < to && e.Took < 2000 {
			return false
		}
	}
	return true
}

// match returns for each reading the index of the sample that it equals, or -1.
func (tr *track) match(s *stream, origin numbered) []int {
	out := make([]int, len(s.readings))
	i := 0
	for k, e := range s.readings {
		from, to := window(e, origin)
		out[k] = -1
		for j := i; j < len(s.samples); j++ {
			x := s.samples[j]
			if x.until >= from && x.at <= to && likeTook(e.Took, x.took) && x.got == s.wants[k] {
				out[k], i = j, j
				break
			}
		}
	}
	return out
}

// likeTook reports whether a call took about as long as the recorded one: within a factor of two, and two seconds, which are the load of the recorder's host.
func likeTook(recorded int, took time.Duration) bool {
	want := time.Duration(recorded) * time.Millisecond
	return took >= want/2-2*time.Second && took <= 2*want+2*time.Second
}

func (tr *track) judge(s *stream, origin numbered) {
	for k, j := range tr.match(s, origin) {
		e := s.readings[k]
		if j >= 0 {
			tr.of.count(e, "")
			continue
		}
		from, to := window(e, origin)
		seen := ""
		for _, x := range s.samples {
			if x.until >= from && x.at <= to {
				seen += fmt.Sprintf("\n    at %s to %s (took %s) got %s | lacks %s", x.at.Round(time.Millisecond), x.until.Round(time.Millisecond), x.took.Round(time.Millisecond), missingWords(x.got, s.wants[k]), missingWords(s.wants[k], x.got))
			}
		}
		if len(seen) > 1500 {
			seen = seen[:1500]
		}
		tr.of.count(e, fmt.Sprintf("%s after %s (window %s to %s) took %d: want %d %s%s", e.Section, time.Duration(e.At-origin.At)*time.Millisecond, from, to, e.Took, e.Status, e.Reason, seen))
	}
}

// write sends a call that changes something, and compares its answer and what became of its task.
func (tr *track) write(e numbered) {
	r := tr.of
	sent := time.Now()
	got, _ := r.send(e.Exchange)
	took := time.Since(sent)
	r.mu.Lock()
	r.norm.learn(e.Reply, got.body)
	r.mu.Unlock()
	diff := ""
	want, have := tr.canonical(e, answer{e.Status, e.Reason, e.Reply}), tr.canonical(e, got)
	switch {
	case want != have:
		diff = fmt.Sprintf("\n  got  %d %s %s\n  want %d %s %s", got.status, got.reason, missingWords(have, want), e.Status, e.Reason, missingWords(want, have))
	case !likeTook(e.Took, took):
		diff = fmt.Sprintf("\n  took %s, want %d ms", took, e.Took)
	case e.TaskExit != "":
		diff = tr.task(e)
	}
	r.count(e, diff)
}

// task waits for the end of a task and compares it and the log.
func (tr *track) task(e numbered) string {
	r := tr.of
	r.mu.Lock()
	upid := r.norm.upids[upidPattern.FindString(e.Reply)]
	r.mu.Unlock()
	var t *task
	for range 10000 {
		r.sim.mu.Lock()
		t = r.sim.taskIndex[upid]
		over := t == nil || !t.ended.IsZero()
		r.sim.mu.Unlock()
		if over {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if t == nil {
		return "\n  no task " + upid
	}
	r.sim.mu.Lock()
	defer r.sim.mu.Unlock()
	if t.upid.typ != e.TaskType || maskTexts(t.exit) != maskTexts(e.TaskExit) {
		return fmt.Sprintf("\n  got  task %s: %s\n  want task %s: %s", t.upid.typ, t.exit, e.TaskType, e.TaskExit)
	}
	if e.Log == nil || strings.HasSuffix(e.TaskType, "migrate") && e.TaskType != "hamigrate" {
		return "" // what ssh, QEMU and the copies of the stand said
	}
	g, w := maskLines(t.log), maskLines(e.Log)
	if !slices.Equal(g, w) {
		return fmt.Sprintf("\n  got  log %q\n  want log %q", g, w)
	}
	return ""
}

func (r *timed) leftOut(e numbered) string {
	for _, x := range thirdOutside {
		if x.call.MatchString(e.Method+" "+e.URL) && (x.file == "" || x.file == r.part.name) {
			return x.why
		}
	}
	if e.Status == http.StatusForbidden {
		return "the recorder had lost its privileges on the guest"
	}
	return thirdStubbed[r.part.name+"/"+itoa(e.n)]
}

func (r *timed) count(e numbered, diff string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := r.part.name + "/" + itoa(e.n)
	if why := r.leftOut(e); why != "" {
		r.outside++
		return
	}
	r.total++
	if diff == "" {
		r.passed++
		return
	}
	if testing.Verbose() {
		r.t.Logf("MISS %s %s %s via %s: %s", name, e.Method, e.URL, e.Via, diff)
	}
}

// send sends a recorded request through the node that was asked. It reports whether it could be sent: the task that it names may not have begun.
func (r *timed) send(e recordings.Exchange) (answer, bool) {
	u := e.URL
	r.mu.Lock()
	for old, now := range r.norm.upids {
		u = strings.ReplaceAll(u, url.QueryEscape(old), url.QueryEscape(now))
	}
	r.mu.Unlock()
	var body io.Reader
	if e.Body != nil {
		body = strings.NewReader(*e.Body)
	}
	req, err := http.NewRequestWithContext(r.t.Context(), e.Method, "http://"+e.Via+u, body)
	if err != nil {
		return answer{}, false
	}
	if e.ContentType != "" {
		req.Header.Set("Content-Type", e.ContentType)
	}
	req.Header.Set("Authorization", "PVEAPIToken="+r.sim.Token(map[string]string{"vm": "rec@pve!vm", "full": "root@pam!full"}[e.Token]))
	resp, err := r.sim.Transport().RoundTrip(req)
	if err != nil {
		return answer{status: 0}, true
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}, false
	}
	_, reason, _ := strings.Cut(resp.Status, " ")
	return answer{resp.StatusCode, reason, string(text)}, true
}

// canonical returns an answer as it is compared: rows of the track's guests alone, without what the stand measured or generated.
func (tr *track) canonical(e numbered, a answer) string {
	key := fmt.Sprint(a.status, " ", e.Via, e.URL, " ", a.reason, uptime.ReplaceAllLiteralString(a.body, ""))
	tr.cacheMu.Lock()
	known, ok := tr.cache[key]
	tr.cacheMu.Unlock()
	if !ok {
		known = tr.canonicalText(a)
		tr.cacheMu.Lock()
		tr.cache[key] = known
		tr.cacheMu.Unlock()
	}
	return known
}

// uptime is what changes with every second.
var uptime = regexp.MustCompile(`"(?:uptime|timestamp)":\d+,?|, \w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}`)

func (tr *track) canonicalText(a answer) string {
	body := maskTexts(a.body)
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	var v any
	if a.status == http.StatusOK && d.Decode(&v) == nil {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if enc.Encode(tr.relevant(v)) == nil {
			body = b.String()
		}
	}
	tr.of.mu.Lock()
	defer tr.of.mu.Unlock()
	if a.status == statusUnreachable {
		a.reason = "" // it depends on the network of the stand
	}
	return fmt.Sprintf("%d %s %s", a.status, maskTexts(a.reason), tr.of.norm.normalize(body))
}

var (
	serviceGuest = regexp.MustCompile(`^(?:service:)?(?:vm|ct):(\d+)$`)
	listedGuest  = regexp.MustCompile(`^(?:qemu|lxc)/(\d+)$`)
)

// relevant leaves out the rows of guests of other tracks, and keys of a stand.
func (tr *track) relevant(v any) any {
	switch v := v.(type) {
	case []any:
		out := []any{}
		for _, x := range v {
			row, isRow := x.(map[string]any)
			if isRow {
				id, _ := row["id"].(string)
				for _, p := range []*regexp.Regexp{serviceGuest, listedGuest} {
					if m := p.FindStringSubmatch(id); m != nil && !tr.guests[m[1]] {
						isRow = false
					}
				}
				if !isRow || row["tokenid"] == "full" {
					continue
				}
			}
			out = append(out, tr.relevant(x))
		}
		return out
	case map[string]any:
		for _, k := range []string{"timestamp", "ip", "repoid", "results", "uid", "running-machine", "running-qemu", "proxmox-support", "ssl_fingerprint", "node_request", "pveversion"} {
			delete(v, k)
		}
		if v["type"] == "cluster" {
			delete(v, "name")
		}
		if v["maxswap"] != nil || v["type"] == "lxc" {
			delete(v, "maxdisk") // the overhead of the file system
		}
		if v["qmpstatus"] != nil {
			for _, k := range []string{"balloon", "ballooninfo", "blockstat", "diskread", "diskwrite", "freemem"} {
				delete(v, k) // the stand's QEMU does not tell
			}
		}
		for k, x := range v {
			if m := serviceGuest.FindStringSubmatch(k); m != nil && !tr.guests[m[1]] {
				delete(v, k)
				continue
			}
			v[k] = tr.relevant(x)
		}
		return v
	}
	return v
}

var textMasks = []logMask{
	{regexp.MustCompile(`\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}`), "DATE"},
	{regexp.MustCompile(`\.tmp\.\d+`), ".tmp.N"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d `), ""},
	{regexp.MustCompile(` \(\d+\.\d+\.\d+\.\d+\)`), ""},
	{regexp.MustCompile(`duration \d\d:\d\d:\d\d`), "duration D"},
}

func maskTexts(s string) string {
	for _, m := range textMasks {
		s = m.find.ReplaceAllString(s, m.with)
	}
	return s
}

func maskLines(lines []string) []string {
	var out []string
	for _, l := range lines {
		if l = maskTexts(l); !standLine.MatchString(l) {
			out = append(out, l)
		}
	}
	return out
}
