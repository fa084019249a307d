//go:build integration

package observability

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"gitops-agent/internal/etcdtest"
	"gitops-agent/internal/fulldisk"
	"gitops-agent/internal/gooverlay"
	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile/report"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// troubleGroups are the rows of the table. The rows of a group have one world, in which they come one after the other.
var troubleGroups = []struct {
	name    string
	members int // of the cluster that the agent has as endpoints
	prepare func(*stage)
	rows    []trouble
}{
	{"cluster", 1, oneAgent, clusterTroubles},
	{"parts", 2, guestUnderHA, partTroubles},
	{"source", 1, oneAgent, sourceTroubles},
	{"disk", 1, smallDisk, diskTroubles},
	{"clock", 1, ownClock, clockTroubles},
	{"etcd", 1, twoAgents, etcdTroubles},
	{"members", 1, threeMembers, memberTroubles},
}

const imageURL = "https://images.example/debian-13.qcow2"

// oneAgent starts an agent that manages two guests, a firewall, an Image and a pool.
func oneAgent(s *stage) {
	sum := strings.Repeat("9f", 32)
	s.sim.SetPrivileges(agentToken, allPrivileges)
	s.sim.Publish(imageURL, pvesim.WebFile{Size: 1 << 20, Format: "qcow2", VirtualSize: 1 << 30, Checksums: map[string]string{"sha256": sum}})
	s.settings.journal, s.settings.timeout = "images: {allow: [images.example]}", "4s"
	s.repo.Files["web.yaml"] = machine("web-1", 201, "networks: {net0: {bridge: vmbr0, firewall: true}}", "firewall: {rules: [{type: in, action: ACCEPT, macro: SSH}]}")
	if s.repo.Files["db.yaml"] == "" {
		s.repo.Files["db.yaml"] = machine("db-1", 202, "node: pve2")
	}
	s.repo.Files["image.yaml"] = manifest("Image", "debian-13", "url: "+imageURL, "checksum: sha256:"+sum, "storage: local", "nodes: [pve1]", "content: import")
	s.repo.Files["pool.yaml"] = manifest("Pool", "media", "comment: films")
	s.begin()
	s.until("everything in sync", func(d report.Document) bool { return len(d.Guests) == 4 && guestsCell(d) == "all in sync" })
}

// guestUnderHA is oneAgent with an entry of the HA manager for one of the guests.
func guestUnderHA(s *stage) {
	s.repo.Files["db.yaml"] = machine("db-1", 202, "node: pve2", "ha: {state: stopped}")
	oneAgent(s)
}

// smallDisk is oneAgent with a state directory on a small disk of its own.
func smallDisk(s *stage) {
	s.ok(os.Mkdir(s.settings.state, 0o700))
	disk, err := fulldisk.NewDisk(s.path("disk"), s.settings.state, 8<<20)
	s.ok(err)
	s.Cleanup(func() { _ = disk.Close() })
	s.disk = disk
	oneAgent(s)
}

// ownClock is oneAgent on a host with a clock of its own.
func ownClock(s *stage) {
	s.clock = &gooverlay.Clock{File: s.path("clock")}
	s.ok(s.clock.Set())
	own := *s.bench
	own.agent = s.path("gitops-agent")
	s.bench = &own
	gooverlay.BuildWithClock(s, s.dir, map[string]string{}, "gitops-agent/cmd/gitops-agent")
	oneAgent(s)
}

// setClock moves the clock of the agent's host: it is ahead by d. The monotonic clock goes on.
func (s *stage) setClock(d time.Duration) {
	s.Helper()
	s.clock.Wall = d
	s.ok(s.clock.Set())
}

// onceAtTheEnd lets the row end with run --once, in place of the agents that run.
func (s *stage) onceAtTheEnd() {
	s.once = func() *exec.Cmd {
		config := s.config()
		if s.replicas == nil {
			s.terminate()
		}
		for _, r := range s.replicas {
			r.process.stop(syscall.SIGTERM)
		}
		return s.program(s.Context(), "run", "--once", "--config", config)
	}
}

