//go:build integration

package observability

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/loopback"
	"gitops-agent/internal/promtest"
)

// prometheus is the Debian program, with the scaled rules, one target for each agent, and the pager in place of an Alertmanager.
type prometheus struct {
	testing.TB
	promtest.Client
	targets string // folder of files, one for each target
	began   time.Time
	log     string // file
}

const prometheusConfig = `
global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
rule_files: [rules/*.yaml]
alerting:
  alertmanagers: [{api_version: v2, static_configs: [{targets: [%q]}]}]
scrape_configs:
  - job_name: gitops-agent
    file_sd_configs: [{files: [targets/*.json], refresh_interval: 2s}]
`

// startPrometheus starts it and waits until it serves.
func startPrometheus(t testing.TB, files map[string]promtest.RuleFile, pager string) *prometheus {
	t.Helper()
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Fatalf("%v: apt-get install prometheus", err)
	}
	dir := t.TempDir()
	address := freeAddress(t)
	p := &prometheus{TB: t, Client: promtest.Client{URL: "http://" + address}, targets: filepath.Join(dir, "targets"), began: time.Now(), log: filepath.Join(dir, "log")}
	for _, folder := range []string{"targets", "rules", "data"} {
		must(t, os.Mkdir(filepath.Join(dir, folder), 0o700))
	}
	promtest.WriteScaled(t, files, filepath.Join(dir, "rules"))
	must(t, os.WriteFile(filepath.Join(dir, "prometheus.yml"), fmt.Appendf(nil, prometheusConfig, pager), 0o600))
	startProcess(t, p.log, exec.Command(program, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+address, "--enable-feature=exemplar-storage", "--log.level=warn"))
	await(t, "Prometheus to serve", func() bool {
		resp, err := http.Get(p.URL + "/-/ready")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return p
}

// target makes Prometheus scrape an address.
func (p *prometheus) target(address string) {
	p.Helper()
	name := filepath.Join(p.targets, strings.NewReplacer(".", "-", ":", "-").Replace(address))
	must(p, os.WriteFile(name+".new", fmt.Appendf(nil, `[{"targets": [%q]}]`, address), 0o600))
	must(p, os.Rename(name+".new", name+".json"))
}

// forget ends what target began.
func (p *prometheus) forget(address string) {
	p.Helper()
	must(p, os.Remove(filepath.Join(p.targets, strings.NewReplacer(".", "-", ":", "-").Replace(address)+".json")))
}

// exemplar is one observation of a histogram.
type exemplar struct {
	promtest.Point
	Labels map[string]string
}

// exemplars returns the exemplars of the series in an expression. Those of convergences name a revision.
func (p *prometheus) exemplars(t testing.TB, expr string, from, to time.Time) []exemplar {
	t.Helper()
	var reply []struct {
		Exemplars []struct {
			Labels    map[string]string
			Value     string
			Timestamp float64
		}
	}
	must(t, p.Get("/api/v1/query_exemplars", url.Values{"query": {expr}, "start": {promtest.Seconds(from)}, "end": {promtest.Seconds(to)}}, &reply))
	var list []exemplar
	for _, series := range reply {
		for _, e := range series.Exemplars {
			value, err := strconv.ParseFloat(e.Value, 64)
			must(t, err)
			if len(e.Labels["revision"]) != 40 {
				t.Errorf("got an exemplar with the labels %v, want the revision", e.Labels)
			}
			list = append(list, exemplar{promtest.Point{Time: e.Timestamp, Value: value}, e.Labels})
		}
	}
	if len(list) == 0 {
		t.Errorf("got no exemplar of %s, want some", expr)
	}
	return list
}

// freeAddress returns an address on which nothing listens.
func freeAddress(t testing.TB) string {
	t.Helper()
	address, err := loopback.FreeAddress()
	must(t, err)
	return address
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// patience is the longest wait for one condition. It decides only how long a failing test takes.
const patience = 4 * time.Minute

// await waits for a condition.
func await(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(100 * time.Millisecond) {
		if t.Context().Err() != nil || time.Now().After(deadline) {
			t.Fatalf("waited %s for %s", patience, what)
		}
	}
}

// process is a running program.
type process struct {
	*exec.Cmd
	ended chan struct{} // closed when it has ended
}

// startProcess starts a program that ends with the test at the latest. Its output is added to a file.
func startProcess(t testing.TB, log string, cmd *exec.Cmd) *process {
	t.Helper()
	out, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	must(t, err)
	defer func() { _ = out.Close() }()
	cmd.Stdout, cmd.Stderr = out, out
	must(t, cmd.Start())
	p := &process{cmd, make(chan struct{})}
	go func() {
		_ = cmd.Wait() // nothing depends on its status
		close(p.ended)
	}()
	t.Cleanup(func() { p.stop(os.Kill) })
	return p
}

// stop sends a signal and waits for the end of the process.
func (p *process) stop(signal os.Signal) {
	_ = p.Process.Signal(signal) // it may have ended
	<-p.ended
}
