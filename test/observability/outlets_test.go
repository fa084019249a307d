//go:build integration

package observability

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gitops-agent/internal/etcdtest"
	"gitops-agent/internal/fulldisk"
	"gitops-agent/internal/promtest"
	"gitops-agent/reconcile/report"
)

var (
	updateOutlets = flag.Bool("update", false, "rewrite the table of docs/internals/proof.md with what the outlets say")
	onlyOutlets   = flag.String("outlets", "", "run only the groups of the table with these names, separated by commas")
)

// outlets are the columns of the table, after the source.
var outlets = []string{"`/readyz`", "`/status.json`", "guests", "events", "alerts", "`plan`", "`recover`", "`run --once`"}

// trouble is one row of the table: what fails beside a running agent.
type trouble struct {
	name  string
	begin func(*stage)
	end   func(*stage) // nil: the world ends with it
	// rest is what else must be true, nil if nothing is.
	rest func(*stage, *sight)
}

// stage is a world whose agents are looked at.
type stage struct {
	*world
	replicas []*replica // nil: the world has one agent
	etcd     *etcdtest.Cluster
	gone     *etcdtest.Member  // that was stopped
	disk     *fulldisk.Disk    // of the state directory; nil: none of its own
	free     func()            // ends that etcd is full
	seen     int               // bytes of the log before the trouble
	once     func() *exec.Cmd  // run --once while the trouble lasts; nil: the agents of the row keep running
	memory   map[string]string // what a row keeps for its end
}

// sight is what all outlets of an agent say at one moment.
type sight struct {
	doc    report.Document
	text   string // of the command status
	page   string
	series map[string]string // of /metrics
	ready  []string          // lines; the first is the status
	health int
	events []string
	alerts []string
}

// TestOutlets lets each source of the agent fail beside running agents, and compares what every outlet says with the table in docs/internals/proof.md. Each outlet must
// also say the same as the others, and no outlet may say that something is not there which was not read.
func TestOutlets(t *testing.T) {
	b := &bench{pager: newPager(t), agent: filepath.Join(t.TempDir(), "gitops-agent")}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", b.agent, "gitops-agent/cmd/gitops-agent").CombinedOutput(); err != nil {
		t.Fatalf("build the agent: %v\n%s", err, out)
	}
	b.prometheus = startPrometheus(t, promtest.ReadRules(t, "../../metrics/rules"), b.pager.address())
	wanted, got := readOutlets(t), map[string][]string{}
	var running sync.WaitGroup
	var mu sync.Mutex
	free := make(chan struct{}, 3)
	for _, group := range troubleGroups {
		if *onlyOutlets != "" && !slices.Contains(strings.Split(*onlyOutlets, ","), group.name) {
			continue
		}
		running.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			t.Run(group.name, func(t *testing.T) {
				s := &stage{world: newWorld(t, b, group.members), memory: map[string]string{}}
				group.prepare(s)
				for _, row := range group.rows {
					cells := s.play(row, wanted[row.name])
					mu.Lock()
					got[row.name] = cells
					mu.Unlock()
				}
			})
		})
	}
	running.Wait()
	if *updateOutlets {
		writeOutlets(t, got)
		return
	}
	if *onlyOutlets == "" && len(got) != len(wanted) {
		t.Errorf("got %d rows, and %d in docs/internals/proof.md", len(got), len(wanted))
	}
}

// play lets one trouble come and go, and returns what the outlets said meanwhile.
func (s *stage) play(row trouble, want []string) []string {
	s.Helper()
	s.seen, s.once = len(s.logText()), nil
	began := time.Now()
	row.begin(s)
	if s.clock != nil {
		began = began.Add(s.clock.Wall)
	}
	var cells []string
	var now *sight
	settled := func() bool {
		now = s.observe()
		cells = s.cells(now)
		return now.doc.Time.After(began) && slices.Equal(cells, first(want, len(cells)))
	}
	if *updateOutlets {
		for end := time.Now().Add(25 * time.Second); time.Now().Before(end); {
			settled()
			time.Sleep(time.Second)
		}
	} else {
		for end := time.Now().Add(patience / 2); !settled() && time.Now().Before(end); {
			time.Sleep(300 * time.Millisecond)
		}
	}
	for i, cell := range cells {
		if !*updateOutlets && (len(want) <= i || want[i] != cell) {
			s.Errorf("%s: got %s %s, want that of docs/internals/proof.md\n%s", row.name, outlets[i], cell, s.logText()[s.seen:])
		}
	}
	s.agree(row.name, now)
	if row.rest != nil {
		row.rest(s, now)
	}
	cells = append(cells, s.planCell(row.name), s.recoverCell(row.name), s.onceCell())
	for i := len(cells) - 3; i < len(cells); i++ {
		if !*updateOutlets && (len(want) <= i || want[i] != cells[i]) {
			s.Errorf("%s: got %s %s, want that of docs/internals/proof.md", row.name, outlets[i], cells[i])
		}
	}
	s.Logf("%3.0fs %s: %s", time.Since(s.begun).Seconds(), row.name, strings.Join(cells, " | "))
	if row.end != nil {
		row.end(s)
		s.until("the cluster to converge after "+row.name, func(d report.Document) bool {
			return d.Converged && d.Source.Accepted != nil && d.Source.Accepted.Commit == s.repo.Tip
		})
		s.calm(row.name)
	}
	return cells
}