// startAgain starts the agents that run --once replaced.
func (s *stage) startAgain() {
	s.Helper()
	if s.once == nil {
		return
	}
	if s.replicas == nil {
		s.start()
		return
	}
	for _, r := range s.replicas {
		s.startReplica(r)
	}
}

// fails is the fault of every read of a path.
func (s *stage) fails(path string) {
	s.inject(pvesim.Fault{Kind: pvesim.ErrorText, Text: "unable to read it", Method: http.MethodGet, Path: path, Times: -1})
}

func (s *stage) silenceCluster() {
	for _, e := range s.endpoints {
		s.silence(e)
	}
}

func (s *stage) answerCluster() {
	for _, e := range s.endpoints {
		s.answer(e)
	}
}

func clearFaults(s *stage) { s.sim.ClearFaults(); s.startAgain() }

var clusterTroubles = []trouble{
	{
		name:  "Proxmox does not answer",
		begin: func(s *stage) { s.silenceCluster(); s.onceAtTheEnd() },
		end:   func(s *stage) { s.answerCluster(); s.startAgain() },
	},
	{
		name:  "Proxmox does not answer, and the agent starts",
		begin: func(s *stage) { s.terminate(); s.silenceCluster(); s.start() },
		end:   func(s *stage) { s.answerCluster() },
	},
	{
		name:  "Proxmox hangs",
		begin: func(s *stage) { s.inject(pvesim.Fault{Kind: pvesim.Latency, Delay: time.Hour, Times: -1}) },
		end:   clearFaults,
	},
	{
		name:  "a node is off",
		begin: func(s *stage) { s.sim.StopNode("pve2"); s.onceAtTheEnd() },
		end:   func(s *stage) { s.sim.StartNode("pve2"); s.startAgain() },
	},
	{
		name: "a node does not answer",
		begin: func(s *stage) {
			s.inject(pvesim.Fault{Kind: pvesim.ProxyStatus, Status: 595, Path: "^/nodes/pve2/", Times: -1})
		},
		end: clearFaults,
	},
	{
		name: "a node does not answer, and the agent starts",
		begin: func(s *stage) {
			s.terminate()
			s.inject(pvesim.Fault{Kind: pvesim.ProxyStatus, Status: 595, Path: "^/nodes/pve2/", Times: -1})
			s.start()
		},
		end: clearFaults,
	},
	{
		name: "a node hangs",
		begin: func(s *stage) {
			s.inject(pvesim.Fault{Kind: pvesim.Latency, Delay: time.Hour, Path: "^/nodes/pve2/", Times: -1})
		},
		end: clearFaults,
	},
	{
		name:  "the cluster has no quorum",
		begin: func(s *stage) { s.sim.LoseQuorum() },
		end:   func(s *stage) { s.sim.RegainQuorum() },
	},
	{
		name:  "a guest cannot be read",
		begin: func(s *stage) { s.fails("^/nodes/pve1/qemu/201/(config|pending)"); s.onceAtTheEnd() },
		end:   clearFaults,
	},
	{
		name:  "a firewall cannot be read",
		begin: func(s *stage) { s.fails("^/nodes/pve1/qemu/201/firewall") },
		end:   clearFaults,
	},
	{
		name:  "a firewall cannot be read, and the agent starts",
		begin: func(s *stage) { s.terminate(); s.fails("^/nodes/pve1/qemu/201/firewall"); s.start() },
		end:   clearFaults,
	},
	{
		name:  "a storage cannot be read",
		begin: func(s *stage) { s.fails("^/nodes/pve1/storage/local/content"); s.onceAtTheEnd() },
		end:   clearFaults,
	},
	{
		name: "a storage hangs",
		begin: func(s *stage) {
			s.inject(pvesim.Fault{Kind: pvesim.Latency, Delay: time.Hour, Path: "^/nodes/pve1/storage/local/content", Times: -1})
		},
		end: clearFaults,
	},
	{
		name: "a storage is full",
		begin: func(s *stage) {
			s.sim.FillStorage("local-lvm")
			s.repo.Files["web.yaml"] = strings.Replace(s.repo.Files["web.yaml"], "{scsi0:", "{scsi5: {storage: local-lvm, size: 1Gi}, scsi0:", 1)
			s.push("a disk")
		},
		end: func(s *stage) { s.sim.DrainStorage("local-lvm"); s.retry("VirtualMachine/web-1") },
	},
	{
		name:  "pools cannot be read",
		begin: func(s *stage) { s.fails("^/pools") },
		end:   clearFaults,
	},
	{
		name:  "pools cannot be read, and the agent starts",
		begin: func(s *stage) { s.terminate(); s.fails("^/pools"); s.start(); s.onceAtTheEnd() },
		end:   clearFaults,
	},
	{
		name:  "the token has no role on pools",
		begin: func(s *stage) { s.sim.SetPrivileges(agentToken, withoutPools) },
		end:   func(s *stage) { s.sim.SetPrivileges(agentToken, allPrivileges) },
	},
	{
		name: "the token is not valid",
		begin: func(s *stage) {
			s.inject(pvesim.Fault{Kind: pvesim.ProxyStatus, Status: http.StatusUnauthorized, Times: -1})
		},
		end: clearFaults,
	},
}

