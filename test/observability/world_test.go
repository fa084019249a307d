//go:build integration

package observability

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gitops-agent/internal/gittest"
	"gitops-agent/internal/gooverlay"
	"gitops-agent/internal/promtest"
	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile/report"
)

var (
	alice   = sigtest.Identity{Subject: "alice@lab.test", Issuer: "https://issuer.test"}   // may change guests
	olga    = sigtest.Identity{Subject: "olga@lab.test", Issuer: "https://issuer.test"}    // may approve
	mallory = sigtest.Identity{Subject: "mallory@lab.test", Issuer: "https://issuer.test"} // may nothing
)

// bench is what all worlds share.
type bench struct {
	prometheus *prometheus
	pager      *pager
	agent      string // program
}

// world is a simulated cluster, a forge and an agent, which is one target of Prometheus.
type world struct {
	testing.TB
	*bench
	dir       string
	sig       *sigtest.Sigstore
	repo      *gittest.Repo
	forge     *httptest.Server
	forgeDown atomic.Bool
	forgeHang atomic.Bool // takes requests, and answers none while it is set
	sim       *pvesim.Sim
	cert      *pvesim.Certificate
	endpoints []*endpoint
	address   string // of the agent
	log       string // file
	settings  settings
	process   *process
	clock     *gooverlay.Clock // of the agent's host; nil: that of this machine
	begun     time.Time
	ended     time.Time // zero while the world runs
}

// settings are what a world changes in the config of its agent.
type settings struct {
	cluster      string // its name, "home" by default
	state        string // directory
	tokenExpires time.Time
	trust        string // further lines of the section trust
	journal      string // the section journal
	timeout      string // of requests to the forge and to the cluster, the defaults if it is ""
}

// endpoint is a member of the cluster that may stop to answer.
type endpoint struct {
	address string
	stop    func() // nil while it does not answer
}

// newWorld returns a world with some members of the cluster. Its agent does not run yet.
func newWorld(t testing.TB, b *bench, members int) *world {
	t.Helper()
	w := &world{TB: t, bench: b, dir: t.TempDir(), repo: gittest.New(t), address: freeAddress(t), begun: time.Now()}
	w.log, w.settings.state, w.settings.cluster = w.path("log"), w.path("state"), "home"
	t.Cleanup(func() {
		if t.Failed() {
			log, _ := os.ReadFile(w.log)
			t.Logf("the end of the agent's log:\n%s", log[max(0, len(log)-16<<10):])
		}
	})
	sig, err := sigtest.New(sigtest.Options{Name: "observability"})
	w.ok(err)
	w.sig = sig
	w.writeRoot()
	w.ok(os.Mkdir(w.path("secrets"), 0o700))
	w.ok(os.WriteFile(w.path("webhook"), []byte("a-token-of-the-forge\n"), 0o600))
	w.writeAttestKey()
	w.sim = pvesim.New(pvesim.Options{Nodes: []string{"pve1", "pve2"}, TaskTime: 40 * time.Millisecond})
	t.Cleanup(w.sim.Close)
	w.cert, err = pvesim.NewCertificate()
	w.ok(err)
	w.ok(os.WriteFile(w.path("token"), []byte(w.sim.Token("gitops@pve!agent")+"\n"), 0o600))
	for range members {
		e := &endpoint{address: freeAddress(t)}
		w.endpoints = append(w.endpoints, e)
		w.answer(e)
	}
	t.Cleanup(func() {
		for _, e := range w.endpoints {
			w.silence(e)
		}
	})
	w.startForge()
	w.repo.Files["cluster.yaml"] = manifest("Cluster", "home", "vmids: {from: 201, to: 999}", "guards: {maxDestroysPerDay: 1}")
	return w
}

