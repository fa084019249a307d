package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/statusview"
	"gitops-agent/gitsource/fault"
	"gitops-agent/internal/agent"
	"gitops-agent/internal/fulldisk"
	"gitops-agent/internal/gittest"
	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/pause"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
	"gitops-agent/reconcile/selection"
)

// outlets is an agent whose cluster and forge can be broken, and everything that shows its state to people and programs.
type outlets struct {
	testing.TB
	sim     *pvesim.Sim
	sig     *sigtest.Sigstore
	repo    *gittest.Repo
	dir     string
	config  agent.Config
	proxmox *breakable
	forge   *breakable
	agent   *agent.Agent
	log     eventLines
	first   string // the accepted commit
}

// breakable is a server over TLS that replies wrongly, or not at all.
type breakable struct {
	server *httptest.Server
	cause  atomic.Pointer[http.HandlerFunc]
}

func newBreakable(t testing.TB, next http.Handler) *breakable {
	b := &breakable{}
	b.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if cause := b.cause.Load(); cause != nil {
			(*cause)(w, r)
			return
		}
		next.ServeHTTP(w, r)
	}))
	b.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	b.server.Config.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
	b.server.StartTLS()
	t.Cleanup(b.server.Close)
	return b
}

func (b *breakable) reply(cause http.HandlerFunc) { b.cause.Store(&cause) }

func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, body, code) }
}

// eventLines is a slog.Handler that keeps the events of log lines, with the reason of each: "cluster.lost unreachable".
type eventLines struct {
	mu    sync.Mutex
	lines []string
}

func (h *eventLines) Enabled(context.Context, slog.Level) bool { return true }
func (h *eventLines) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h *eventLines) WithGroup(string) slog.Handler            { return h }

func (h *eventLines) Handle(_ context.Context, r slog.Record) error {
	attrs := map[string]string{}
	r.Attrs(func(a slog.Attr) bool { attrs[a.Key] = a.Value.String(); return true })
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, strings.TrimSpace(attrs["event"]+" "+attrs["reason"]))
	return nil
}

func (h *eventLines) has(line string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Contains(h.lines, line)
}

func newOutlets(t testing.TB) *outlets {
	t.Helper()
	o := &outlets{TB: t, sim: pvesim.New(pvesim.Options{Nodes: []string{"pve1", "pve2", "pve3"}, TaskTime: 10 * time.Millisecond}), repo: gittest.New(t), dir: t.TempDir()}
	t.Cleanup(o.sim.Close)
	var err error
	o.sig, err = sigtest.New(sigtest.Options{CAKey: sigtest.P256})
	o.ok(err)
	o.ok(o.sig.Save(o.dir))
	o.proxmox = newBreakable(t, o.sim)
	programs, err := exec.CommandContext(t.Context(), "git", "--exec-path").Output()
	o.ok(err)
	o.forge = newBreakable(t, &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(programs)), "git-http-backend"), Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(o.repo.Dir), "GIT_HTTP_EXPORT_ALL=1"},
	})
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: o.proxmox.server.Certificate().Raw}) // httptest has one certificate for all servers
	o.ok(os.WriteFile(o.path("ca.pem"), ca, 0o600))
	o.ok(os.WriteFile(o.path("token"), []byte(o.sim.Token("gitops@pve!agent")), 0o600))
	listen, alice := "127.0.0.1:0", people()["alice"]
	o.config = agent.Config{
		Cluster: agent.ClusterConfig{Name: "home"},
		Source: agent.SourceConfig{
			Branch: "main", Poll: agent.Duration(100 * time.Millisecond),
			Remotes: []agent.RemoteConfig{{URL: o.forge.server.URL + "/" + filepath.Base(o.repo.Dir), CAFile: o.path("ca.pem")}},
		},
		Trust: agent.TrustConfig{
			TrustedRootFile: o.path(sigtest.TrustedRootFile), Binding: "none", TrustOnFirstUse: true,
			Signers: []agent.SignerConfig{{Name: "alice", Issuer: alice.Issuer, Subject: alice.Subject, May: []string{"change"}}},
		},
		Proxmox: agent.ProxmoxConfig{
			Endpoints: []string{o.proxmox.server.URL}, TokenFile: o.path("token"), CAFile: o.path("ca.pem"),
			Tick: agent.Duration(200 * time.Millisecond), Resync: agent.Duration(400 * time.Millisecond),
		},
		StateDir: o.path("state"), Listen: &listen,
	}
	o.repo.Files = map[string]string{
		"cluster.yaml": "apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: home}\n",
		"web.yaml": "apiVersion: proxmox.gitops/v1alpha1\nkind: VirtualMachine\nmetadata: {name: web-1}\nspec:\n  vmid: 201\n  node: pve1\n" +
			"  source: {blank: {}}\n  disks: {scsi0: {storage: local, size: 1Gi}}\n  memory: {size: 1Gi}\n",
	}
	return o
}