// partTroubles are failures of a part of the cluster, of which the agent has two endpoints.
var partTroubles = []trouble{
	{
		name:  "one of two endpoints does not answer",
		begin: func(s *stage) { s.silence(s.endpoints[0]) },
		end:   func(s *stage) { s.answer(s.endpoints[0]) },
	},
	{
		name:  "one of two endpoints does not answer for a second, six times",
		begin: func(s *stage) { sixTimes(func() { s.silence(s.endpoints[0]) }, func() { s.answer(s.endpoints[0]) }) },
		end:   func(*stage) {},
	},
	{
		name:  "Proxmox does not answer for a second, six times",
		begin: func(s *stage) { sixTimes(s.silenceCluster, s.answerCluster) },
		end:   func(*stage) {},
	},
	{
		name: "all endpoints answer with pages of a proxy",
		begin: func(s *stage) {
			s.inject(pvesim.Fault{Kind: pvesim.Page, Times: -1})
		},
		end: clearFaults,
	},
	{
		name: "the token may not read a firewall",
		begin: func(s *stage) {
			s.inject(pvesim.Fault{Kind: pvesim.ProxyStatus, Status: http.StatusForbidden, Method: http.MethodGet, Path: "^/nodes/pve1/qemu/201/firewall", Times: -1})
		},
		end: clearFaults,
	},
	{
		name:  "the state of the HA manager cannot be read",
		begin: func(s *stage) { s.fails("^/cluster/ha/") },
		end:   clearFaults,
	},
	{
		name:  "the tasks cannot be read",
		begin: func(s *stage) { s.fails("/tasks") },
		end:   clearFaults,
	},
	{
		name:  "a node is in maintenance",
		begin: func(s *stage) { s.sim.SetMaintenance("pve2", true) },
		end:   func(s *stage) { s.sim.SetMaintenance("pve2", false) },
	},
}