func (w *world) ok(err error) {
	w.Helper()
	must(w, err)
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

// writeRoot writes the trusted root of the Sigstore, which the agent reads again.
func (w *world) writeRoot() {
	w.Helper()
	root, err := w.sig.TrustedRoot()
	w.ok(err)
	w.ok(os.WriteFile(w.path("root.new"), root, 0o600))
	w.ok(os.Rename(w.path("root.new"), w.path("root.json")))
}

// answer lets a member of the cluster answer.
func (w *world) answer(e *endpoint) {
	w.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", e.address)
	w.ok(err)
	ended := make(chan struct{})
	go func() {
		_ = w.sim.Serve(ctx, l, w.cert.Config) // its error is that it was stopped
		close(ended)
	}()
	e.stop = func() { cancel(); <-ended }
}

// silence ends what answer began.
func (w *world) silence(e *endpoint) {
	if e.stop != nil {
		e.stop()
		e.stop = nil
	}
}

// startForge serves the repository with TLS, like a forge, unless forgeDown is set.
func (w *world) startForge() {
	w.Helper()
	folder, err := exec.Command("git", "--exec-path").Output()
	w.ok(err)
	git := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(folder)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + filepath.Dir(w.repo.Dir), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull},
	}
	w.forge = httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		for w.forgeHang.Load() && r.Context().Err() == nil {
			time.Sleep(50 * time.Millisecond)
		}
		if w.forgeDown.Load() {
			http.Error(rw, "maintenance", http.StatusServiceUnavailable)
			return
		}
		if strings.HasPrefix(r.URL.Path, "/api/v1/repos/lab/forge/statuses/") {
			rw.WriteHeader(http.StatusCreated)
			return
		}
		git.ServeHTTP(rw, r)
	}))
	w.Cleanup(w.forge.Close)
	w.ok(os.WriteFile(w.path("forge.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.forge.Certificate().Raw}), 0o600))
}

// writeConfig writes the config of an agent with a state directory and an address.
func (w *world) writeConfig(name, state, address string) string {
	w.Helper()
	var endpoints []string
	for _, e := range w.endpoints {
		endpoints = append(endpoints, fmt.Sprintf("%q", "https://"+e.address))
	}
	expires, timeout := "", ""
	if !w.settings.tokenExpires.IsZero() {
		expires = "token_expires: " + w.settings.tokenExpires.Format(time.RFC3339)
	}
	if w.settings.timeout != "" {
		timeout = "timeout: " + w.settings.timeout
		expires += "\n  " + timeout
	}
	w.ok(os.WriteFile(w.path(name), fmt.Appendf(nil, `
cluster: {name: %s}
source:
  remotes: [{url: "%s/%s", ca_file: %s}]
  poll: 500ms
  %s
  webhook_token_file: %s
trust:
  trusted_root_file: %s
  signers:
    - {name: alice, issuer: %q, subject: %q, may: [change]}
    - {name: olga, issuer: %q, subject: %q, may: [approve, operate]}
  binding: none
  trust_on_first_use: true
  %s
proxmox:
  endpoints: [%s]
  token_file: %s
  fingerprints: [%q]
  tick: 500ms
  resync: 1s
  %s
state_dir: %s
secrets_dir: %s
limits: {task_time: {copies: 3s, allocates: 3s, others: 3s}}
notifications:
  receivers: [{name: program, type: webhook, url: "http://%s/events"}]
  routes: [{receiver: program}]
traces: {endpoint: "http://%s/spans"}
commit_status: {forge: gitea, api: "%s/api/v1", repository: lab/forge, ca_file: %s, token_file: %s}
attest: {key_file: %s}
listen: %s
%s
`, w.settings.cluster, w.forge.URL, filepath.Base(w.repo.Dir), w.path("forge.pem"), timeout, w.path("webhook"), w.path("root.json"), alice.Issuer, alice.Subject, olga.Issuer, olga.Subject, w.settings.trust,
		strings.Join(endpoints, ", "), w.path("token"), w.cert.Fingerprint, expires, state, w.path("secrets"), w.pager.address(), w.pager.address(), w.forge.URL, w.path("forge.pem"), w.path("webhook"), w.path("attest.key"), address, w.settings.journal), 0o600))
	return w.path(name)
}

// writeAttestKey writes the key with which the agent states convergence.
func (w *world) writeAttestKey() {
	w.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	w.ok(err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	w.ok(err)
	w.ok(os.WriteFile(w.path("attest.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
}

// start starts the agent and waits until it serves.
func (w *world) start() {
	w.Helper()
	config := w.writeConfig("config.yaml", w.settings.state, w.address)
	w.process = startProcess(w, w.log, w.program(context.Background(), "run", "--config", config))
	await(w, "the agent to serve", func() bool {
		w.alive()
		_, ok := w.document()
		return ok
	})
}

// begin starts the agent on an empty repository, lets Prometheus scrape it, and pushes the manifests of the world. So every counter is scraped at zero first.
func (w *world) begin() {
	w.Helper()
	w.start()
	w.prometheus.target(w.address)
	w.Cleanup(func() { w.prometheus.forget(w.address) })
	w.scraped()
	w.push("first")
	w.converged()
}

// scraped waits until Prometheus has scraped the agent that runs now.
func (w *world) scraped() {
	w.Helper()
	since := time.Now()
	await(w, "a scrape", func() bool {
		w.alive()
		got, err := w.prometheus.At(fmt.Sprintf(`timestamp(up{instance=%[1]q}) > %[2]s and up{instance=%[1]q} == 1`, w.address, promtest.Seconds(since)), time.Now())
		return err == nil && len(got) == 1
	})
}

// alive fails the test if the agent ended by itself.
func (w *world) alive() {
	w.Helper()
	select {
	case <-w.process.ended:
		w.Fatalf("the agent ended by itself: %s", w.process.ProcessState)
	default:
	}
}

// command runs a command of the agent, as a person on its host does.
func (w *world) command(args ...string) {
	w.Helper()
	cmd := w.program(w.Context(), append(args, "--config", w.path("config.yaml"))...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("gitops-agent %v: %v\n%s", args, err, out)
	}
}

// document returns the status of the agent, if it answers.
func (w *world) document() (report.Document, bool) {
	client := http.Client{Timeout: 5 * time.Second}
	resp, err := client.Get("http://" + w.address + "/status.json")
	if err != nil {
		return report.Document{}, false
	}
	defer func() { _ = resp.Body.Close() }()
	var doc report.Document
	return doc, json.NewDecoder(resp.Body).Decode(&doc) == nil
}

// until waits for a state of the agent.
func (w *world) until(what string, condition func(report.Document) bool) {
	w.Helper()
	var newest report.Document
	defer func() {
		if w.Failed() {
			text, _ := json.Marshal(newest)
			w.Logf("the status while waiting for %s: %s", what, text)
		}
	}()
	await(w, what, func() bool {
		w.alive()
		doc, ok := w.document()
		newest = doc
		return ok && condition(doc)
	})
}

// accepted waits until the newest commit is in force.
func (w *world) accepted() {
	w.Helper()
	w.until("the newest commit to be accepted", func(d report.Document) bool {
		if d.Source.Refused != nil && d.Source.Refused.Commit == w.repo.Tip {
			w.Fatalf("got the newest commit refused: %s", d.Source.Refused.Error)
		}
		return d.Source.Accepted != nil && d.Source.Accepted.Commit == w.repo.Tip
	})
}

// converged waits until every guest is as the newest commit says.
func (w *world) converged() {
	w.Helper()
	w.accepted()
	w.until("the cluster to converge", func(d report.Document) bool {
		return d.Converged && d.Source.Accepted != nil && d.Source.Accepted.Commit == w.repo.Tip
	})
}

// guest returns a guest of a report.
func guestOf(d report.Document, name string) report.Guest {
	i := slices.IndexFunc(d.Guests, func(g report.Guest) bool { return g.Name == name })
	if i < 0 {
		return report.Guest{}
	}
	return d.Guests[i]
}

// push commits the manifests as alice.
func (w *world) push(message string) {
	w.Helper()
	w.commit(message, alice, sigtest.SignOptions{})
}

// commit commits the manifests as somebody.
func (w *world) commit(message string, who sigtest.Identity, opts sigtest.SignOptions) string {
	w.Helper()
	spec := sigtest.CommitSpec{Tree: w.repo.Tree(), Message: message}
	if w.repo.Tip != "" {
		spec.Parents = []string{w.repo.Tip}
	}
	raw, id, err := w.sig.Commit(spec, who, opts)
	w.ok(err)
	return w.repo.Place(raw, id)
}

// webhook tells the agent about a push, as the forge does.
func (w *world) webhook() {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), http.MethodPost, "http://"+w.address+"/webhook", nil)
	w.ok(err)
	req.Header.Set("Authorization", "Bearer a-token-of-the-forge")
	resp, err := http.DefaultClient.Do(req)
	w.ok(err)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted {
		w.Fatalf("webhook: got %s, want 202", resp.Status)
	}
}

// approve pushes the approval of a held step of each guest, as olga.
func (w *world) approve(names ...string) {
	w.Helper()
	message := []string{"Approve steps", ""}
	for _, name := range names {
		w.until("a held step of "+name, func(d report.Document) bool {
			held := guestOf(d, name).Held
			i := slices.IndexFunc(held, func(h report.HeldStep) bool { return h.Digest != "" })
			if i >= 0 {
				message = append(message, "Gitops-Approve: "+held[i].Digest)
			}
			return i >= 0
		})
	}
	w.commit(strings.Join(message, "\n")+"\n", olga, sigtest.SignOptions{})
}

// fires waits until alerts have reached the pager, and checks their messages.
func (w *world) fires(names ...string) {
	w.Helper()
	for _, name := range names {
		var got alert
		await(w, name+" to fire", func() bool {
			found := w.pager.find(name, w.address)
			i := slices.IndexFunc(found, func(a alert) bool { return a.fired > 0 })
			if i >= 0 {
				got = found[i]
			}
			return i >= 0
		})
		w.Logf("%3.0fs %s fires: %s", time.Since(w.begun).Seconds(), name, got.Annotations["description"])
		w.checkMessage(got)
		w.pager.note(w.pager.fired, name)
	}
}

// quiet fails the test if an alert has fired before its cause.
func (w *world) quiet(names ...string) {
	w.Helper()
	for _, name := range names {
		if found := w.pager.find(name, w.address); len(found) != 0 {
			w.Errorf("got %s %v before its cause", name, found[0].Annotations["description"])
		}
	}
}

// resolve waits until the pager knows that alerts have resolved.
func (w *world) resolve(names ...string) {
	w.Helper()
	for _, name := range names {
		await(w, name+" to resolve", func() bool {
			found := w.pager.find(name, w.address)
			return len(found) != 0 && !slices.ContainsFunc(found, func(a alert) bool { return a.firing() })
		})
		w.Logf("%3.0fs %s resolved", time.Since(w.begun).Seconds(), name)
		w.pager.note(w.pager.resolved, name)
	}
}

// program returns a command of the agent's program on the agent's host.
func (w *world) program(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, w.agent, args...)
	if w.clock != nil {
		cmd.Env = append(os.Environ(), w.clock.Env())
	}
	return cmd
}

// terminate ends the agent as systemd does.
func (w *world) terminate() {
	w.Helper()
	w.alive()
	w.process.stop(syscall.SIGTERM)
}

// manifest returns a manifest of a kind.
func manifest(kind, name string, lines ...string) string {
	return fmt.Sprintf("apiVersion: proxmox.gitops/v1alpha1\nkind: %s\nmetadata: {name: %s}\nspec:\n  %s\n", kind, name, strings.Join(lines, "\n  "))
}

// machine returns the manifest of a virtual machine with an empty disk. Lines replace those that begin with the same field.
func machine(name string, vmid int, lines ...string) string {
	all := []string{
		fmt.Sprintf("vmid: %d", vmid), "source: {blank: {}}", "state: stopped", "memory: {size: 512Mi}", "node: pve1",
		"disks: {scsi0: {storage: local-lvm, size: 1Gi}}",
	}
	field := func(line string) string { name, _, _ := strings.Cut(line, ":"); return name }
	for _, line := range lines {
		if i := slices.IndexFunc(all, func(l string) bool { return field(l) == field(line) }); i >= 0 {
			all[i] = line
		} else {
			all = append(all, line)
		}
	}
	return manifest("VirtualMachine", name, all...)
}

// inject adds a fault to the cluster.
func (w *world) inject(f pvesim.Fault) {
	w.Helper()
	w.ok(w.sim.Inject(f))
}
