package reconcile_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/internal/evidence"
	"gitops-agent/internal/gittest"
	_ "gitops-agent/internal/memtemp"
	"gitops-agent/internal/proxmox"
	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

// The users of the tests. Olga may approve and not change; Wanda may change only the web servers.
var (
	wanda = sigtest.Identity{Subject: "wanda@lab.test", Issuer: "https://issuer.test"}
	alice = sigtest.Identity{Subject: "alice@lab.test", Issuer: "https://issuer.test"}
	olga  = sigtest.Identity{Subject: "olga@lab.test", Issuer: "https://issuer.test"}
)

// labSigstore are the options of the Sigstore of every lab. A bubble begins in 2000. The tests of package verify have keys of all kinds.
var labSigstore = sigtest.Options{Name: "lab", Seed: "lab", From: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), CAKey: sigtest.P256}

// TestMain collects garbage less often, within a limit, because the tests allocate much and keep little.
func TestMain(m *testing.M) {
	debug.SetGCPercent(1600)
	debug.SetMemoryLimit(1 << 30)
	m.Run()
}

// lab is an engine with real parts around it: a git repository that is fetched over file:// without a git process, commits signed by a Sigstore in
// memory, and the simulator behind the real API client.
type lab struct {
	testing.TB
	sim     *pvesim.Sim
	sig     *sigtest.Sigstore
	repo    *gittest.Repo
	state   string
	cluster *proxmox.Client
	policy  atomic.Pointer[verify.Policy] // the engine reads it while a test replaces it
	journal *journal.Journal
	engine  *reconcile.Engine
	opts    reconcile.Options

	mu    sync.Mutex
	steps []report.StepOutcome
	files map[string]string // of repo

	lock                 *os.File // the lock file of the last start; nil before the first
	takeOver, noTakeOver bool     // always, or never, whatever happened to the state directory

	pushToPoll time.Duration // pushToPoll, or longer than a rare tick

	anchor  gitsource.ID     // of the policies that trust sets; "" trusts on first use
	binding verify.Binding   // of the policies that trust sets; the zero value is BindingNone
	remote  gitsource.Remote // of the branch; the zero value is repo
	log     *evidence.Client // that is asked about commits of the online mode; nil asks none
	segment int64            // bytes of a segment of the journal; 0 is the default

	openJournal func(journal.Options) (*journal.Journal, error) // nil opens it in files
}

// A lab polls rarely, because each poll starts a git process, and polls at the default interval would take most of the time of a test run.
// A push causes a poll itself, after a time that is long enough for a tick, as with the default interval. A test of the polls themselves
// needs defaultPoll.
const (
	labPoll    = 15 * time.Minute
	pushToPoll = 20 * time.Second
)

// defaultPoll makes a lab poll at the default interval of the engine.
func defaultPoll(o *reconcile.Options) { o.Poll = 0 }

// rareTicks makes the next start of the lab read the cluster every two minutes. A test that waits for hours would take most of its time for ticks that find nothing
// new. A check that nothing happens must then wait for ten minutes. A push is still polled after a tick.
func (l *lab) rareTicks() { l.opts.Tick, l.pushToPoll = 2*time.Minute, 125*time.Second }

// labOption changes the engine's options before it is made.
type labOption func(*reconcile.Options)

func newLab(t testing.TB, sim *pvesim.Sim, options ...labOption) *lab {
	t.Helper()
	l := &lab{TB: t, sim: sim, repo: gittest.New(t), state: t.TempDir(), pushToPoll: pushToPoll}
	l.files = l.repo.Files
	sig, err := sigtest.New(labSigstore)
	l.ok(err)
	l.sig = sig
	l.trust(alice, olga, wanda)
	l.cluster = l.connect(proxmox.Options{})
	l.opts = reconcile.Options{
		Cluster: l.cluster, Policy: func() (*verify.Policy, error) { return l.policy.Load(), nil }, Branch: "main", Poll: labPoll,
		Scope: intake.Scope{Cluster: "home"}, Floors: l.cluster, Note: intake.RewriteNote{Dir: l.state}, Hooks: reconcile.Hooks{OnEvent: onOutcome(l.onStep)},
	}
	if time.Now().Year() > 2000 { // no bubble, so the wait would take its time
		l.opts.Wait = time.Millisecond
	}
	for _, o := range options {
		o(&l.opts)
	}
	return l
}

