//go:build integration

package crash

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/gittest"
	"gitops-agent/internal/gooverlay"
	"gitops-agent/internal/sigtest"
)

var (
	alice = sigtest.Identity{Subject: "alice@lab.test", Issuer: "https://issuer.test"} // may change guests
	olga  = sigtest.Identity{Subject: "olga@lab.test", Issuer: "https://issuer.test"}  // may approve
)

// world is what belongs to one seed.
type world struct {
	testing.TB
	seed     uint64
	rng      *rand.Rand
	dir      string
	programs string // folder
	sig      *sigtest.Sigstore
	repo     *gittest.Repo
	clock    *gooverlay.Clock // of the simulator; the agents' clocks follow it
	control  string           // URL
	endpoint string           // URL
	token    string
	api      *http.Client

	agents   []*agent   // one, or two that compete
	guests   []*machine // also destroyed ones
	things   []*thing   // objects that are no guests, also removed ones
	haGuests []int      // not of the agent, for affinity rules
	orders   []*order
	approved map[string]time.Time // by digest: when it was approved last
	nextVMID int
	names    int
	forge    *forge // nil in a world whose agents read a folder
	services []*service
	archive  string // the volume of a backup
	texts    int    // for values that differ from all before
	class    int    // version of the class
	history  []string
	total    *totals
}

func newWorld(t testing.TB, programs string, seed uint64, total *totals) *world {
	t.Helper()
	w := &world{
		TB: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 12)), dir: t.TempDir(), programs: programs, repo: gittest.New(t), total: total,
		approved: map[string]time.Time{}, nextVMID: 601,
	}
	sig, err := sigtest.New(sigtest.Options{Name: "crash"})
	w.ok(err)
	w.sig = sig
	root, err := sig.TrustedRoot()
	w.ok(err)
	w.write("trusted_root.json", string(root))
	w.ok(os.Mkdir(w.path("secrets"), 0o700))
	w.clock = &gooverlay.Clock{File: w.path("clock")}
	w.ok(w.clock.Set())
	if seed%4 == 1 || seed%4 == 3 {
		w.forge = w.newForge()
	}
	w.startSimulator()
	w.agents = []*agent{w.newAgent("agent-0")}
	t.Cleanup(func() {
		if t.Failed() {
			w.printHistory()
		}
	})
	return w
}

// printHistory prints what a person needs to look for the cause of a failure.
func (w *world) printHistory() {
	w.Logf("run it again: go test -tags integration ./test/crash -run 'TestCrash$' -v -crash-first %d -crash-seeds 1 -crash-rounds %d -crash-kills %d\nwhat was done:\n%s",
		w.seed, *crashRounds, *crashKills, strings.Join(w.history, "\n"))
	for _, a := range w.agents {
		log, _ := os.ReadFile(a.log)
		w.Logf("the end of the log of %s:\n%s", a.name, log[max(0, len(log)-12<<10):])
	}
}

// did adds a line to the history.
func (w *world) did(format string, args ...any) {
	w.history = append(w.history, time.Now().UTC().Format("05.000 ")+fmt.Sprintf(format, args...))
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

func (w *world) write(name, text string) {
	w.Helper()
	w.ok(os.WriteFile(w.path(name), []byte(text), 0o600))
}

func (w *world) read(name string) string {
	w.Helper()
	text, err := os.ReadFile(w.path(name))
	w.ok(err)
	return strings.TrimSpace(string(text))
}

// startSimulator starts a cluster of two nodes with a guest of somebody else, which has a snapshot and a backup.
func (w *world) startSimulator() {
	w.Helper()
	cmd := exec.Command(filepath.Join(w.programs, "pvesim"), "--listen", "127.0.0.1:0", "--control", "127.0.0.1:0", "--nodes", "pve1,pve2", "--seed", fmt.Sprint(w.seed),
		"--task-time", "40ms", "--ha-delay", haRound(w.seed).String(), "--token", "root@pam!full",
		"--token-out", w.path("token"), "--cert-out", w.path("cert"), "--control-out", w.path("control"), "--addr-out", w.path("addr"))
	cmd.Env = append(os.Environ(), w.clock.Env())
	cmd.Stderr = os.Stderr
	w.ok(cmd.Start())
	w.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(w.path("addr")); err == nil {
			break
		}
		if time.Now().After(deadline) {
			w.Fatal("the simulator did not start")
		}
	}
	w.control, w.endpoint, w.token = w.read("control"), w.read("addr"), w.read("token")
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(w.read("cert")))
	w.api = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	w.Cleanup(w.api.CloseIdleConnections)
	w.person("/nodes/pve1/qemu", "vmid=105&name=erp&memory=512&scsi0=local:1,format=qcow2")
	w.person("/nodes/pve1/qemu/105/snapshot", "snapname=before")
	w.person("/nodes/pve1/vzdump", "vmid=105&storage=local&mode=stop")
	var content struct{ Data []struct{ VolID string } }
	w.call("GET", "/nodes/pve1/storage/local/content?content=backup", "", &content)
	w.archive = content.Data[0].VolID
	w.post("/announce", map[string]any{}) // every other loss is a violation
}

