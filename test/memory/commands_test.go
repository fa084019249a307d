//go:build integration

package memory

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gitops-agent/internal/gittest"
	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sigtest"
)

var alice = sigtest.Identity{Subject: "alice@example.org", Issuer: "https://accounts.test"}

// bodies are hostile HTTP replies, by name, which Proxmox or the status page of an agent would send. An endless one ends when the client closes the connection.
var bodies = map[string]func(w io.Writer, size int){
	"spaces":          func(w io.Writer, _ int) { endless(w, "{\"data\":", " ") },
	"list_of_numbers": func(w io.Writer, _ int) { endless(w, "{\"data\":[0", ",0") },
	"list_of_lists":   func(w io.Writer, _ int) { endless(w, "{\"data\":[[]", ",[]") },
	"list_of_objects": func(w io.Writer, _ int) { endless(w, "{\"data\":[{}", ",{\"vmid\":1}") },
	"depth":           func(w io.Writer, size int) { times(w, "{\"data\":", "[", size<<17) },
	"depth_of_objects": func(w io.Writer, size int) {
		times(w, "{\"data\":", "{\"a\":", size<<15)
	},
	"text":    func(w io.Writer, _ int) { endless(w, "{\"data\":\"", "{[,") },
	"members": func(w io.Writer, _ int) { endless(w, "{\"data\":{\"a\":0", ",\"a\":0") },
	"closed_lists": func(w io.Writer, size int) { // small enough to be decoded without a count
		times(w, "{\"data\":[[]", ",[]", size<<18)
		_, _ = io.WriteString(w, "]}")
	},
	"closed_objects": func(w io.Writer, size int) {
		times(w, "{\"guests\":[{}", ",{}", size*3_000)
		_, _ = io.WriteString(w, "],\"schemaVersion\":1}")
	},
	"lists_of_objects": func(w io.Writer, size int) { // as many as the limits of values allow
		times(w, "{\"guests\":[{}", `,{"conditions":[{}`+strings.Repeat(",{}", 23)+"]}", size*1200)
		_, _ = io.WriteString(w, "],\"schemaVersion\":1}")
	},
	"long_name": func(w io.Writer, size int) { // which a row of a table would keep
		times(w, `{"schemaVersion":1,"cluster":"`, "a ", size<<17)
		_, _ = io.WriteString(w, `"}`)
	},
	"long_texts": func(w io.Writer, size int) {
		const text = 500_000
		times(w, `{"schemaVersion":1,"time":"2100-01-01T00:00:00Z","source":{"branch":"`, "a ", text)
		times(w, `","error":"`, "a ", text)
		times(w, `"},"guests":[{"conditions":[{"message":"`, "a ", text)
		_, _ = io.WriteString(w, `"}]}`)
		for range size { // at most 20 MB
			times(w, `,{"name":"`, "a ", text)
			_, _ = io.WriteString(w, `"}`)
		}
		_, _ = io.WriteString(w, `]}`)
	},
}

func endless(w io.Writer, begin, part string) { times(w, begin, part, 1<<40) }

func times(w io.Writer, begin, part string, n int) {
	out := bufio.NewWriterSize(w, 64<<10)
	_, _ = out.WriteString(begin)
	for range n {
		if _, err := out.WriteString(part); err != nil {
			return
		}
	}
	_ = out.Flush()
}

// A pending is a hostile reply to the request for the configuration of a guest. The other replies are those of an honest cluster.
var pendings = map[string]func(w io.Writer, size int){
	"pending_of_braces": func(w io.Writer, size int) { // the notes of each guest
		times(w, configuration, "{", size<<14)
		_, _ = io.WriteString(w, `"}]}`)
	},
	"pending_of_large_notes": func(w io.Writer, _ int) { // as large as a reply may be
		times(w, configuration, "{[", 500<<10)
		_, _ = io.WriteString(w, `"}]}`)
	},
	"pending_of_keys": func(w io.Writer, size int) {
		_, _ = io.WriteString(w, configuration+`"}`)
		for i := range size << 14 {
			_, _ = fmt.Fprintf(w, `,{"key":"a%d","value":"b"}`, i)
		}
		_, _ = io.WriteString(w, "]}")
	},
	"pending_endless": func(w io.Writer, _ int) { endless(w, configuration, "{[") },
}

