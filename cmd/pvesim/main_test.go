package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// running is a pvesim command that runs in the test process.
type running struct {
	t                   *testing.T
	api, control, token string
	client              *http.Client
}

// start runs the command on free ports and waits for its address file.
func start(t *testing.T, args ...string) *running {
	t.Helper()
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	args = append([]string{
		"--listen", "127.0.0.1:0", "--token-out", file("token"), "--cert-out", file("cert"), "--addr-out", file("addr"), "--control-out", file("control"),
	}, args...)
	ctx, cancel := context.WithCancel(context.Background())
	var out bytes.Buffer
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, args, &out, io.Discard) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("stop: got %v, want no error", err)
		}
		if !strings.Contains(out.String(), "fingerprint: ") && !strings.Contains(out.String(), "http://") {
			t.Errorf("output: got %q, want address and fingerprint", out.String())
		}
	})
	for {
		if _, err := os.Stat(file("addr")); err == nil {
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("run: got %v, want it to serve", err)
		case <-time.After(time.Millisecond):
		}
	}
	read := func(name string) string {
		b, err := os.ReadFile(file(name))
		if err != nil && name != "cert" {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(b))
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(read("cert")))
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	t.Cleanup(tr.CloseIdleConnections)
	return &running{t: t, api: read("addr"), control: read("control"), token: read("token"), client: &http.Client{Transport: tr}}
}

func (r *running) do(method, url, body, contentType string) (status string, text string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "PVEAPIToken="+r.token)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return "error", err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.Status, string(b)
}

func (r *running) get(path string) (status, text string) {
	r.t.Helper()
	return r.do(http.MethodGet, r.api+"/api2/json"+path, "", "")
}

func (r *running) post(path, body string) {
	r.t.Helper()
	if status, text := r.do(http.MethodPost, r.control+path, body, "application/json"); status != "204 No Content" {
		r.t.Fatalf("POST %s: got %s %s, want 204", path, status, text)
	}
}

func TestServesOverTLS(t *testing.T) {
	r := start(t, "--guests", "8", "--seed", "7")
	status, body := r.get("/cluster/resources?type=vm")
	if status != "200 OK" || strings.Count(body, `"vmid"`) != 9 {
		t.Errorf("resources: got %s with %d guests, want 200 with 9", status, strings.Count(body, `"vmid"`))
	}
	status, _ = r.get("/nodes/pve1/qemu/555/config")
	if want := "500 Configuration file 'nodes/pve1/qemu-server/555.conf' does not exist"; status != want {
		t.Errorf("missing guest: got %q, want %q", status, want)
	}
}

func TestControl(t *testing.T) {
	r := start(t, "--http", "--guests", "2", "--task-time", "0s")
	r.post("/edit", `{"vmid":1000,"key":"memory","value":"777"}`)
	if _, text := r.do(http.MethodGet, r.control+"/config/1000", "", ""); !strings.Contains(text, "memory: 777\n") {
		t.Errorf("config after edit: got %q, want memory 777", text)
	}
	r.post("/faults", `{"kind":"hold-before","method":"PUT","path":"/config$","vmid":1000}`)
	replied := make(chan string, 1)
	go func() {
		status, _ := r.do(http.MethodPut, r.api+"/api2/json/nodes/pve1/qemu/1000/config", "onboot=0", "application/x-www-form-urlencoded")
		replied <- status
	}()
	if status, text := r.do(http.MethodGet, r.control+"/held?n=1&timeout=20s", "", ""); !strings.HasPrefix(status, "200") {
		t.Fatalf("held: got %s %s, want 200", status, text)
	}
	if _, text := r.do(http.MethodGet, r.control+"/config/1000", "", ""); strings.Contains(text, "onboot: 0\n") {
		t.Errorf("config of a held call: got it changed, want it as before")
	}
	r.post("/release", "")
	if got := <-replied; got != "200 OK" {
		t.Errorf("released call: got %s, want 200 OK", got)
	}
	r.post("/faults", `{"kind":"error-text","writes":true}`)
	if status, _ := r.do(http.MethodDelete, r.control+"/faults", "", ""); !strings.HasPrefix(status, "204") {
		t.Errorf("DELETE /faults: got %s, want 204", status)
	}
	if status, text := r.do(http.MethodPut, r.api+"/api2/json/nodes/pve1/qemu/1001/config", "onboot=0", "application/x-www-form-urlencoded"); status != "200 OK" {
		t.Errorf("write after the faults were removed: got %s %s, want 200 OK", status, text)
	}
	_, text := r.do(http.MethodGet, r.control+"/counters", "", "")
	var counters struct{ Effects map[string]map[string]int }
	if err := json.Unmarshal([]byte(text), &counters); err != nil {
		t.Fatal(err)
	}
	if got := counters.Effects["1000"]["config-written"]; got != 1 {
		t.Errorf("config-written: got %d, want 1", got)
	}
}