func (o *outlets) path(name string) string { return filepath.Join(o.dir, name) }

func (o *outlets) ok(err error) {
	o.Helper()
	if err != nil {
		o.Fatal(err)
	}
}

// start runs an agent until the returned function is called.
func (o *outlets) start() (stop func()) {
	o.Helper()
	a, err := agent.New(o.Context(), agent.Options{Config: o.config, Logger: slog.New(&o.log), ClaimWait: claimWait})
	o.ok(err)
	o.agent = a
	ctx, cancel := context.WithCancel(context.WithoutCancel(o.Context()))
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		<-ended
		_ = a.Close()
	})
	o.Cleanup(stop)
	return stop
}

// until waits until the report satisfies the condition.
func (o *outlets) until(what string, holds func(report.Report) bool) {
	o.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !holds(o.agent.Report()); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			text, _ := json.MarshalIndent(o.agent.Report(), "", " ")
			o.Fatalf("%s did not happen in time, got %s", what, text)
		}
	}
}

func (o *outlets) get(path string) (int, string) {
	o.Helper()
	reply, err := http.Get("http://" + o.agent.Address() + path)
	o.ok(err)
	defer func() { _ = reply.Body.Close() }()
	body, err := io.ReadAll(reply.Body)
	o.ok(err)
	return reply.StatusCode, string(body)
}

// edit changes the guest by hand, so that the agent has something to write.
func (o *outlets) edit() { o.ok(o.sim.Edit(201, "memory", "4096")) }

// stateOf is what the outlets have to show for a cause. The zero value of a field is the state of an agent that works.
type stateOf struct {
	writes  reason.Stop
	proxmox cluster.Outage
	source  fault.Fault
	journal journal.Fault
	refused string
	waits   bool // a guest is not in sync meanwhile

	ready  []string // the begin of each line of /readyz, in order; nil is "ok"
	page   string   // in the page
	text   string   // in gitops-agent status
	event  string   // with its reason
	metric string   // a sample of /metrics, besides those of the fields above
}