// configuration is the beginning of the reply for a guest, in its notes.
const configuration = `{"data":[{"key":"digest","value":"3d4b2a8e7c1f0d9e6b5a4c3d2e1f0a9b8c7d6e5f"},{"key":"description","value":"`

// manyGuests is a list of more guests than a cluster has.
func manyGuests(w io.Writer, path string, size int) {
	if !strings.HasSuffix(path, "/cluster/resources") {
		_, _ = io.WriteString(w, `{"data":[]}`)
		return
	}
	times(w, `{"data":[{}`, `,{"id":"qemu/100","type":"qemu","vmid":100,"node":"pve1"}`, size<<14)
	_, _ = io.WriteString(w, "]}")
}

// managed is how many guests the cluster and the manifests have.
const managed = 40

// A raw reply is written to the connection, from the status line on. It ends when the client closes the connection.
var raws = map[string]func(w io.Writer){
	"endless_headers":       func(w io.Writer) { endless(w, "HTTP/1.1 200 OK\r\n", "X-Header: of no use\r\n") },
	"endless_header":        func(w io.Writer) { endless(w, "HTTP/1.1 200 OK\r\nX-Header: ", "a ") },
	"endless_informational": func(w io.Writer) { endless(w, "", "HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n") },
	"endless_trailer": func(w io.Writer) {
		endless(w, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "X-Trailer: a\r\n")
	},
	"chunks_of_a_byte":   func(w io.Writer) { endless(w, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\n[\r\n") },
	"members_of_nothing": func(w io.Writer) { endless(w, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", emptyMember()) },
}

// emptyMember is a member of gzip without content.
func emptyMember() string {
	var member bytes.Buffer
	_ = gzip.NewWriter(&member).Close()
	return member.String()
}

func packed(w io.Writer, write func(w io.Writer)) {
	z := gzip.NewWriter(w)
	write(z)
	_ = z.Close()
}

// A stand is a server that sends a hostile reply to every request, and the files with which the commands reach it.
type stand struct {
	*testing.T
	dir, program string
	server       *httptest.Server
	shape        atomic.Pointer[string]
	arrived      chan string // paths of requests; those that are not read are dropped
	honest       []string    // beginnings of paths that the simulator answers for every shape
	commands     map[string][]string
	cluster      *pvesim.Sim
	sig          *sigtest.Sigstore
	root         string        // trusted root of sig
	files        string        // the beginning of the section proxmox of a config
	repo         *gittest.Repo // signed, with manifests
}

func newStand(t *testing.T) *stand {
	t.Helper()
	s := &stand{T: t, dir: t.TempDir(), arrived: make(chan string, 1000)}
	s.program = build(t, s.dir)
	none := ""
	s.shape.Store(&none)
	s.server = httptest.NewTLSServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.server.Close)
	ca := s.write("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.server.Certificate().Raw})))
	s.cluster = pvesim.New(pvesim.Options{})
	t.Cleanup(s.cluster.Close)
	token := s.write("token", s.cluster.Token("gitops@pve!agent")+"\n")
	address := strings.TrimPrefix(s.server.URL, "https://")
	agents := s.write("agents.yaml", fmt.Sprintf("- targets: [%q]\n  labels: {__scheme__: https}\n", address))
	var addresses []string
	for range 8 {
		server := httptest.NewTLSServer(http.HandlerFunc(s.serve))
		t.Cleanup(server.Close)
		addresses = append(addresses, strconv.Quote(strings.TrimPrefix(server.URL, "https://")))
	}
	eight := s.write("eight.yaml", fmt.Sprintf("- targets: [%s]\n  labels: {__scheme__: https}\n", strings.Join(addresses, ", ")))
	s.sig, s.root = trustedRoot(t, s.dir)
	root := s.root
	s.files = fmt.Sprintf("proxmox: {endpoints: [%q], token_file: %s, ca_file: %s", s.server.URL, token, ca)
	config := s.config("config.yaml", fileRemote, "", quiet)
	manifests := s.path("manifests")
	if err := os.Mkdir(manifests, 0o700); err != nil {
		t.Fatal(err)
	}
	s.repo = gittest.New(t)
	if err := os.Symlink(s.repo.Dir, s.path("forge.git")); err != nil {
		t.Fatal(err)
	}
	s.repo.Files["cluster.yaml"] = "apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: home}\nspec: {vmids: {from: 200, to: 299}}\n"
	var guests strings.Builder
	for vmid := range managed {
		if _, err := s.cluster.AddVM(pvesim.Guest{VMID: 200 + vmid, Config: fmt.Sprintf("name: g%d\n", 200+vmid)}); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&guests, "---\napiVersion: proxmox.gitops/v1alpha1\nkind: VirtualMachine\nmetadata: {name: g%[1]d}\nspec: {vmid: %[1]d, node: pve1}\n", 200+vmid)
	}
	s.repo.Files["guests.yaml"] = guests.String()
	for name, text := range s.repo.Files {
		s.write("manifests/"+name, text)
	}
	s.repo.Push(s.sig, alice, "begin")
	s.commands = map[string][]string{
		"status":         {"status", "--url", s.server.URL, "--ca-file", ca},
		"fleet":          {"fleet", agents, "--ca-file", ca},
		"fleet of eight": {"fleet", eight, "--ca-file", ca},
		"plan --dir":     {"plan", "--dir", manifests, "--config", config},
		"plan --ref":     {"plan", "--ref", "main", "--config", config},
		"run":            {"run", "--once", "--config", config},
		"init": {
			"init", "--yes", "--remote", "file:///remote.git", "--endpoint", address, "--ca-file", ca, "--token-file", token, "--cluster", "home", "--anchor", "tip",
			"--signer", "https://accounts.test=alice@example.org", "--trusted-root", root, "--config", s.path("new.yaml"), "--state-dir", s.path("newstate"),
		},
	}
	return s
}

// quiet is the end of a config without outlets.
const quiet = "}\nlisten: \"127.0.0.1:0\"\n"

const fileRemote = `{remotes: [{url: "file:///remote.git"}]}`

// config writes a config with a section source, further lines of the section trust, and the end of the section proxmox with what follows.
func (s *stand) config(name, source, trust, more string) string {
	s.Helper()
	return s.write(name, fmt.Sprintf(`cluster: {name: home}
source: %s
trust:
  trusted_root_file: %s
  signers: [{name: alice, issuer: "https://accounts.test", subject: alice@example.org, may: [change]}]
  binding: none
  trust_on_first_use: true
%sstate_dir: %s
%s%s
`, source, s.root, trust, s.path("state"), s.files, more))
}

func (s *stand) path(name string) string { return filepath.Join(s.dir, name) }

func (s *stand) write(name, text string) string {
	s.Helper()
	if err := os.WriteFile(s.path(name), []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
	return s.path(name)
}

func (s *stand) serve(w http.ResponseWriter, r *http.Request) {
	size := 1
	if *full {
		size = 16
	}
	s.arrive(r.URL.Path)
	name, isPacked := strings.CutSuffix(*s.shape.Load(), " packed")
	w.Header().Set("Content-Type", "application/json")
	switch {
	case isFor(r, s.honest...):
		s.cluster.ServeHTTP(w, r)
	case raws[name] != nil:
		raw(w, raws[name])
	case overHTTPS[name] != nil:
		raw(w, overHTTPS[name])
	case name == "":
		w.WriteHeader(http.StatusServiceUnavailable)
	case pendings[name] != nil && strings.HasSuffix(r.URL.Path, "/pending"):
		pendings[name](w, size)
	case pendings[name] != nil:
		s.cluster.ServeHTTP(w, r)
	case name == "guests":
		manyGuests(w, r.URL.Path, size)
	case isPacked:
		w.Header().Set("Content-Encoding", "gzip")
		packed(w, func(z io.Writer) { bodies[name](z, size) })
	default:
		bodies[name](w, size)
	}
}

// arrive notes the path of a request, unless nothing reads them.
func (s *stand) arrive(path string) {
	select {
	case s.arrived <- path:
	default:
	}
}

// pathsUntilNow returns the paths that have arrived and were not read.
func (s *stand) pathsUntilNow() []string {
	var paths []string
	for {
		select {
		case path := <-s.arrived:
			paths = append(paths, path)
		default:
			return paths
		}
	}
}

func isFor(r *http.Request, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(r.URL.Path, prefix) })
}

// raw writes a reply to the connection of a request.
func raw(w http.ResponseWriter, write func(io.Writer)) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	write(conn)
	_ = conn.Close()
}

// compare runs a command against shapes, and compares what it takes with what it takes without them.
func (s *stand) compare(command string, shapes []string, choose func(shape string) (git string)) {
	s.Helper()
	s.shape.Store(new(string))
	idle, _, _ := s.measure(command, "honest")
	for _, shape := range shapes {
		s.pathsUntilNow()
		used, took, out := s.measure(command, choose(shape))
		if isPending := func(path string) bool { return strings.HasSuffix(path, "/pending") }; pendings[shape] != nil && command != "init" && !slices.ContainsFunc(s.pathsUntilNow(), isPending) {
			s.Errorf("%s, %s: the configuration of no guest was requested:\n%.2000s", command, shape, out)
		}
		s.judge(command, shape, idle, used, took, outcome(out))
	}
}

// judge prints what a command took, and compares it with the goal.
func (s *stand) judge(command, shape string, idle, used int64, took time.Duration, outcome string) {
	s.Helper()
	most := int64(mostLoweredBytes)
	if *full || strings.HasPrefix(command, "plan ") { // which keeps more garbage, and whose limits of manifests are not lowered
		most = mostMemory
	}
	s.Logf("memory: %-10s %-22s %4d MiB above %d MiB, %5.1f s of processor time: %.160q", command, shape, max(used-idle, 0)>>20, idle>>20, took.Seconds(), outcome)
	if used-idle > most || took > mostTime {
		s.Errorf("%s, %s: got %d MiB and %s, want at most %d MiB and %s", command, shape, (used-idle)>>20, took, most>>20, mostTime)
	}
}

// TestHostileHTTP sends each reply to the commands that read replies: from Proxmox, and from an agent.
func TestHostileHTTP(t *testing.T) {
	s := newStand(t)
	names := slices.Sorted(maps.Keys(bodies))
	for _, name := range names[:4] {
		names = append(names, name+" packed")
	}
	names = append(names, slices.Sorted(maps.Keys(raws))...)
	send := func(shape string) string {
		s.shape.Store(&shape)
		return "signed"
	}
	for _, command := range []string{"status", "fleet", "fleet of eight"} {
		s.compare(command, names, send)
	}
	for _, command := range []string{"plan --dir", "run", "init"} {
		s.compare(command, append(slices.Sorted(maps.Keys(pendings)), append(names, "guests")...), send)
	}
}

// TestHostileRepliesToCommands sends replies of a git server to the other commands that fetch. TestHostileReplies sends all of them to verify.
func TestHostileRepliesToCommands(t *testing.T) {
	s := newStand(t)
	fresh := func(shape string) string {
		if err := os.RemoveAll(s.path("state")); err != nil {
			t.Fatal(err)
		}
		return shape
	}
	names := []string{"blob_of_zeros", "branching_chain", "commit_of_zeros", "endless_refs", "large_chain", "many_objects", "tree_of_many_entries", "tree_of_random_links", "wide_deltas"}
	for _, command := range []string{"run", "init"} {
		s.compare(command, names, fresh)
	}
	s.compare("plan --ref", []string{"blob_of_zeros", "commit_of_zeros", "tree_of_many_entries"}, func(shape string) string { // it reads what run has fetched
		s.measure("run", fresh(shape))
		return shape
	})
}

// measure runs a command, and returns its most resident memory, its processor time and what it printed.
func (s *stand) measure(command, git string) (int64, time.Duration, string) {
	s.Helper()
	if *full {
		git += " full"
	}
	ctx, cancel := context.WithTimeout(s.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.program, s.commands[command]...)
	cmd.Env = []string{"PATH=" + s.dir, "TMPDIR=" + s.TempDir(), "HOME=" + s.dir, shapeVariable + "=" + git}
	forgetPeak(s.T)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		s.Fatal(err)
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok || cmd.ProcessState.ExitCode() < 0 {
		s.Fatalf("%s: got %v, want the agent to end by itself:\n%.2000s", command, cmd.ProcessState, out)
	}
	return usage.Maxrss << 10, time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), string(out)
}
