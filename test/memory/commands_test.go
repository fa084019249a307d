//go:build integration

package memory

import (
	"bufio"
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
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

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
		times(w, "{\"guests\":[{}", ",{}", size<<18)
		_, _ = io.WriteString(w, "],\"schemaVersion\":1}")
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

// fromProxmox are replies that depend on what was asked. The other ones are the same for each path.
var fromProxmox = map[string]func(w io.Writer, path string, size int){
	"pending_of_braces": func(w io.Writer, path string, size int) { // the notes of each guest
		guest(w, path, func() {
			times(w, `{"data":[{"key":"description","value":"`, "{", size<<14)
			_, _ = io.WriteString(w, `"}]}`)
		})
	},
	"pending_of_keys": func(w io.Writer, path string, size int) {
		guest(w, path, func() {
			times(w, `{"data":[{}`, `,{"key":"a","value":"b"}`, size<<14)
			_, _ = io.WriteString(w, "]}")
		})
	},
	"pending_endless": func(w io.Writer, path string, _ int) {
		guest(w, path, func() { endless(w, `{"data":[{"key":"description","value":"`, "{[") })
	},
	"guests": func(w io.Writer, path string, size int) { // more than a cluster has
		if !strings.HasSuffix(path, "/cluster/resources") {
			_, _ = io.WriteString(w, `{"data":[]}`)
			return
		}
		times(w, `{"data":[{}`, `,{"id":"qemu/100","type":"qemu","vmid":100,"node":"pve1"}`, size<<14)
		_, _ = io.WriteString(w, "]}")
	},
}

// managed is how many guests the cluster and the manifests have.
const managed = 40

// guest answers for a cluster with guests, and calls pending for the configuration of one.
func guest(w io.Writer, path string, pending func()) {
	switch {
	case strings.HasSuffix(path, "/pending"):
		pending()
	case strings.HasSuffix(path, "/cluster/resources"):
		_, _ = io.WriteString(w, `{"data":[{"id":"node/pve1","type":"node","node":"pve1","status":"online"}`)
		for vmid := range managed {
			_, _ = fmt.Fprintf(w, `,{"id":"qemu/%[1]d","type":"qemu","vmid":%[1]d,"node":"pve1","status":"stopped","name":"g%[1]d"}`, 200+vmid)
		}
		_, _ = io.WriteString(w, "]}")
	case strings.HasSuffix(path, "/version"):
		_, _ = io.WriteString(w, `{"data":{"version":"9.0.3","release":"9.0","repoid":"x"}}`)
	default:
		_, _ = io.WriteString(w, `{"data":[]}`)
	}
}

// A stand is a server that sends a hostile reply to every request, and the files with which the commands reach it.
type stand struct {
	*testing.T
	dir, program string
	server       *httptest.Server
	shape        atomic.Pointer[string]
	commands     map[string][]string
}

func newStand(t *testing.T) *stand {
	t.Helper()
	s := &stand{T: t, dir: t.TempDir()}
	s.program = build(t, s.dir)
	none := ""
	s.shape.Store(&none)
	s.server = httptest.NewTLSServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.server.Close)
	ca := s.write("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.server.Certificate().Raw})))
	token := s.write("token", "gitops@pve!agent=00000000-0000-0000-0000-000000000000\n")
	address := strings.TrimPrefix(s.server.URL, "https://")
	agents := s.write("agents.yaml", fmt.Sprintf("- targets: [%q]\n  labels: {__scheme__: https}\n", address))
	root := trustedRoot(t, s.dir)
	config := s.write("config.yaml", fmt.Sprintf(`cluster: {name: home}
source: {remotes: [{url: "file:///remote.git"}]}
trust:
  trusted_root_file: %s
  signers: [{name: alice, issuer: "https://accounts.test", subject: alice@example.org, may: [change]}]
  binding: none
  trust_on_first_use: true
proxmox: {endpoints: [%q], token_file: %s, ca_file: %s}
state_dir: %s
listen: "127.0.0.1:0"
`, root, s.server.URL, token, ca, s.path("state")))
	manifests := s.path("manifests")
	if err := os.Mkdir(manifests, 0o700); err != nil {
		t.Fatal(err)
	}
	s.write("manifests/cluster.yaml", "apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: home}\nspec: {vmids: {from: 200, to: 299}}\n")
	var guests strings.Builder
	for vmid := range managed {
		fmt.Fprintf(&guests, "---\napiVersion: proxmox.gitops/v1alpha1\nkind: VirtualMachine\nmetadata: {name: g%[1]d}\nspec: {vmid: %[1]d, node: pve1}\n", 200+vmid)
	}
	s.write("manifests/guests.yaml", guests.String())
	s.commands = map[string][]string{
		"status":     {"status", "--url", s.server.URL, "--ca-file", ca},
		"fleet":      {"fleet", agents, "--ca-file", ca},
		"plan --dir": {"plan", "--dir", manifests, "--config", config},
		"plan --ref": {"plan", "--ref", "main", "--config", config},
		"run":        {"run", "--once", "--config", config},
		"init": {
			"init", "--yes", "--remote", "file:///remote.git", "--endpoint", address, "--ca-file", ca, "--token-file", token, "--cluster", "home", "--anchor", "tip",
			"--signer", "https://accounts.test=alice@example.org", "--trusted-root", root, "--config", s.path("new.yaml"), "--state-dir", s.path("newstate"),
		},
	}
	return s
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
	name, packed := strings.CutSuffix(*s.shape.Load(), " packed")
	w.Header().Set("Content-Type", "application/json")
	switch {
	case name == "":
		w.WriteHeader(http.StatusServiceUnavailable)
	case fromProxmox[name] != nil:
		fromProxmox[name](w, r.URL.Path, size)
	case packed:
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		bodies[name](z, size)
		_ = z.Close()
	default:
		bodies[name](w, size)
	}
}

// compare runs a command against shapes, and compares what it takes with what it takes without them.
func (s *stand) compare(command string, shapes []string, choose func(shape string) (git string)) {
	s.Helper()
	most := int64(mostLoweredBytes)
	if *full {
		most = mostMemory
	}
	s.shape.Store(new(string))
	idle, _, _ := s.measure(command, "honest")
	for _, shape := range shapes {
		used, took, out := s.measure(command, choose(shape))
		s.Logf("memory: %-10s %-22s %4d MiB above %d MiB, %5.1f s of processor time: %.160q", command, shape, max(used-idle, 0)>>20, idle>>20, took.Seconds(), outcome(out))
		if used-idle > most || took > mostTime {
			s.Errorf("%s, %s: got %d MiB and %s, want at most %d MiB and %s", command, shape, (used-idle)>>20, took, most>>20, mostTime)
		}
	}
}

// TestHostileHTTP sends each reply to the commands that read replies: from Proxmox, and from an agent.
func TestHostileHTTP(t *testing.T) {
	s := newStand(t)
	names := slices.Sorted(maps.Keys(bodies))
	for _, name := range names[:4] {
		names = append(names, name+" packed")
	}
	send := func(shape string) string {
		s.shape.Store(&shape)
		return "honest"
	}
	for _, command := range []string{"status", "fleet"} {
		s.compare(command, names, send)
	}
	for _, command := range []string{"plan --dir", "run", "init"} {
		s.compare(command, append(slices.Sorted(maps.Keys(fromProxmox)), names...), send)
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