var sourceTroubles = []trouble{
	{
		name:  "the git server does not answer",
		begin: func(s *stage) { s.forgeDown.Store(true); s.onceAtTheEnd() },
		end:   func(s *stage) { s.forgeDown.Store(false); s.startAgain() },
	},
	{
		name:  "the git server does not answer, and the agent starts",
		begin: func(s *stage) { s.terminate(); s.forgeDown.Store(true); s.start() },
		end:   func(s *stage) { s.forgeDown.Store(false) },
	},
	{
		name:  "the git server hangs",
		begin: func(s *stage) { s.forgeHang.Store(true) },
		end:   func(s *stage) { s.forgeHang.Store(false) },
	},
	{
		name: "the git server was restored from an older copy",
		begin: func(s *stage) {
			before := s.repo.Tip
			s.push("a commit that the copy does not have")
			s.until("the commit in force", func(d report.Document) bool {
				return d.Converged && d.Source.Accepted != nil && d.Source.Accepted.Commit == s.repo.Tip
			})
			s.memory["tip"], s.seen = s.repo.Tip, len(s.logText())
			s.repo.SetMain(before)
		},
		end: func(s *stage) { s.repo.SetMain(s.memory["tip"]) },
	},
	{
		name:  "the git server does not answer for a second, six times",
		begin: func(s *stage) { sixTimes(func() { s.forgeDown.Store(true) }, func() { s.forgeDown.Store(false) }) },
		end:   func(*stage) {},
	},
	{
		name: "the branch was deleted",
		begin: func(s *stage) {
			s.memory["tip"] = s.repo.Tip
			s.repo.Git(nil, "update-ref", "-d", "refs/heads/main")
		},
		end: func(s *stage) { s.repo.SetMain(s.memory["tip"]) },
	},
	{
		name: "the remote serves an empty repository",
		begin: func(s *stage) {
			s.ok(os.Rename(s.repo.Dir, s.repo.Dir+".away"))
			s.ok(exec.CommandContext(s.Context(), "git", "init", "--quiet", "--bare", s.repo.Dir).Run())
		},
		end: func(s *stage) { s.ok(os.RemoveAll(s.repo.Dir)); s.ok(os.Rename(s.repo.Dir+".away", s.repo.Dir)) },
	},
	{
		name:  "the trusted root is missing",
		begin: func(s *stage) { s.ok(os.Rename(s.path("root.json"), s.path("root.away"))) },
		end:   func(s *stage) { s.ok(os.Rename(s.path("root.away"), s.path("root.json"))) },
	},
	{
		name: "the trusted root is that of another Sigstore",
		begin: func(s *stage) {
			mine := s.sig
			other, err := sigtest.New(sigtest.Options{Name: "another"})
			s.ok(err)
			s.sig = other
			s.writeRoot()
			s.sig = mine
		},
		end: func(s *stage) { s.writeRoot() },
	},
	{
		name: "the TUF repository does not answer, and the agent starts",
		begin: func(s *stage) {
			s.terminate()
			s.ok(os.WriteFile(s.path("tuf-root.json"), []byte("{}"), 0o600))
			s.settings.trust = "tuf: {url: \"http://127.0.0.1:1/\", root_file: " + s.path("tuf-root.json") + "}"
			s.start()
		},
		end: func(s *stage) { s.terminate(); s.settings.trust = ""; s.start() },
	},
	{
		name:  "the notification service does not answer",
		begin: func(s *stage) { s.pager.silent.Store(true); s.tellOfCommit() },
		end:   func(s *stage) { s.counts("sent", func() { s.pager.silent.Store(false) }) },
	},
	{
		name:  "the notification service hangs",
		begin: func(s *stage) { s.pager.hangs.Store(true); s.tellOfCommit() },
		end:   func(s *stage) { s.counts("sent", func() { s.pager.hangs.Store(false) }) },
	},
	{
		name: "the notification service does not answer for a second, six times",
		begin: func(s *stage) {
			sixTimes(func() { s.pager.silent.Store(true); s.tellOfCommit() }, func() { s.counts("sent", func() { s.pager.silent.Store(false) }) })
		},
		end: func(*stage) {},
		rest: func(s *stage, now *sight) {
			for _, result := range []string{"failed", "dropped"} {
				if got := now.series[fmt.Sprintf("gitops_agent_notifications_total{result=%q}", result)]; got != "0" {
					s.Errorf("got %s notifications %s, want 0", got, result)
				}
			}
		},
	},
	{
		name: "Rekor hangs about a commit of the online mode",
		begin: func(s *stage) {
			s.memory["tip"] = s.repo.Tip
			s.onlineCommit(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		},
		end: func(s *stage) { // the person takes the commit back
			s.repo.Tip = s.memory["tip"]
			s.repo.SetMain(s.repo.Tip)
		},
		rest: keepsTheCommitBefore,
	},
	{
		name: "Rekor does not answer about a commit of the online mode",
		begin: func(s *stage) {
			s.onlineCommit(func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, "maintenance", http.StatusServiceUnavailable)
			})
		},
		rest: keepsTheCommitBefore,
	},
}