func first(list []string, n int) []string { return list[:min(n, len(list))] }

// calm waits until no alert fires for the agent.
func (s *stage) calm(what string) {
	s.Helper()
	await(s, "no alert after "+what, func() bool {
		list := s.firing()
		return len(list) == 0
	})
}

func (s *stage) logText() string {
	text, err := os.ReadFile(s.log)
	if errors.Is(err, os.ErrNotExist) {
		return ""
	}
	s.ok(err)
	return string(text)
}

// firing returns the names of the alerts of the agent that fire in Prometheus, and of those that concern all agents of its cluster.
func (s *stage) firing() []string {
	names := map[string]bool{}
	for _, selector := range []string{fmt.Sprintf("instance=%q", s.address), fmt.Sprintf("cluster=%q", s.settings.cluster)} {
		got, err := s.prometheus.At(`ALERTS{alertstate="firing",`+selector+`}`, time.Now())
		s.ok(err)
		for _, sample := range got {
			names[strings.TrimPrefix(sample.Metric["alertname"], "GitopsAgent")] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func (s *stage) get(path string) (status int, body string) {
	s.Helper()
	resp, err := (&http.Client{Timeout: 20 * time.Second}).Get("http://" + s.address + path)
	s.ok(err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	s.ok(err)
	return resp.StatusCode, string(text)
}

// observe reads every outlet between two reports that say the same.
func (s *stage) observe() *sight {
	s.Helper()
	for {
		now := s.read()
		_, body := s.get("/status.json")
		var after report.Document
		s.ok(json.Unmarshal([]byte(body), &after))
		if says(now.doc) == says(after) {
			return now
		}
	}
}

// says returns what the outlets repeat of a report.
func says(d report.Document) string {
	return fmt.Sprint(d.Writes.Reason, d.Journal.Reason, d.Journal.Error, d.Proxmox.Reason, d.Proxmox.Error, d.Source.Reason, d.Source.Error, d.Source.RootError, guestsCell(d))
}

// read reads every outlet once.
func (s *stage) read() *sight {
	s.Helper()
	now := &sight{series: map[string]string{}}
	_, body := s.get("/status.json")
	s.ok(json.Unmarshal([]byte(body), &now.doc))
	code, text := s.get("/readyz")
	now.ready = append([]string{fmt.Sprint(code)}, strings.Split(strings.TrimSpace(text), "\n")...)
	now.health, _ = s.get("/healthz")
	_, now.page = s.get("/")
	_, text = s.get("/metrics")
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), "} "); found {
			now.series[name+"}"] = value
		} else if name, value, found := strings.Cut(strings.TrimSpace(line), " "); found && !strings.HasPrefix(name, "#") {
			now.series[name] = value
		}
	}
	status := s.program(s.Context(), "status", "--config", s.config())
	if s.memory["socket"] == "none" {
		status = s.program(s.Context(), "status", "--url", "http://"+s.address)
	}
	out, _ := status.CombinedOutput() // its status is that of convergence
	now.text = string(out)
	told := map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader([]byte(s.logText()[s.seen:])))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct{ Event, Level, Reason, Msg string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Event != "" && line.Level != "INFO" {
			name := line.Event
			if line.Reason != "" {
				name += " " + line.Reason
			}
			told[name] = true
		}
	}
	now.events, now.alerts = slices.Sorted(maps.Keys(told)), s.firing()
	return now
}

func (s *stage) config() string {
	for _, r := range s.replicas {
		if r.address == s.address {
			return s.path(r.name + ".yaml")
		}
	}
	return s.path("config.yaml")
}

