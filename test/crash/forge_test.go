//go:build integration

package crash

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// forge serves the repository with TLS, like a forge, and may hang: it accepts requests and does not answer them.
type forge struct {
	server *httptest.Server
	caFile string

	mu    sync.Mutex
	hangs chan struct{} // closed when the forge answers again; nil while it does
}

// newForge starts a forge that answers.
func (w *world) newForge() *forge {
	w.Helper()
	folder, err := exec.Command("git", "--exec-path").Output()
	w.ok(err)
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(folder)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + filepath.Dir(w.repo.Dir), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull},
	}
	f := &forge{}
	f.server = httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		hangs := f.hangs
		f.mu.Unlock()
		if hangs != nil {
			select {
			case <-hangs:
			case <-r.Context().Done():
				return
			}
		}
		backend.ServeHTTP(rw, r)
	}))
	w.Cleanup(f.server.Close)
	w.Cleanup(func() { f.hang(false) })
	w.write("forge.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.server.Certificate().Raw})))
	f.caFile = w.path("forge.pem")
	return f
}

// hang lets the forge hang, or answer everything again.
func (f *forge) hang(hangs bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case hangs && f.hangs == nil:
		f.hangs = make(chan struct{})
	case !hangs && f.hangs != nil:
		close(f.hangs)
		f.hangs = nil
	}
}

// remotes returns the remotes of an agent's config: a folder, a forge, or a forge and then a folder.
func (w *world) remotes() string {
	folder := fmt.Sprintf(`{url: "file://%s"}`, w.repo.Dir)
	if w.forge == nil {
		return folder
	}
	remote := fmt.Sprintf(`{url: "%s/%s", ca_file: %s}`, w.forge.server.URL, filepath.Base(w.repo.Dir), w.forge.caFile)
	if w.seed%4 == 1 {
		remote += ", " + folder
	}
	return remote
}