// TestEachCauseHasItsReason breaks one thing after the other. Report, page, text, readiness, metrics and log name it with its own reason, and blame nothing
// else.
func TestEachCauseHasItsReason(t *testing.T) {
	t.Parallel()
	lost := func(why cluster.Outage) stateOf {
		return stateOf{
			writes: reason.StopNotReady, proxmox: why, waits: true, ready: []string{"cluster: " + string(why) + ": "},
			page: "The cluster cannot be written to: " + string(why), text: "proxmox +" + string(why) + ": ", event: "cluster.lost " + string(why),
		}
	}
	fetch := func(reason fault.Fault) stateOf {
		return stateOf{
			source: reason, ready: []string{"ok", "source: " + string(reason) + ": "}, page: "The remote could not be read: " + string(reason),
			text: "source +" + string(reason) + ": ", event: "source.lost " + string(reason),
		}
	}
	refused := func(reason string) stateOf {
		return stateOf{
			refused: reason, ready: []string{"ok", "refused: " + reason + ": "}, page: "is refused: " + reason, text: ": " + reason + ": ",
			event: "revision.refused " + reason, metric: `gitops_agent_revisions_refused_total{reason="` + reason + `"} 1`,
		}
	}
	for name, test := range map[string]struct {
		atStart bool // the cause is there before the agent starts
		cause   func(o *outlets)
		want    stateOf
	}{
		"proxmox_unreachable_at_start": {true, func(o *outlets) { o.proxmox.server.Close() }, lost(cluster.OutageUnreachable)},
		"proxmox_unreachable":          {false, func(o *outlets) { o.proxmox.server.Close() }, lost(cluster.OutageUnreachable)},
		"proxmox_401":                  {false, func(o *outlets) { o.proxmox.reply(status(401, "No ticket")) }, lost(cluster.OutageUnauthorized)},
		"proxmox_403":                  {false, func(o *outlets) { o.proxmox.reply(status(403, `{"message":"Permission check failed"}`)) }, lost(cluster.OutageDenied)},
		"proxmox_html":                 {false, func(o *outlets) { o.proxmox.reply(status(200, "<html>maintenance</html>")) }, lost(cluster.OutageInvalid)},
		"proxmox_tls": {true, func(o *outlets) {
			certificate, err := pvesim.NewCertificate()
			o.ok(err)
			o.ok(os.WriteFile(o.path("other.pem"), certificate.PEM, 0o600))
			o.config.Proxmox.CAFile = o.path("other.pem")
		}, lost(cluster.OutageTLS)},
		"quorum":            {false, func(o *outlets) { o.sim.LoseQuorum() }, lost(cluster.OutageNoQuorum)},
		"forge_unreachable": {false, func(o *outlets) { o.forge.server.Close() }, fetch(fault.Unreachable)},
		"forge_401":         {false, func(o *outlets) { o.forge.reply(status(401, "no")) }, fetch(fault.Unauthorized)},
		"head_refused": {false, func(o *outlets) {
			spec := sigtest.CommitSpec{Tree: o.repo.Tree(), Parents: []string{o.first}, Message: "not signed"}
			raw := spec.Payload(time.Now())
			o.repo.Place(raw, sigtest.ObjectID("commit", raw))
		}, refused("unsigned")},
		"rollback": {false, func(o *outlets) {
			second := o.repo.Push(o.sig, people()["alice"], "the same again")
			o.until("the second revision", func(r report.Report) bool { return r.Converged && r.Source.Accepted.Commit == second })
			o.repo.SetMain(o.first)
		}, refused("not-descendant")},
		"trusted_root": {false, func(o *outlets) {
			for _, part := range []sigtest.Part{sigtest.CA, sigtest.CTLog, sigtest.RekorV1, sigtest.RekorV2, sigtest.TSA} {
				o.sig.Retire(part, time.Now().Add(-time.Millisecond))
			}
			o.ok(o.sig.Save(o.dir))
		}, stateOf{ready: []string{"ok", "trusted-root: the trusted root expired at "}, page: "The trusted root has expired", text: "trusted root +expired at ", event: "root.expired"}},
		"clock": {false, func(o *outlets) {
			o.proxmox.reply(func(w http.ResponseWriter, r *http.Request) {
				recorded := httptest.NewRecorder()
				o.sim.ServeHTTP(recorded, r)
				w.Header().Set("Content-Type", recorded.Header().Get("Content-Type"))
				w.Header().Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
				w.WriteHeader(recorded.Code)
				_, _ = w.Write(recorded.Body.Bytes())
			})
		}, stateOf{ready: []string{"ok", "clock: the clock of 127.0.0.1:"}, page: "The clock of this host and that of a node differ", text: "clock +the clock of 127.0.0.1:", event: "clock.differs", metric: "gitops_agent_proxmox_endpoint_clock_ahead_seconds{endpoint="}},
		"disk_full": {false, func(o *outlets) { o.ok(fulldisk.Fill(o.path("state"))); o.edit() }, stateOf{
			writes: reason.StopJournal, waits: true, journal: journal.FaultDiskFull, ready: []string{"journal: disk-full: "}, text: "journal +disk-full: ",
			page: "The journal cannot be written, so the agent does not write to the cluster: disk-full", event: "journal.failed disk-full",
		}},
		"read_only": {true, func(o *outlets) {
			if err := syscall.Mount(o.path("state"), o.path("state"), "", syscall.MS_BIND, ""); err != nil {
				o.Skipf("only root can mount: %v", err)
			}
			o.Cleanup(func() { _ = syscall.Unmount(o.path("state"), syscall.MNT_DETACH) })
			o.ok(syscall.Mount("", o.path("state"), "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
		}, stateOf{
			writes: reason.StopJournal, waits: true, journal: journal.FaultReadOnly, ready: []string{"journal: read-only: "}, text: "journal +read-only: ",
			page: "The journal cannot be written, so the agent does not write to the cluster: read-only", event: "journal.failed read-only",
		}},
		"superseded": {false, func(o *outlets) {
			mine := o.config
			o.config.StateDir = o.path("other")
			other, err := agent.New(o.Context(), agent.Options{Config: o.config, Logger: slog.New(slog.DiscardHandler), TakeOver: true, ClaimWait: claimWait})
			o.ok(err)
			o.config = mine
			_, err = other.Once(o.Context())
			o.ok(err)
			o.ok(other.Close())
			o.edit()
		}, stateOf{
			writes: reason.StopSuperseded, waits: true, ready: []string{"writes: another agent has claimed this cluster"}, page: "Another agent has claimed this cluster",
			text: "no writes +another agent has claimed this cluster", event: "agent.superseded",
		}},
		"hidden_guest": {false, func(o *outlets) {
			o.sim.SetPrivileges("gitops@pve!agent", []pvesim.ACL{{Path: "/", Role: "Administrator"}, {Path: "/vms/201", Role: "NoAccess"}})
		}, stateOf{
			waits: true, ready: []string{"ok", "hidden: 1 guests"}, page: "vmid 201 belongs to a guest that the token may not see", text: "vmid 201 belongs to a guest that the token may not see",
			event: "guest.hidden", metric: `gitops_agent_conditions{reason="denied"} 1`,
		}},
		"weaker_guard": {false, func(o *outlets) {
			o.repo.Files["web.yaml"] += "  lifecycle: {destroy: allow}\n"
			o.repo.Push(o.sig, people()["alice"], "weaker")
		}, stateOf{
			waits: true, ready: []string{"ok", "held: 1 weaker guards"}, page: "weakens a guard", text: "(guard)", event: "guard.held",
			metric: `gitops_agent_steps_held{reason="guard"} 1`,
		}},
		"paused": {false, func(o *outlets) {
			o.ok(o.config.PauseFile().Write(pause.Note{Reason: "a move", Since: time.Now()}))
		}, stateOf{
			writes: reason.StopPaused, ready: []string{"ok", "paused: by user "}, page: "The agent is paused", text: "paused +by user ", event: "agent.paused a move",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOutlets(t)
			o.first = o.repo.Push(o.sig, people()["alice"], "one guest")
			stop := o.start()
			o.until("convergence", func(r report.Report) bool { return r.Converged })
			o.check(stateOf{})
			if test.atStart {
				stop()
				test.cause(o)
				o.start()
			} else {
				test.cause(o)
			}
			o.check(test.want)
		})
	}
}

// check waits until the report is in a state, and compares all outlets with it.
func (o *outlets) check(want stateOf) {
	o.Helper()
	or := func(text, usual string) string {
		if text == "" {
			return usual
		}
		return text
	}
	triple := func(r report.Report) [5]string {
		refused := ""
		if r.Source.Refused != nil {
			refused = r.Source.Refused.Reason
		}
		return [5]string{string(r.Writes.Reason), string(r.Proxmox.Reason), string(r.Source.Reason), string(r.Journal.Reason), refused}
	}
	expected := [5]string{
		or(string(want.writes), string(reason.WritesAllowed)), or(string(want.proxmox), string(cluster.OutageNone)), or(string(want.source), string(fault.None)),
		or(string(want.journal), string(journal.FaultNone)), want.refused,
	}
	o.until(fmt.Sprintf("the state %q", expected), func(r report.Report) bool {
		return triple(r) == expected && (want.event == "" || o.log.has(want.event))
	})
	seen := o.agent.Report().Cycle // the event precedes the report of its cycle
	// A read of the guest that began before the cause can end after it, and be in the next report.
	wanted := strings.ReplaceAll(want.text, " +", " ")
	o.until("the next report, with "+wanted, func(r report.Report) bool { return r.Cycle > seen && strings.Contains(statusText(r), wanted) })
	if got := o.agent.Report().Source.Accepted; got == nil || got.Converged.IsZero() && !want.waits {
		o.Errorf("got revision in force %+v, want it to be converged", got)
	}

	ready := want.ready
	if ready == nil {
		ready = []string{"ok"}
	}
	code, body := o.get("/readyz")
	lines := strings.Split(strings.TrimSpace(body), "\n")
	if len(lines) != len(ready) || (code == http.StatusOK) != (ready[0] == "ok") {
		o.Errorf("/readyz: got %d %q, want %q", code, lines, ready)
	} else {
		for i, line := range lines {
			if !strings.HasPrefix(line, ready[i]) {
				o.Errorf("/readyz: got line %q, want %q", line, ready[i])
			}
		}
	}

	if _, page := o.get("/"); !strings.Contains(page, want.page) {
		o.Errorf("got a page without %q, want it named", want.page)
	}
	_, body = o.get("/status.json")
	var document report.Document
	o.ok(json.Unmarshal([]byte(body), &document))
	if got := triple(document.Report); got != expected {
		o.Errorf("/status.json: got %q, want %q", got, expected)
	}
	if shown := statusText(document.Report); !strings.Contains(shown, wanted) {
		o.Errorf("gitops-agent status: got no %q, want it in\n%s", wanted, shown)
	}

	_, body = o.get("/metrics")
	for _, sample := range []string{
		`gitops_agent_writes_allowed{reason="` + expected[0] + `"} 1`, `gitops_agent_proxmox_state{reason="` + expected[1] + `"} 1`,
		`gitops_agent_source_state{reason="` + expected[2] + `"} 1`, `gitops_agent_journal_state{reason="` + expected[3] + `"} 1`, want.metric,
	} {
		if !strings.Contains(body, sample) {
			o.Errorf("/metrics: got no %s, want it", sample)
		}
	}
}

// statusText is what gitops-agent status prints of a report, with single spaces.
func statusText(r report.Report) string {
	var text bytes.Buffer
	statusview.WriteReport(&text, r, selection.Selection{})
	return strings.Join(strings.Fields(text.String()), " ")
}