// person makes a POST call as root and waits for its task.
func (w *world) person(path, params string) {
	w.Helper()
	w.personCalls("POST", path, params)
}

// personCalls makes a call as root and waits for its task.
func (w *world) personCalls(method, path, params string) {
	w.Helper()
	w.did("a person: %s %s %s", method, path, params)
	var reply struct{ Data any }
	w.call(method, path, params, &reply)
	upid, _ := reply.Data.(string)
	for deadline := time.Now().Add(patience); strings.HasPrefix(upid, "UPID:"); time.Sleep(10 * time.Millisecond) {
		var task struct {
			Data struct{ Status, ExitStatus string }
		}
		w.call("GET", "/nodes/"+strings.Split(upid, ":")[1]+"/tasks/"+upid+"/status", "", &task)
		if task.Data.Status == "stopped" {
			if task.Data.ExitStatus != "OK" {
				w.Fatalf("%s %s %s: got %s from its task, want OK", method, path, params, task.Data.ExitStatus)
			}
			return
		}
		if time.Now().After(deadline) {
			w.Fatalf("%s: its task does not end", path)
		}
	}
}

// addHAGuest makes a guest that is not the agent's, and that the HA manager knows and leaves alone.
func (w *world) addHAGuest(number int) {
	w.Helper()
	vmid := haGuest(number)
	w.haGuests = append(w.haGuests, vmid)
	w.person("/nodes/pve1/qemu", fmt.Sprintf("vmid=%d&name=foreign-%d&memory=512", vmid, vmid))
	w.person("/cluster/ha/resources", fmt.Sprintf("sid=vm:%d&state=ignored", vmid))
}

// haGuest returns the vmid of the guest of an affinity rule with a number.
func haGuest(number int) int { return 20000 + number }

func (w *world) call(method, path, params string, into any) {
	w.Helper()
	resp, err := w.exchange(method, path, params)
	w.ok(err)
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	w.ok(err)
	if resp.StatusCode != http.StatusOK {
		w.Fatalf("%s %s %s: got %s %s, want 200", method, path, params, resp.Status, body)
	}
	w.ok(json.Unmarshal(body, into))
}

// exchange sends a request to the API of the simulator.
func (w *world) exchange(method, path, params string) (*http.Response, error) {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), method, w.endpoint+"/api2/json"+path, strings.NewReader(params))
	w.ok(err)
	req.Header.Set("Authorization", "PVEAPIToken="+w.token)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return w.api.Do(req)
}

// post sends a request to the control endpoint of the simulator.
func (w *world) post(path string, body any) {
	w.Helper()
	w.send("POST", path, body)
}