// connect returns a client of the simulator with the agent's token.
func (l *lab) connect(opts proxmox.Options) *proxmox.Client {
	l.Helper()
	opts.Endpoints, opts.TokenFile = []string{"https://pve1.lab.test:8006"}, filepath.Join(l.TempDir(), "token")
	if opts.Transport == nil {
		opts.Transport = l.sim.Transport()
	}
	l.ok(os.WriteFile(opts.TokenFile, []byte(l.sim.Token("gitops@pve!agent")+"\n"), 0o600))
	client, err := proxmox.New(opts)
	l.ok(err)
	l.Cleanup(client.Close)
	return client
}

// trust sets a policy that contains these users. Olga may approve and not change; Wanda may change only the web servers.
func (l *lab) trust(users ...sigtest.Identity) {
	l.Helper()
	var signers []verify.Signer
	for _, who := range users {
		signer := verify.Signer{Name: who.Subject, Issuer: who.Issuer, Subject: who.Subject, May: []verify.Role{verify.RoleChange}}
		switch who.Subject {
		case olga.Subject:
			signer.May = []verify.Role{verify.RoleApprove}
		case wanda.Subject:
			signer.Guests = []string{"VirtualMachine/web-*"}
		}
		signers = append(signers, signer)
	}
	l.trustSigners(signers...)
}

// trustSigners sets a policy that contains these signers.
func (l *lab) trustSigners(signers ...verify.Signer) {
	l.Helper()
	l.trustWithout(verify.Deny{}, signers...)
}

// trustWithout sets a policy that contains these signers and a deny list.
func (l *lab) trustWithout(deny verify.Deny, signers ...verify.Signer) {
	l.Helper()
	root, err := l.sig.TrustedRoot()
	l.ok(err)
	policy, err := verify.NewPolicy(verify.Options{
		TrustedRoot: root, Branch: "main", Target: "home/main", Binding: cmp.Or(l.binding, verify.BindingNone), TrustOnFirstUse: l.anchor == "", Anchor: l.anchor, Signers: signers, Deny: deny,
	})
	l.ok(err)
	l.policy.Store(policy)
}

// audit returns what the policy says of one commit of the agent's clone.
func (l *lab) audit(id string) verify.Verdict {
	l.Helper()
	return l.policy.Load().Audit(l.Context(), l.opts.Source.Repository(), gitsource.ID(id))
}

// onOutcome returns a function that passes on the outcomes of a type that events have.
func onOutcome[T any](pass func(T)) func(event.Event) {
	return func(e event.Event) {
		if o, is := e.Outcome.(T); is {
			pass(o)
		}
	}
}

func (l *lab) onStep(o report.StepOutcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.steps = append(l.steps, o)
}

// open opens journal and source and makes the engine, as a start of the agent does.
func (l *lab) open() {
	l.Helper()
	open := journal.Open
	if l.openJournal != nil {
		open = l.openJournal
	}
	j, err := open(journal.Options{Dir: filepath.Join(l.state, "journal"), SegmentSize: l.segment, CompactAfter: 1})
	l.ok(err)
	remote := l.remote
	if remote.URL == "" {
		remote.URL = "file://" + l.repo.Dir
	}
	source, err := gitsource.Open(gitsource.Options{
		Dir: filepath.Join(l.state, "repository"), Branch: "main", Remotes: []gitsource.Remote{remote}, Notes: evidence.NotesRef, UploadPack: gittest.UploadPack,
	})
	l.ok(err)
	l.journal = j
	// A person who replaces the state directory starts the agent with --take-over, as docs/trust.md says.
	l.opts.TakeOver = l.lockFileIsNew() && !l.noTakeOver || l.takeOver
	l.opts.Journal, l.opts.Source, l.opts.Evidence = j, source, evidence.NewFinder(source, l.log)
	l.engine = reconcile.NewEngine(l.opts)
}

