package main

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gitops-agent/reconcile/reason"
)

// sourceCase is a fault of the remote, with the remedy that status prints for it and what carries it out.
type sourceCase struct {
	remedy reason.Remedy
	edits  []edit // of the agent's config
}

// sourceCases are the faults of one remote, in the order in which they come up while each is repaired. The last one begins with a remote that takes longer than the timeout.
func sourceCases(url, ca, token string) []sourceCase {
	return []sourceCase{
		{reason.CheckHostKey, []edit{{"source.remotes", fmt.Sprintf("[{url: %q, ca_file: %q}]", url, ca)}}},
		{reason.CheckCredentials, []edit{{"source.remotes", fmt.Sprintf("[{url: %q, ca_file: %q, username: agent, token_file: %q}]", url, ca, token)}}},
		{reason.CheckBranch, []edit{{"source.branch", "main"}, {"source.timeout", "1s"}}},
		{reason.CheckLatency, []edit{{"source.timeout", "2m"}}},
	}
}

// TestRemediesOfTheSource carries out what helps a remote that cannot be fetched.
func TestRemediesOfTheSource(t *testing.T) {
	t.Parallel()
	w := newCureWorld(t, nil)
	folder, err := exec.CommandContext(t.Context(), "git", "--exec-path").Output()
	w.ok(err)
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(folder)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + w.dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1"},
	}
	var slow atomic.Bool
	server := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "right" {
			http.Error(rw, "who are you?", http.StatusUnauthorized)
			return
		}
		if slow.Load() {
			select {
			case <-time.After(1500 * time.Millisecond): // more than the short timeout, and less than the long one
			case <-r.Context().Done():
				return
			}
		}
		backend.ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close)
	w.ok(w.write("forge.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))))
	w.ok(w.write("forge-token", "right\n"))
	head := w.push("manifests")
	url := server.URL + "/forge.git"
	w.editConfig("source.remotes", fmt.Sprintf("[{url: %q}]", url))
	w.editConfig("source.branch", "trunk")
	defer func() {
		if w.stopped != nil {
			w.stopped()
		}
	}()
	for _, c := range sourceCases(url, w.path("forge.pem"), w.path("forge-token")) {
		slow.Store(c.remedy.Text == reason.CheckLatency.Text)
		w.start()
		w.awaitStatus(c.remedy.Text)
		w.stopped()
		for _, e := range c.edits {
			w.editConfig(e.field, e.value)
		}
	}
	w.start()
	w.awaitStatus("")
	if r := w.report(); r.Source.Accepted == nil || r.Source.Accepted.Commit != head || r.Source.Error != "" {
		t.Errorf("got the source %+v, want %s in force", r.Source, head)
	}
}

// awaitStatus waits until gitops-agent status prints the remedy of the source; with "" until a revision is in force.
func (w *cureWorld) awaitStatus(remedy string) {
	w.Helper()
	var out bytes.Buffer
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if remedy == "" {
			if w.report().Source.Accepted != nil {
				return
			}
			continue
		}
		out.Reset()
		(&program{out: &out, err: &out, claimWait: claimWait}).run(w.Context(), []string{"--config", w.path("config.yaml"), "status", "--url", w.address})
		if strings.Contains(strings.Join(strings.Fields(out.String()), " "), remedy) {
			return
		}
	}
	w.Fatalf("got the status\n%s, want the remedy %q", out.String(), remedy)
}