// cells returns what the outlets of a running agent say, in the order of the columns.
func (s *stage) cells(now *sight) []string {
	heads := []string{}
	for _, line := range now.ready[1:] {
		head, _, _ := strings.Cut(line, ":")
		heads = append(heads, head)
	}
	ready := now.ready[0]
	if notes := slices.DeleteFunc(heads, func(h string) bool { return h == "ok" }); len(notes) > 0 {
		ready += " " + strings.Join(slices.Compact(notes), ", ")
	}
	d := now.doc
	state := []string{"writes " + string(d.Writes.Reason)}
	if !d.Journal.Healthy {
		state = append(state, "journal "+string(d.Journal.Reason))
	}
	if !d.Proxmox.Ready {
		state = append(state, "proxmox "+string(d.Proxmox.Reason))
	}
	if d.Source.Error != "" {
		state = append(state, "source "+string(d.Source.Reason))
	}
	if d.Source.Waiting != nil {
		state = append(state, "waiting "+d.Source.Waiting.Reason)
	}
	return []string{ready, strings.Join(state, ", "), guestsCell(d), list(now.events), list(now.alerts)}
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// guestsCell says how guests and objects are: those that are not in sync by name.
func guestsCell(d report.Document) string {
	if len(d.Guests) == 0 {
		return "not known"
	}
	var odd []string
	for _, g := range d.Guests {
		if g.Sync != report.Synced || g.Health != report.Healthy {
			how := string(g.Sync) + ", " + string(g.Health)
			if string(g.Sync) == string(g.Health) {
				how = string(g.Sync)
			}
			odd = append(odd, g.Name+" "+how)
		}
	}
	if len(odd) == 0 {
		return "all in sync"
	}
	if len(odd) == len(d.Guests) && len(slices.Compact(slices.Collect(func(yield func(string) bool) {
		for _, o := range odd {
			_, rest, _ := strings.Cut(o, " ")
			if !yield(rest) {
				return
			}
		}
	}))) == 1 {
		_, rest, _ := strings.Cut(odd[0], " ")
		return "all " + rest
	}
	return strings.Join(odd, "; ")
}

// agree fails the test if an outlet says something else than the report, or if one says of something unread that it is not there.
func (s *stage) agree(what string, now *sight) {
	s.Helper()
	d := now.doc
	series := func(name, label, value string) string {
		return now.series[fmt.Sprintf("gitops_agent_%s{%s=%q}", name, label, value)]
	}
	for _, c := range []struct{ name, label, value string }{
		{"writes_allowed", "reason", string(d.Writes.Reason)},
		{"journal_state", "reason", string(d.Journal.Reason)},
		{"proxmox_state", "reason", string(d.Proxmox.Reason)},
		{"source_state", "reason", string(d.Source.Reason)},
	} {
		if got := series(c.name, c.label, c.value); got != "1" {
			s.Errorf("%s: got %s of %s in the metrics %q, want 1", what, c.name, c.value, got)
		}
	}
	counts := map[report.Sync]int{}
	for _, g := range d.Guests {
		counts[g.Sync]++
	}
	for _, sync := range report.Syncs() {
		if got := series("guests", "sync", string(sync)); got != fmt.Sprint(counts[sync]) {
			s.Errorf("%s: got %s guests %s in the metrics, want %d", what, got, sync, counts[sync])
		}
	}
	if now.health != http.StatusOK {
		s.Errorf("%s: got /healthz %d, want 200: a restart would help nothing", what, now.health)
	}
	page := html.UnescapeString(now.page)
	for name, text := range map[string]string{
		"journal": d.Journal.Error, "cluster": d.Proxmox.Error, "source": d.Source.Error, "trusted root": d.Source.RootError,
	} {
		short := text[:min(len(text), 40)]
		if text == "" {
			continue
		}
		if !strings.Contains(page, short) {
			s.Errorf("%s: the page does not show the error of the %s: %s", what, name, text)
		}
		if !strings.Contains(now.text, short) {
			s.Errorf("%s: status does not show the error of the %s %q:\n%s", what, name, text, now.text)
		}
	}
	if d.Proxmox.Ready && d.Journal.Healthy && (d.Writes.Allowed || d.Writes.Reason == "standby") != (now.ready[0] == "200") {
		s.Errorf("%s: got /readyz %v and writes %+v, want that they agree", what, now.ready, d.Writes)
	}
	if now.ready[0] == "200" && (!d.Journal.Healthy || !d.Proxmox.Ready) {
		s.Errorf("%s: got ready with journal %+v and proxmox %+v", what, d.Journal, d.Proxmox)
	}
	if s.memory["records"] != "lost" {
		s.nothingLost(what, now)
	}
}

var lostSeries = regexp.MustCompile(`^gitops_agent_(lost_guests\{.*|unmanaged_guests|orphaned_guests)`)

// nothingLost fails the test if an outlet says that a guest is lost, missing or unmanaged, or offers to recover one.
func (s *stage) nothingLost(what string, now *sight) {
	s.Helper()
	if now.doc.Recovery != nil || len(now.doc.Unmanaged) > 0 {
		s.Errorf("%s: got lost guests %+v and unmanaged ones %v, want none", what, now.doc.Recovery, now.doc.Unmanaged)
	}
	for _, g := range now.doc.Guests {
		if g.Health == report.Missing || !g.Managed && g.Sync != report.SyncUnknown {
			s.Errorf("%s: got %s %s, managed %t, want it neither missing nor unmanaged", what, g.Label(), g.Health, g.Managed)
		}
	}
	for name, value := range now.series {
		if lostSeries.MatchString(name) && value != "0" && (name != "gitops_agent_orphaned_guests" || !now.doc.Journal.Unread) {
			s.Errorf("%s: got %s %s, want 0", what, name, value)
		}
	}
	for outlet, text := range map[string]string{"page": now.page, "status": now.text} {
		if strings.Contains(text, "gitops-agent recover") || strings.Contains(text, "Missing</span>") {
			s.Errorf("%s: the outlet %s says that guests are lost or missing", what, outlet)
		}
	}
	if slices.Contains(now.alerts, "OwnershipLost") {
		s.Errorf("%s: got the alert about lost records", what)
	}
}

// exit runs a command of the agent and returns its exit status and output.
func (s *stage) exit(cmd *exec.Cmd) (status int, out string) {
	s.Helper()
	text, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		s.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

// planCell runs plan beside the agent.
func (s *stage) planCell(what string) string {
	s.Helper()
	status, out := s.exit(s.program(s.Context(), "plan", "--exit-code", "--config", s.config()))
	if strings.Contains(out, "would be created") || regexp.MustCompile(`(?m)^\s*(create|destroy)\b`).MatchString(out) {
		s.Errorf("%s: plan creates or destroys:\n%s", what, out)
	}
	switch status {
	case 0:
		return "no change"
	case 1:
		return "error"
	}
	s.Logf("%s: plan: %s", what, out)
	return fmt.Sprintf("status %d", status)
}

// recoverCell runs recover beside the agent.
func (s *stage) recoverCell(what string) string {
	s.Helper()
	status, out := s.exit(s.program(s.Context(), "recover", "--config", s.config()))
	switch {
	case status != 0:
		return "error"
	case strings.Contains(out, "nothing was lost"):
		return "nothing lost"
	}
	if s.memory["records"] != "lost" {
		s.Errorf("%s: recover offers guests:\n%s", what, out)
	}
	return "lists the guests"
}

// onceCell ends the agents of the row and runs one once, if the row asks for it.
func (s *stage) onceCell() string {
	s.Helper()
	if s.once == nil {
		return "–"
	}
	status, out := s.exit(s.once())
	s.Logf("run --once: %s", out[max(0, len(out)-1500):])
	return fmt.Sprint(status)
}

const (
	outletsPage  = "../../docs/internals/proof.md"
	outletsBegin = "<!-- outlets -->\n"
	outletsEnd   = "<!-- end of outlets -->\n"
)

// readOutlets returns the cells of each row of the table.
func readOutlets(t testing.TB) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(outletsPage)
	must(t, err)
	_, table, _ := strings.Cut(string(text), outletsBegin)
	table, _, _ = strings.Cut(table, outletsEnd)
	rows := map[string][]string{}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != len(outlets)+1 {
			continue
		}
		for i := range cells {
			cells[i] = strings.ReplaceAll(strings.TrimSpace(cells[i]), "`", "")
		}
		if cells[0] != "what fails" && !strings.HasPrefix(cells[0], "---") {
			rows[cells[0]] = cells[1:]
		}
	}
	return rows
}

// writeOutlets writes the rows that ran into the table, and keeps the others.
func writeOutlets(t testing.TB, got map[string][]string) {
	t.Helper()
	rows := readOutlets(t)
	maps.Copy(rows, got)
	var table strings.Builder
	table.WriteString("\n| what fails | " + strings.Join(outlets, " | ") + " |\n|" + strings.Repeat("---|", len(outlets)+1) + "\n")
	for _, group := range troubleGroups {
		for _, row := range group.rows {
			if cells := rows[row.name]; len(cells) > 0 {
				table.WriteString("| " + row.name + " | " + strings.Join(cells, " | ") + " |\n")
			}
		}
	}
	text, err := os.ReadFile(outletsPage)
	must(t, err)
	head, rest, found := strings.Cut(string(text), outletsBegin)
	_, tail, ended := strings.Cut(rest, outletsEnd)
	if !found || !ended {
		t.Fatalf("%s has no place for the table", outletsPage)
	}
	must(t, os.WriteFile(outletsPage, []byte(head+outletsBegin+table.String()+"\n"+outletsEnd+tail), 0o600))
}