// lockFileIsNew reports whether another lock file was there when the agent was started before. It keeps the file open, so that a new file cannot get
// its number.
func (l *lab) lockFileIsNew() bool {
	l.Helper()
	lock, err := os.Open(filepath.Join(l.state, "journal", "lock"))
	l.ok(err)
	l.Cleanup(func() { _ = lock.Close() })
	before := l.lock
	l.lock = lock
	if before == nil {
		return false
	}
	was, err := before.Stat()
	l.ok(err)
	is, err := lock.Stat()
	l.ok(err)
	return !os.SameFile(was, is)
}

func (l *lab) close() {
	l.Helper()
	l.ok(l.journal.Close())
}

// once runs one agent from start to end.
func (l *lab) once() report.Report {
	l.Helper()
	l.open()
	defer l.close()
	report, err := l.engine.Once(l.Context())
	l.ok(err)
	return report
}

// start runs an agent until the returned function is called.
func (l *lab) start() (stop func()) {
	l.Helper()
	l.open()
	ctx, cancel := context.WithCancel(l.Context())
	done := make(chan error, 1)
	go func() { done <- l.engine.Run(ctx) }()
	return func() {
		cancel()
		l.ok(<-done)
		l.close()
	}
}

// push commits the lab's files, signed by who, and moves main to the commit. An engine that runs polls the commit after pushToPoll.
func (l *lab) push(message string, who sigtest.Identity) string {
	l.Helper()
	id := l.repo.Push(l.sig, who, message)
	if l.engine != nil {
		time.AfterFunc(l.pushToPoll, l.engine.Hint)
	}
	return id
}

func (l *lab) ok(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// guest returns the report of one vmid.
func (l *lab) guest(r report.Report, vmid int) report.Guest {
	l.Helper()
	for _, g := range r.Guests {
		if g.VMID == vmid {
			return g
		}
	}
	l.Fatalf("got no guest %d in the report, want one", vmid)
	return report.Guest{}
}

// newSim returns a cluster with a template and the volumes that the manifests of the tests name.
func newSim(t testing.TB, opts pvesim.Options) *pvesim.Sim {
	t.Helper()
	sim := pvesim.New(opts)
	t.Cleanup(sim.Close)
	_, err := sim.AddTemplate(pvesim.Guest{VMID: 9000, Config: strings.Join([]string{
		"name: tmpl-debian-12", "memory: 1024", "cores: 1", "net0: virtio,bridge=vmbr0", "scsihw: virtio-scsi-single",
		"scsi0: local:9000/vm-9000-disk-0.qcow2,size=3G", "tags: template", "description: a template",
	}, "\n") + "\n"})
	if err != nil {
		t.Fatal(err)
	}
	for _, volume := range []string{"local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst", "local:import/debian-12-genericcloud-amd64.qcow2"} {
		if err := sim.AddVolume(volume, 1<<30); err != nil {
			t.Fatal(err)
		}
	}
	return sim
}

const clusterYAML = `apiVersion: proxmox.gitops/v1alpha1
kind: Cluster
metadata: {name: home}
spec:
  vmids: {from: 200, to: 299}
`

func vmYAML(name string, vmid int, lines ...string) string {
	return fmt.Sprintf("apiVersion: proxmox.gitops/v1alpha1\nkind: VirtualMachine\nmetadata: {name: %s}\nspec:\n  vmid: %d\n  node: pve1\n"+
		"  source: {clone: {name: tmpl-debian-12}}\n", name, vmid) + indented(lines)
}

// dnsYAML is the manifest of a container, dns-1 with vmid 210.
func dnsYAML(lines ...string) string {
	return "apiVersion: proxmox.gitops/v1alpha1\nkind: Container\nmetadata: {name: dns-1}\nspec:\n  vmid: 210\n  node: pve1\n" +
		"  source: {template: {volume: \"local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst\"}}\n  rootfs: {storage: local, size: 4Gi}\n" + indented(lines)
}

func indented(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString("  " + line + "\n")
	}
	return b.String()
}

// eventually waits until the condition holds, in the time of a synctest bubble.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for range 1200 {
		if condition() {
			return
		}
		time.Sleep(time.Second)
	}
	if l, ok := t.(*lab); ok {
		t.Logf("report: %+v\nrefused: %+v", l.engine.Report(), l.engine.Report().Source.Refused)
	}
	t.Fatalf("waited twenty minutes for %s", what)
}