func (w *world) send(method, path string, body any) {
	w.Helper()
	text, err := json.Marshal(body)
	w.ok(err)
	req, err := http.NewRequestWithContext(w.Context(), method, w.control+path, bytes.NewReader(text))
	w.ok(err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	w.ok(err)
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode >= 300 {
		w.Fatalf("%s %s %s: %s", method, path, text, resp.Status)
	}
}

func (w *world) get(path string, into any) {
	w.Helper()
	resp, err := http.Get(w.control + path)
	w.ok(err)
	defer func() { _ = resp.Body.Close() }()
	w.ok(json.NewDecoder(resp.Body).Decode(into))
}

// clusterState is what the control endpoint says of the cluster.
type clusterState struct {
	Guests []struct {
		VMID       int
		Node, Name string
		Kind       string
		Running    bool
	}
	Tasks []struct {
		UPID, Type, Exit string
		VMID             int
		Active           bool
	}
	Held       []json.RawMessage
	Violations []string
}

func (w *world) state() clusterState {
	w.Helper()
	var s clusterState
	w.get("/state", &s)
	return s
}

// effects returns what happened to the guests: the count of each effect by vmid.
func (w *world) effects() map[int]map[string]int {
	w.Helper()
	var counters struct{ Effects map[int]map[string]int }
	w.get("/counters", &counters)
	return counters.Effects
}

// now returns the time of the cluster.
func (w *world) now() time.Time { return time.Now().Add(w.clock.Wall) }

// push commits the manifests.
func (w *world) push(message string) {
	w.Helper()
	w.repo.Files["cluster.yaml"] = manifest("Cluster", "home", "vmids: {from: 201, to: 999}", "guards: {maxDestroysPerDay: 1000}")
	w.repo.Files["class.yaml"] = manifest("GuestClass", "common", fmt.Sprintf("virtualMachine: {startup: {order: %d}}", 1+w.class), fmt.Sprintf("container: {startup: {order: %d}}", 1+w.class))
	for _, g := range w.guests {
		delete(w.repo.Files, g.file)
		if g.wanted {
			w.repo.Files[g.file] = g.manifest()
		}
	}
	for _, o := range w.things {
		delete(w.repo.Files, o.file())
		if o.wanted {
			w.repo.Files[o.file()] = o.manifest()
		}
	}
	w.commit(message, alice)
}

// commit commits the files of the repository, and approvals in the message, as somebody.
func (w *world) commit(message string, who sigtest.Identity) {
	w.Helper()
	spec := sigtest.CommitSpec{Tree: w.repo.Tree(), Message: message}
	if w.repo.Tip != "" {
		spec.Parents = []string{w.repo.Tip}
	}
	raw, id, err := w.sig.Commit(spec, who, sigtest.SignOptions{At: w.now()})
	w.ok(err)
	w.repo.Place(raw, id)
	w.did("pushed %.8s by %s: %s", id, who.Subject, strings.ReplaceAll(message, "\n", " "))
}

// pass lets time pass for everybody.
func (w *world) pass(d time.Duration) {
	w.Helper()
	w.did("%s pass", d)
	w.ok(w.clock.Pass(d))
	for _, a := range w.agents {
		w.ok(a.clock.Pass(d))
	}
}

// quiet reports whether the simulator holds no call and runs no task.
func (s clusterState) quiet() bool {
	return len(s.Held) == 0 && len(s.running()) == 0
}

func (s clusterState) running() []string {
	var running []string
	for _, t := range s.Tasks {
		if t.Active {
			running = append(running, t.UPID)
		}
	}
	return running
}

// abort ends a task, as a person does with one that hangs.
func (w *world) abort(upid string) {
	w.Helper()
	var ignored any
	w.call("DELETE", "/nodes/"+strings.Split(upid, ":")[1]+"/tasks/"+url.PathEscape(upid), "", &ignored)
	w.did("a person aborts %s", upid)
}

// pick returns a random guest that a function accepts, or nil. A guest has one change in a round, so that the effects of each are certain.
func (w *world) pick(accept func(*machine) bool) *machine {
	var fit []*machine
	for _, g := range w.guests {
		if g.wanted && !g.changed && accept(g) {
			fit = append(fit, g)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	g := fit[w.rng.IntN(len(fit))]
	g.changed = true
	return g
}

// compare returns the differences between the effects that must have happened and those that happened, and whether more happened
// than must.
func (w *world) compare() (differences []string, more bool) {
	w.Helper()
	w.readOrders(w.agents[0]) // before the effects: an order that was executed has all of them
	slack, differences := w.slack()
	unlike, more := w.compareThings()
	differences = append(differences, unlike...)
	want := map[int]map[string]int{}
	got := w.effects() // before the state, which then has every guest that was counted
	state := w.state()
	differences = append(differences, w.compareFirewalls(state)...)
	asked, twice := w.compareHA(state, slack)
	differences, more = append(differences, asked...), more || twice
	for _, g := range w.guests {
		var found []int
		for _, row := range state.Guests {
			if row.Name == g.name && g.vmid == 0 || row.VMID == g.vmid {
				found = append(found, row.VMID)
			}
		}
		switch {
		case len(found) > 1:
			more, differences = true, append(differences, fmt.Sprintf("%s: got the guests %v, want one", g.name, found))
		case len(found) == 1 && g.vmid == 0:
			g.vmid = found[0]
		}
		if g.wanted != (len(found) == 1) {
			differences = append(differences, fmt.Sprintf("%s: got %d guests, want it to exist: %t", g.name, len(found), g.wanted))
		}
		if g.vmid != 0 {
			want[g.vmid] = g.effects
		}
	}
	for vmid := range maps.Keys(got) {
		if want[vmid] == nil {
			want[vmid] = map[string]int{}
		}
	}
	want[105] = map[string]int{"created": 1, "snapshotted": 1, "backed-up": 1}
	for _, vmid := range w.haGuests {
		want[vmid] = map[string]int{"created": 1}
	}
	missed := w.missedSnapshots(w.agents[0])
	for _, vmid := range slices.Sorted(maps.Keys(want)) {
		ops := maps.Clone(want[vmid])
		maps.Copy(ops, got[vmid])
		for _, op := range slices.Sorted(maps.Keys(ops)) {
			least, most := want[vmid][op], want[vmid][op]+slack[vmid][op]
			if missed[vmid] && slices.Contains(scheduleEffects, op) {
				least -= keptSnapshots + 1
				if op == "snapshot-deleted" {
					most++ // a snapshot whose call has no outcome may exist, and then an older one is too many
				}
			}
			if n := got[vmid][op]; n < least || n > most {
				differences = append(differences, fmt.Sprintf("guest %d: got %s %d times, want %d to %d", vmid, op, n, least, most))
			}
			more = more || got[vmid][op] > most
		}
	}
	if len(state.Violations) != 0 {
		more, differences = true, append(differences, state.Violations...)
	}
	return differences, more
}