func TestControlOutages(t *testing.T) {
	r := start(t, "--http", "--guests", "4", "--nodes", "pve1,pve2", "--task-time", "0s", "--latency", "recorded", "--pve-version", "8.4.14")
	const path = "/nodes/pve1/qemu/1000/config"
	if _, body := r.get("/version"); !strings.Contains(body, `"release":"8.4"`) {
		t.Errorf("version: got %s, want 8.4", body)
	}
	for what, tt := range map[string]struct{ endpoint, on, off, status string }{
		"node":       {"/nodes/pve1", `{"state":"stopped"}`, `{"state":"started"}`, "595 No route to host"},
		"quorum":     {"/quorum", `{"quorate":false}`, `{"quorate":true}`, "500 unable to open file"},
		"storage":    {"/storages/local-lvm", `{"full":true}`, `{"full":false}`, "500 lvcreate 'pve/"},
		"privileges": {"/privileges", `{"id":"gitops@pve!agent","path":"/"}`, `{"id":"gitops@pve!agent","path":"/","role":"Administrator"}`, "403 Permission check failed"},
	} {
		write := func() string {
			status, _ := r.do(http.MethodPut, r.api+"/api2/json"+path, "scsi5=local-lvm:1", "application/x-www-form-urlencoded")
			return status
		}
		r.post(tt.endpoint, tt.on)
		if status := write(); !strings.HasPrefix(status, tt.status) {
			t.Errorf("%s: got %s, want %s", what, status, tt.status)
		}
		r.post(tt.endpoint, tt.off)
		if status := write(); status != "200 OK" {
			t.Errorf("%s over: got %s, want 200 OK", what, status)
		}
	}
	r.post("/announce", `{"volume":"local-lvm:vm-1000-disk-9","vmid":1001,"marker":"x"}`)
	if status, body := r.do(http.MethodPut, r.api+"/api2/json"+path, "delete=scsi5&force=1", "application/x-www-form-urlencoded"); status != "200 OK" {
		t.Fatalf("delete: got %s %s, want 200", status, body)
	}
	if _, text := r.do(http.MethodGet, r.control+"/state", "", ""); !strings.Contains(text, "which was not announced") {
		t.Errorf("state: got %s, want a violation", text)
	}
	r.post("/nodes/pve2", `{"state":"rebooted","takes":"1h"}`)
	if status, _ := r.get("/nodes/pve2/qemu"); status != "595 No route to host" {
		t.Errorf("rebooting node: got %s, want 595", status)
	}
	r.post("/upgrade", `{"version":"9.2.11","migrate":true}`)
	if _, body := r.get("/version"); !strings.Contains(body, `"release":"9.2"`) {
		t.Errorf("version after the upgrade: got %s, want 9.2", body)
	}
	for endpoint, body := range map[string]string{"/nodes/pve1": `{"state":"x"}`, "/nodes/pve2": `{"state":"rebooted","takes":"soon"}`} {
		if status, _ := r.do(http.MethodPost, r.control+endpoint, body, "application/json"); status != "400 Bad Request" {
			t.Errorf("%s %s: got %s, want 400", endpoint, body, status)
		}
	}
}

// TestControlPublishes lets a node download a file that was published.
func TestControlPublishes(t *testing.T) {
	r := start(t, "--http", "--task-time", "0s", "--token", "root@pam!full")
	const sum = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0bc822cd15d6c15b0f00a0"
	r.post("/web", `{"url":"https://images.test/a.qcow2","size":1048576,"checksums":{"sha256":"`+sum+`"},"format":"qcow2","virtual_size":1073741824}`)
	params := "content=import&filename=a.qcow2&url=https://images.test/a.qcow2&checksum-algorithm=sha256&checksum=" + sum
	if status, body := r.do(http.MethodPost, r.api+"/api2/json/nodes/pve1/storage/local/download-url", params, "application/x-www-form-urlencoded"); status != "200 OK" {
		t.Fatalf("download: got %s %s, want 200", status, body)
	}
	const want = `"/storage/local:import/a.qcow2": {`
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		_, text := r.do(http.MethodGet, r.control+"/counters", "", "")
		if strings.Contains(text, want) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("counters: got %s, want %s", text, want)
		}
	}
	if _, text := r.do(http.MethodGet, r.control+"/state", "", ""); !strings.Contains(text, `"local:import/a.qcow2"`) {
		t.Errorf("state: got %s, want the file", text)
	}
}

func TestControlRejects(t *testing.T) {
	r := start(t)
	for body, want := range map[string]string{
		`{"kind":"nonsense"}`:                "400 Bad Request",
		`{"kind":"latency","delay":"soon"}`:  "400 Bad Request",
		`{"kind":"latency","unknown":true}`:  "400 Bad Request",
		`{"kind":"drop-after","path":"(("}`:  "400 Bad Request",
		`{"kind":"latency","delay":"100ms"}`: "204 No Content",
	} {
		if got, _ := r.do(http.MethodPost, r.control+"/faults", body, "application/json"); got != want {
			t.Errorf("fault %s: got %s, want %s", body, got, want)
		}
	}
	if got, _ := r.do(http.MethodGet, r.control+"/config/123", "", ""); got != "404 Not Found" {
		t.Errorf("config of a missing guest: got %s, want 404", got)
	}
}

func TestFlags(t *testing.T) {
	var errOut bytes.Buffer
	if err := run(t.Context(), []string{"--help"}, io.Discard, &errOut); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("help: got %v, want ErrHelp", err)
	}
	if !strings.Contains(errOut.String(), "POST /faults") || !strings.Contains(errOut.String(), "-seed") {
		t.Errorf("help text: got %q, want the control endpoint and the flags", errOut.String())
	}
	for _, args := range [][]string{{"--nonsense"}, {"extra"}, {"--latency", "slow"}} {
		if err := run(t.Context(), args, io.Discard, io.Discard); !errors.Is(err, errUsage) {
			t.Errorf("run %v: got %v, want errUsage", args, err)
		}
	}
}