// sixTimes lets a source fail for a second, six times. Such an outage is told to nobody.
func sixTimes(fail, restore func()) {
	for range 6 {
		fail()
		time.Sleep(time.Second)
		restore()
		time.Sleep(3 * time.Second)
	}
}

// tellOfCommit pushes a commit, and waits until a message about it was not taken.
func (s *stage) tellOfCommit() {
	s.Helper()
	s.counts("retried", func() { s.push("a commit to tell of") })
	s.until("the commit", func(d report.Document) bool { return d.Converged && d.Source.Accepted.Commit == s.repo.Tip })
}

// counts does something, and waits until one more attempt to send a notification has a result.
func (s *stage) counts(result string, do func()) {
	s.Helper()
	name := fmt.Sprintf("gitops_agent_notifications_total{result=%q}", result)
	number := func() string {
		_, text := s.get("/metrics")
		_, rest, _ := strings.Cut(text, name+" ")
		n, _, _ := strings.Cut(rest, "\n")
		return n
	}
	before := number()
	do()
	await(s, "a notification "+result, func() bool { return number() != before })
}

// onlineCommit pushes a commit of gitsign's online mode to an agent that asks a log.
func (s *stage) onlineCommit(log http.HandlerFunc) {
	s.Helper()
	server := httptest.NewTLSServer(log)
	s.Cleanup(server.CloseClientConnections)
	s.terminate()
	s.ok(os.WriteFile(s.path("rekor.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	s.settings.trust = "rekor_url: " + server.URL + "\n  rekor_ca_file: " + s.path("rekor.pem")
	s.start()
	s.until("the start", func(d report.Document) bool { return d.Converged })
	s.seen = len(s.logText())
	s.repo.PushOnline(s.sig, alice, "in the online mode", sigtest.SignOptions{})
}

func keepsTheCommitBefore(s *stage, now *sight) {
	if now.doc.Source.Accepted == nil || now.doc.Source.Accepted.Commit == s.repo.Tip {
		s.Errorf("got %+v, want the commit before in force", now.doc.Source.Accepted)
	}
}

// retry asks for another try of a guest or object.
func (s *stage) retry(label string) {
	s.Helper()
	if status, out := s.exit(s.program(s.Context(), "retry", "--config", s.config(), label)); status != 0 {
		s.Fatalf("retry: %s", out)
	}
}

var diskTroubles = []trouble{
	{
		name: "the disk of the state directory is full, and the agent starts",
		begin: func(s *stage) {
			s.terminate()
			s.ok(fulldisk.FillFileSystem(s.settings.state))
			s.start()
			await(s, "the journal to fail", func() bool {
				s.ok(s.sim.Edit(201, "memory", "777"))
				d, ok := s.document()
				return ok && d.Journal.Error != "" // the first report has no journal yet
			})
			s.ok(s.sim.Edit(201, "memory", "778")) // the repair of the edit before may have been recorded
			s.onceAtTheEnd()
		},
		end: func(s *stage) { s.ok(os.Remove(filepath.Join(s.settings.state, "ballast"))); s.startAgain() },
	},
	{
		name:  "the state directory is gone",
		begin: func(s *stage) { s.ok(os.Rename(s.path("state/journal"), s.path("state/moved"))) },
		end:   func(s *stage) { s.ok(os.Rename(s.path("state/moved"), s.path("state/journal"))) },
	},
	{
		name:  "the disk of the state directory becomes read-only",
		begin: func(s *stage) { s.ok(s.disk.Break()) },
		end:   mendDisk,
	},
	{
		name: "the disk of the state directory becomes read-only, and the agent starts",
		begin: func(s *stage) {
			s.terminate()
			s.ok(s.disk.Break())
			s.start()
			s.onceAtTheEnd()
			s.memory["socket"] = "none" // the agent cannot make it
		},
		end: mendDisk,
	},
	{
		name: "the journal is damaged, and the agent starts",
		begin: func(s *stage) {
			s.terminate()
			s.ok(os.CopyFS(s.path("whole"), os.DirFS(s.path("state/journal"))))
			names, err := filepath.Glob(s.path("state/journal/*.journal"))
			s.ok(err)
			text, err := os.ReadFile(names[0])
			s.ok(err)
			text[150] ^= 1 // in the first record
			s.ok(os.WriteFile(names[0], text, 0o600))
			s.start()
			s.onceAtTheEnd()
		},
		end: func(s *stage) {
			s.ok(os.RemoveAll(s.path("state/journal")))
			s.ok(os.CopyFS(s.path("state/journal"), os.DirFS(s.path("whole"))))
			s.startAgain()
		},
	},
	{
		name: "the state directory is empty, and the agent starts with --take-over",
		begin: func(s *stage) {
			s.terminate()
			s.memory["records"] = "lost"
			s.ok(os.RemoveAll(s.path("state/journal")))
			s.process = startProcess(s, s.log, s.program(context.Background(), "run", "--take-over", "--config", s.path("config.yaml")))
			await(s, "the agent to serve", func() bool { _, ok := s.document(); return ok })
		},
	},
}

// mendDisk checks the disk of the state directory and mounts it again, as a person does.
func mendDisk(s *stage) {
	if s.once == nil {
		s.terminate()
	}
	s.ok(s.disk.Mend())
	delete(s.memory, "socket")
	s.start()
}

var clockTroubles = []trouble{
	{
		name: "the clock of the host is put forward by a day",
		begin: func(s *stage) {
			s.setClock(24 * time.Hour)
			s.push("while the clock is ahead")
			s.tells("clock.differs")
		},
		end: rightClock,
	},
	{
		name: "the clock of the host is put back by a day",
		begin: func(s *stage) {
			s.setClock(-24 * time.Hour)
			s.push("while the clock is behind")
			s.tells("clock.differs")
		},
		end: rightClock,
	},
	{
		name: "the clock of the host is put back by a day, and the agent starts",
		begin: func(s *stage) {
			s.terminate()
			s.setClock(-24 * time.Hour)
			s.start()
			s.tells("clock.differs")
			s.onceAtTheEnd()
		},
		end: func(s *stage) { s.setClock(0); s.startAgain() },
	},
}

func rightClock(s *stage) { s.setClock(0); s.tells("clock.agrees") }

// tells waits until the agent has told an event since the trouble began.
func (s *stage) tells(name string) {
	s.Helper()
	await(s, "the event "+name, func() bool { return strings.Contains(s.logText()[s.seen:], fmt.Sprintf("\"event\":%q", name)) })
}

// twoAgents starts two agents that share a journal in etcd, and looks at the standby.
func twoAgents(s *stage) {
	s.etcd = etcdtest.Start(s, 1, etcdtest.SmallQuota)
	startPair(s, func(r *replica) { r.etcd = etcdtest.NewProxy(s, s.etcd.Members[0].Address()) })
}

// threeMembers is twoAgents with an etcd of three members.
func threeMembers(s *stage) {
	s.etcd = etcdtest.Start(s, 3)
	startPair(s, func(r *replica) { r.members = s.etcd.Endpoints() })
}

// startPair starts two agents that reach etcd as reach says.
func startPair(s *stage, reach func(*replica)) {
	s.settings.cluster = "outlets"
	s.repo.Files["cluster.yaml"] = manifest("Cluster", "outlets", "vmids: {from: 201, to: 999}")
	s.repo.Files["web.yaml"], s.repo.Files["db.yaml"] = machine("web-1", 201), machine("db-1", 202, "node: pve2")
	for _, name := range []string{"first", "second"} {
		r := &replica{name: name, address: s.address}
		reach(r)
		if name == "second" {
			r.address = freeAddress(s)
		}
		s.replicas = append(s.replicas, r)
	}
	for _, r := range s.replicas {
		s.startReplica(r)
	}
	s.leads(s.replicas...)
	s.push("two guests")
	s.converged()
	for _, r := range s.replicas {
		s.prometheus.target(r.address)
		s.Cleanup(func() { s.prometheus.forget(r.address) })
		s.look(r)
		s.scraped()
	}
	s.pair()
}

// pair waits until one agent leads and the other is ready, looks at the standby, and returns both.
func (s *stage) pair() (leader, standby *replica) {
	s.Helper()
	leader = s.leads(s.replicas...)
	standby = s.replicas[0]
	if leader == standby {
		standby = s.replicas[1]
	}
	s.ready(standby)
	s.look(standby)
	return leader, standby
}

// withUser is the user of etcd of one row.
const withUser = "gitops-agent"

var etcdTroubles = []trouble{
	{
		name:  "etcd does not answer: the standby",
		begin: func(s *stage) { s.pair(); cut(s.replicas) },
		end:   func(s *stage) { heal(s.replicas); s.pair() },
	},
	{
		name:  "etcd does not answer: the former leader",
		begin: func(s *stage) { leader, _ := s.pair(); cut(s.replicas); s.look(leader); s.onceAtTheEnd() },
		end:   func(s *stage) { heal(s.replicas); s.startAgain(); s.pair() },
	},
	{
		name:  "etcd is stopped by SIGSTOP: the standby",
		begin: func(s *stage) { s.pair(); s.etcd.Members[0].Signal(s, syscall.SIGSTOP) },
		end:   func(s *stage) { s.etcd.Members[0].Signal(s, syscall.SIGCONT); s.pair() },
	},
	{
		name:  "etcd is stopped by SIGSTOP: the former leader",
		begin: func(s *stage) { leader, _ := s.pair(); s.etcd.Members[0].Signal(s, syscall.SIGSTOP); s.look(leader) },
		end:   func(s *stage) { s.etcd.Members[0].Signal(s, syscall.SIGCONT); s.pair() },
	},
	{
		name: "etcd is stopped for a second, six times: the standby",
		begin: func(s *stage) {
			s.pair()
			sixTimes(func() { s.etcd.Members[0].Signal(s, syscall.SIGSTOP) }, func() { s.etcd.Members[0].Signal(s, syscall.SIGCONT) })
		},
		end: func(s *stage) { s.pair() },
	},
	{
		name: "etcd does not answer, and the agent starts",
		begin: func(s *stage) {
			_, standby := s.pair()
			cut(s.replicas)
			standby.process.stop(syscall.SIGTERM)
			s.startReplica(standby)
		},
		end: func(s *stage) { heal(s.replicas); s.pair() },
	},
	{
		name:  "etcd has no space: the standby",
		begin: func(s *stage) { s.pair(); s.free = s.etcd.Fill(s) },
		end:   func(s *stage) { s.free(); s.pair() },
	},
	{
		name: "etcd has no space: the leader",
		begin: func(s *stage) {
			leader, _ := s.pair()
			s.look(leader)
			s.free = s.etcd.Fill(s)
		},
		end: func(s *stage) { s.free(); s.pair() },
	},
	{
		name: "etcd has no space, and no agent leads",
		begin: func(s *stage) {
			leader, _ := s.pair()
			s.free = s.etcd.Fill(s)
			leader.process.stop(os.Kill)
			s.startReplica(leader)
			s.onceAtTheEnd()
		},
		end: func(s *stage) { s.free(); s.startAgain(); s.pair() },
	},
	{
		name: "an older copy replaces etcd under a standby",
		begin: func(s *stage) {
			s.copyWithout(s.pair())
		},
		end: restoreNewest,
	},
	{
		name: "an older copy replaces etcd, and the agent starts",
		begin: func(s *stage) {
			_, standby := s.pair()
			s.copyWithout(s.pair())
			standby.process.stop(syscall.SIGTERM)
			s.startReplica(standby)
			s.onceAtTheEnd()
		},
		end: restoreNewest,
	},
	{
		name: "etcd refuses the user",
		begin: func(s *stage) {
			s.pair()
			etcd, ctx := s.etcd.Client(s), context.Background()
			add := func(_ any, err error) { s.Helper(); s.ok(err) }
			add(etcd.UserAdd(ctx, "root", "secret"))
			add(etcd.UserGrantRole(ctx, "root", "root"))
			add(etcd.RoleAdd(ctx, withUser))
			add(etcd.RoleGrantPermission(ctx, withUser, "/pair/", clientv3.GetPrefixRangeEnd("/pair/"), clientv3.PermissionType(clientv3.PermReadWrite)))
			add(etcd.UserAdd(ctx, withUser, "secret"))
			add(etcd.UserGrantRole(ctx, withUser, withUser))
			add(etcd.AuthEnable(ctx))
		},
	},
}

// memberTroubles are failures of one of the three members of etcd.
var memberTroubles = []trouble{
	{
		name:  "etcd's leader is stopped for a second, six times: the standby",
		begin: func(s *stage) { s.pair(); s.stopEtcdLeader() },
		end:   func(s *stage) { s.pair() },
	},
	{
		name:  "etcd's leader is stopped for a second, six times: the leader",
		begin: func(s *stage) { leader, _ := s.pair(); s.look(leader); s.stopEtcdLeader() },
		end:   func(s *stage) { s.pair() },
	},
	{
		name: "etcd's leader is gone: the leader",
		begin: func(s *stage) {
			leader, _ := s.pair()
			s.look(leader)
			s.gone = s.etcd.Leader(s)
			s.gone.Stop(s)
		},
		end: func(s *stage) { s.gone.Start(s); s.pair() },
	},
	{
		name: "two of three members of etcd are gone: the leader",
		begin: func(s *stage) {
			leader, _ := s.pair()
			s.look(leader)
			s.etcd.Members[1].Stop(s)
			s.etcd.Members[2].Stop(s)
		},
		end: func(s *stage) { s.etcd.Members[1].Start(s); s.etcd.Members[2].Start(s); s.pair() },
	},
}

// stopEtcdLeader stops whichever member leads etcd for a second, six times.
func (s *stage) stopEtcdLeader() {
	var stopped *etcdtest.Member
	sixTimes(func() { stopped = s.etcd.Leader(s); stopped.Signal(s, syscall.SIGSTOP) }, func() { stopped.Signal(s, syscall.SIGCONT) })
}

// copyWithout makes an older copy, which lacks the newest guest, replace etcd after the leader has ended. The standby goes on.
func (s *stage) copyWithout(leader, standby *replica) {
	s.Helper()
	if s.memory["old"] == "" {
		s.memory["old"] = s.etcd.Save(s)
		leader, standby = s.pair()
		s.repo.Files["new.yaml"] = machine("new-1", 203)
		s.push("a guest that the copy does not know")
		s.look(leader)
		s.converged()
		s.look(standby)
		s.until("the standby to know the guest", func(d report.Document) bool { return len(d.Guests) == 3 && guestsCell(d) == "all in sync" })
	}
	s.seen = len(s.logText())
	leader.process.stop(syscall.SIGTERM)
	s.memory["newest"] = s.etcd.Save(s)
	standby.etcd.Cut() // it does not become the leader meanwhile
	s.etcd.Restore(s, s.memory["old"])
	standby.etcd.Heal()
}

// restoreNewest brings the newest data of etcd back, and the agent that led.
func restoreNewest(s *stage) {
	cut(s.replicas)
	s.etcd.Restore(s, s.memory["newest"])
	heal(s.replicas)
	for _, r := range s.replicas {
		select {
		case <-r.process.ended:
			s.startReplica(r)
		default:
		}
	}
	s.pair()
}
