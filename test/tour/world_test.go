//go:build integration

package tour

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/gittest"
	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sigtest"
)

// The names and values of the examples in the manual, which the world makes true.
const (
	secret     = "00000000-0000-4000-8000-000000000000"
	repository = "example/homelab.git" // at github.com
)

var alice = sigtest.Identity{Subject: "alice@example.org", Issuer: "https://github.com/login/oauth"}

// hosts are the addresses of the names on loopback.
const hosts = "127.0.0.1 localhost\n127.0.0.2 pve1.lan\n127.0.0.3 pve2.lan\n127.0.0.4 github.com\n"

// world is what the agent's host reaches: the nodes of a cluster, and a forge with a repository.
type world struct {
	testing.TB
	sim  *pvesim.Sim
	cert *pvesim.Certificate // of the nodes and of the forge
	sig  *sigtest.Sigstore
	repo *gittest.Repo
}

func newWorld(t testing.TB) *world {
	t.Helper()
	tokens := pvesim.DefaultTokens()
	for i := range tokens {
		if tokens[i].ID == "gitops@pve!agent" {
			tokens[i].Secret = secret
		}
	}
	w := &world{TB: t, sim: pvesim.New(pvesim.Options{Nodes: []string{"pve1", "pve2"}, Tokens: tokens}), repo: gittest.New(t)}
	t.Cleanup(w.sim.Close)
	var err error
	w.cert, err = pvesim.NewCertificate("pve1.lan", "pve2.lan", "github.com")
	must(t, err)
	w.sig, err = sigtest.New(sigtest.Options{Name: "tour"})
	must(t, err)
	for _, node := range []string{"127.0.0.2:8006", "127.0.0.3:8006"} {
		w.startNode(node)
	}
	w.startForge("127.0.0.4:443")
	w.repo.Files["README.md"] = "My homelab\n"
	w.repo.Tip = w.pushUnsigned("the first commit")
	return w
}

func (w *world) startNode(address string) {
	w.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	must(w, err)
	ended := make(chan struct{})
	go func() {
		_ = w.sim.Serve(ctx, l, w.cert.Config) // its error is that it was stopped
		close(ended)
	}()
	w.Cleanup(func() { cancel(); <-ended })
}

// startForge serves the repository over https.
func (w *world) startForge(address string) {
	w.Helper()
	folder, err := exec.Command("git", "--exec-path").Output()
	must(w, err)
	projects := w.TempDir()
	must(w, os.MkdirAll(filepath.Dir(filepath.Join(projects, repository)), 0o755))
	must(w, os.Symlink(w.repo.Dir, filepath.Join(projects, repository)))
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(folder)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + projects, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull},
	}}
	l, err := tls.Listen("tcp", address, w.cert.Config)
	must(w, err)
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			w.Error(err)
		}
	}()
	w.Cleanup(func() { _ = server.Close() })
}

// push pushes the files of the repository as alice.
func (w *world) push(message string) {
	w.Helper()
	w.repo.Push(w.sig, alice, message)
}

// pushUnsigned pushes the files of the repository without a signature, and returns the commit. The next commit of push does not descend from it.
func (w *world) pushUnsigned(message string) string {
	w.Helper()
	args := []string{"-c", "user.name=bob", "-c", "user.email=bob@example.org", "commit-tree", "-m", message, w.repo.Tree()}
	if w.repo.Tip != "" {
		args = append(args, "-p", w.repo.Tip)
	}
	id := strings.TrimSpace(w.repo.Git(nil, args...))
	w.repo.SetMain(id)
	return id
}
