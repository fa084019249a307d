//go:build integration

package memory

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gitops-agent/internal/sigtest"
	"gitops-agent/internal/tuftest"
)

// outlets are the beginnings of the paths to which an agent with all outlets sends requests.
var outlets = []string{"/forge/", "/hook", "/ntfy", "/generic", "/collector", "/tuf/", "smtp"}

// outlet configures all outlets. Their servers are those of the stand.
func (s *stand) outlet() (config string) {
	s.Helper()
	plain := httptest.NewServer(http.HandlerFunc(s.serve))
	s.Cleanup(plain.Close)
	ca, secret := s.path("ca.pem"), s.write("secret", "a-secret\n")
	mirror := tuftest.New(s.T)
	root := s.write("tuf-root.json", string(mirror.Get("/1.root.json")))
	mail := s.serveMail()
	chat := s.write("chat", "generic://"+strings.TrimPrefix(plain.URL, "http://")+"/generic?disabletls=yes\n")
	trust := fmt.Sprintf("  tuf: {url: %q, root_file: %s}\n  rekor_url: %q\n  rekor_ca_file: %s\n", plain.URL+"/tuf", root, s.server.URL+"/rekor", ca)
	return s.config("outlets.yaml", `{poll: 1s, remotes: [{url: "file:///remote.git"}]}`, trust, fmt.Sprintf(`, tick: 1s, resync: 1s}
listen: "127.0.0.1:0"
commit_status: {forge: gitea, token_file: %[1]s, api: %[2]s/forge, repository: a/b, ca_file: %[3]s}
notifications:
  receivers:
    - {name: hook, type: webhook, url: %[2]s/hook, ca_file: %[3]s}
    - {name: ntfy, type: ntfy, url: %[2]s/ntfy, ca_file: %[3]s}
    - {name: chat, type: shoutrrr, url_file: %[4]s}
    - {name: mail, type: email, email: {address: "%[5]s", tls: none, from: a@example.org, to: [b@example.org]}}
  routes:
    - {receiver: hook, events: ["*"], group_wait: 100ms}
    - {receiver: ntfy, events: ["*"], group_wait: 100ms}
    - {receiver: chat, events: ["*"], group_wait: 100ms}
    - {receiver: mail, events: ["*"], group_wait: 100ms}
traces: {endpoint: %[2]s/collector, ca_file: %[3]s}
`, secret, s.server.URL, ca, chat, mail))
}

// serveMail serves mail whose greeting is a line without an end, and returns its address.
func (s *stand) serveMail() string {
	s.Helper()
	l, err := (&net.ListenConfig{}).Listen(s.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				s.arrive("smtp")
				endless(conn, "220 ", "welcome ")
				_ = conn.Close()
			}()
		}
	}()
	return l.Addr().String()
}

// TestHostileOutlets runs the agent with all outlets. Each of their servers sends the same reply, until the agent has asked each of them.
func TestHostileOutlets(t *testing.T) {
	s := newStand(t)
	s.honest = []string{"/api2/json/"}
	config := s.outlet()
	idle, _, _ := s.measure("run", "signed")
	shapes := []string{"closed_lists", "depth", "text", "text packed", "chunks_of_a_byte", "endless_headers", "members_of_nothing"}
	for i, shape := range shapes {
		s.repo.Push(s.sig, alice, fmt.Sprintf("change %d", i)) // which a trace is about
		s.shape.Store(&shape)
		s.runUntil("outlets", idle, shape, config, "signed", all(outlets...))
	}
	s.repo.PushOnline(s.sig, alice, "in the online mode", sigtest.SignOptions{})
	for _, shape := range shapes {
		s.shape.Store(&shape)
		s.runUntil("rekor", idle, shape, config, "signed", all("/rekor/"))
	}
}

// all returns a function that reports whether a request to each of the paths has arrived, by their beginnings.
func all(prefixes ...string) func(path string) bool {
	left := slices.Clone(prefixes)
	return func(path string) bool {
		left = slices.DeleteFunc(left, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
		return len(left) == 0
	}
}

// runUntil runs the agent until a request is the last one that it waits for, stops it, and compares what it took with what a run without hostile replies takes.
func (s *stand) runUntil(name string, idle int64, shape, config, git string, isLast func(path string) bool) {
	s.Helper()
	s.pathsUntilNow()
	log := s.path("log")
	out, err := os.Create(log)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	if *full {
		git += " full"
	}
	cmd := exec.CommandContext(s.Context(), s.program, "run", "--config", config)
	cmd.Env = []string{"PATH=" + s.dir, "TMPDIR=" + s.TempDir(), "HOME=" + s.dir, shapeVariable + "=" + git}
	cmd.Stdout, cmd.Stderr = out, out
	forgetPeak(s.T)
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	limit := time.NewTimer(10 * time.Minute) // of a test that hangs
	defer limit.Stop()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	seen := map[string]bool{}
	for isDone := false; !isDone; {
		select {
		case path := <-s.arrived:
			seen[path] = true
			isDone = isLast(path)
		case err := <-ended:
			text, _ := os.ReadFile(log)
			s.Fatalf("%s, %s: the agent ended by itself: %v\n%.4000s", name, shape, err, text)
		case <-limit.C:
			_ = cmd.Process.Kill()
			text, _ := os.ReadFile(log)
			s.Fatalf("%s, %s: the agent has not sent what the test waits for, only %v\n%s", name, shape, seen, text[max(0, len(text)-4000):])
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.Fatal(err)
	}
	if err := <-ended; err != nil {
		text, _ := os.ReadFile(log)
		s.Fatalf("%s, %s: got %v when it was stopped, want no error:\n%s", name, shape, err, text[max(0, len(text)-4000):])
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		s.Fatal("no usage")
	}
	s.judge(name, shape, idle, usage.Maxrss<<10, time.Duration(usage.Utime.Nano()+usage.Stime.Nano()), strconv.Itoa(len(seen))+" paths")
}
