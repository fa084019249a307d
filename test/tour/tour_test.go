//go:build integration

package tour

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gitops-agent/internal/promtest"
	"gitops-agent/internal/pvesim"
)

// tour is one walk through the manual.
type tour struct {
	*machine
	*world
	testing.TB
	quickstart, deployment, packages, operations page
	prometheus                                   promtest.Client
}

// TestTour follows the manual on a fresh Debian, from the installation of the package to its removal.
func TestTour(t *testing.T) {
	tr := newTour(t)
	tr.install()
	tr.firstManifest()
	tr.firstRun()
	tr.reload()
	tr.monitor()
	tr.alert()
	tr.dashboards()
	tr.watchdog()
	tr.stop()
	tr.credentials()
	tr.upgrade()
	tr.remove()
}

func newTour(t *testing.T) *tour {
	w := newWorld(t)
	files := map[string][]byte{
		"etc/hosts": []byte(hosts),
		// The public authorities of github.com and of the manual's nodes are replaced by one of the test.
		"usr/local/share/ca-certificates/tour.crt": w.cert.PEM,
		"root/pve-root-ca.pem":                     w.cert.PEM,
	}
	var err error
	files["root/trusted_root.json"], err = w.sig.TrustedRoot()
	must(t, err)
	for _, version := range []string{"0.1.0", "0.2.0"} {
		name := "gitops-agent_" + version + "_" + runtime.GOARCH + ".deb"
		files["root/"+name], err = os.ReadFile(filepath.Join(os.Getenv(preparedVariable), name))
		must(t, err)
	}
	m := boot(t, files)
	m.run("update-ca-certificates")
	return &tour{
		machine: m, world: w, TB: t, quickstart: readPage(t, "quickstart.md"), deployment: readPage(t, "deployment.md"), packages: readPage(t, "packages.md"), operations: readPage(t, "operations.md"),
		prometheus: promtest.Client{URL: "http://127.0.0.1:9090"},
	}
}

// install follows the section about the agent's host.
func (t *tour) install() {
	blocks := t.quickstart.section("## 2. The agent's host").commands(2) // the second one asks questions: init has tests of its own
	if said := t.run(fill(t, blocks[0], "amd64", runtime.GOARCH)); !strings.Contains(said, "systemctl enable --now gitops-agent") {
		t.Errorf("got %s, want the next step", said)
	}
	byHand := t.deployment.section("## The config by hand").commands(4) // the second one asks the public Sigstore; the files are those of the world
	t.run(byHand[0])
	t.run(byHand[2])
	t.run(fill(t, byHand[3], strings.Repeat("0", 40), t.repo.Tip))
	if got := t.property("ActiveState"); got != "inactive" {
		t.Errorf("got the service %s after the installation, want inactive", got)
	}
}

// firstManifest writes the documented manifests to a working copy, tests and pushes them.
func (t *tour) firstManifest() {
	section := t.quickstart.section("## 3. A first manifest")
	maps.Copy(t.repo.Files, section.files())
	blocks := section.commands(2)
	clone, commit := slices.IndexFunc(blocks, func(b string) bool { return strings.Contains(b, "git clone") }), slices.IndexFunc(blocks, func(b string) bool { return strings.Contains(b, "git commit -S") })
	if clone < 0 || commit < 0 {
		t.Fatalf("got %q, want one block that clones and one that signs", blocks)
	}
	for name, content := range section.files() {
		t.write("root/"+name, []byte(content))
	}
	out := t.run(fill(t, blocks[clone], "cd homelab", "cd homelab; mv ../*.yaml ."))
	if !strings.Contains(out, "hello") {
		t.Errorf("got the plan %s, want the new guest", out)
	}
	// gitsign needs a browser, so the test signs in place of git.
	messages := regexp.MustCompile(`-m '([^']*)'`).FindAllStringSubmatch(blocks[commit], -1)
	if len(messages) != 2 {
		t.Fatalf("got %d messages in %s, want two", len(messages), blocks[commit])
	}
	t.push(messages[0][1] + "\n\n" + messages[1][1] + "\n")
}

// trailer ends the messages of all later commits.
const trailer = "\n\nGitops-Target: home/main\n"

// firstRun starts the service.
func (t *tour) firstRun() {
	section := t.quickstart.section("## 4. The first run")
	blocks := section.commands(3)
	if out, err := t.try(blocks[0]); err == nil || err.Error() != "exit status 3" || !strings.Contains(out, "held create") || len(t.sim.Guests()) != 0 {
		t.Fatalf("got %v, %s and %d guests, want exit status 3, a plan for the guest and no change", err, out, len(t.sim.Guests()))
	}
	t.run(blocks[1])
	guests := t.sim.Guests()
	if len(guests) != 1 || guests[0].Name != "hello" || !strings.Contains(t.sim.Config(guests[0].VMID), "memory: 512\n") {
		t.Fatalf("got the guests %+v, want the one of the manifest", guests)
	}
	if got := t.property("ActiveState") + " " + t.property("UnitFileState") + " " + t.property("User"); got != "active enabled gitops-agent" {
		t.Errorf("got the service %s, want active enabled gitops-agent", got)
	}
	await(t, "a status for systemctl", func() bool { return t.property("StatusText") != "" })
	exposure := regexp.MustCompile(`exposure is (\d\.\d) `).FindStringSubmatch(section.text)
	if out := t.run("systemd-analyze security --no-pager gitops-agent | tail -1"); exposure == nil || !strings.Contains(out, ": "+exposure[1]+" ") {
		t.Errorf("got %s, want the exposure of the manual, %q", out, exposure)
	}
}

// reload makes the agent look more often, so that the test does not wait for its intervals.
func (t *tour) reload() {
	before := t.property("MainPID")
	t.run(`sed -i 's|^source:$|&\n  poll: 1s|; s|^proxmox:$|&\n  tick: 1s\n  resync: 2s|' /etc/gitops-agent/config.yaml`)
	t.run(t.quickstart.section("## 4. The first run").commands(3)[2])
	await(t, "the config to be read again", func() bool {
		out, err := t.try("journalctl --unit=gitops-agent --output=cat | grep 'config reloaded'")
		return err == nil && strings.Contains(out, "source") && strings.Contains(out, "proxmox")
	})
	if got := t.property("MainPID"); got != before || t.property("ActiveState") != "active" {
		t.Errorf("got the process %s, %s, want the one of before the reload, %s", got, t.property("ActiveState"), before)
	}
	t.repo.Files["hello.yaml"] = fill(t, t.repo.Files["hello.yaml"], "512Mi", "768Mi")
	t.push("more memory" + trailer)
	t.converged("memory: 768\n")
}

// converged waits until the newest commit is in force and the guest's config has a line.
func (t *tour) converged(line string) {
	t.Helper()
	await(t, "the newest commit to be in force", func() bool {
		var status struct {
			Converged bool
			Source    struct{ Accepted struct{ Commit string } }
		}
		out, err := t.try("gitops-agent status --output json")
		return (err == nil || out != "") && json.Unmarshal([]byte(out), &status) == nil && status.Converged && status.Source.Accepted.Commit == t.repo.Tip
	})
	if got := t.sim.Config(t.sim.Guests()[0].VMID); !strings.Contains(got, line) {
		t.Errorf("got the guest\n%s, want %q", got, line)
	}
}

// monitor installs the rules, and lets Prometheus scrape the agent.
func (t *tour) monitor() {
	t.run(t.quickstart.section("## 5. Alerts and dashboards").commands(1)[0])
	blocks := t.operations.section("## Install the rules").commands(5)
	t.run(blocks[0])
	await(t, "the agent to be scraped", func() bool {
		out, err := t.try(blocks[1])
		return err == nil && strings.Contains(out, "=> 1 @")
	})
	shipped := promtest.ReadRules(t, "../../metrics/rules")
	t.ruleHealth(shipped)

	// The rest of the test waits for the shipped rules with divided times, and for scrapes in each second.
	folder := filepath.Join(t.root, "etc/prometheus/gitops-agent")
	promtest.WriteScaled(t, promtest.ReadRules(t, folder), folder)
	t.run(`chmod 644 /etc/prometheus/gitops-agent/*
sed -i -E 's/^  (scrape_interval|evaluation_interval): .*/  \1: 1s/' /etc/prometheus/prometheus.yml
systemctl restart prometheus`)
	since := time.Now()
	await(t, "a scrape of the agent with shorter times", func() bool {
		got, err := t.prometheus.At(`timestamp(gitops_agent_source_polls_total{result="refused"}) > `+promtest.Seconds(since), time.Now())
		return err == nil && len(got) == 1
	})
}

// ruleHealth waits until Prometheus has evaluated every shipped rule without an error.
func (t *tour) ruleHealth(shipped map[string]promtest.RuleFile) {
	t.Helper()
	var want []string
	for _, file := range shipped {
		for _, group := range file.Groups {
			for _, r := range group.Rules {
				want = append(want, r.Alert+r.Record)
			}
		}
	}
	slices.Sort(want)
	await(t, "every rule to be evaluated", func() bool {
		var state struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
		must(t, t.prometheus.Get("/api/v1/rules", nil, &state))
		var healthy []string
		for _, group := range state.Groups {
			for _, r := range group.Rules {
				if r.LastError != "" {
					t.Fatalf("%s: %s", r.Name, r.LastError)
				}
				if r.Health == "ok" {
					healthy = append(healthy, r.Name)
				}
			}
		}
		slices.Sort(healthy)
		return slices.Equal(healthy, want)
	})
}

// alert pushes a commit without a signature, and then takes it back.
func (t *tour) alert() {
	const name = "GitopsAgentHeadRefused"
	firing := func() bool {
		got, err := t.prometheus.At(`ALERTS{alertname="`+name+`",alertstate="firing"}`, time.Now())
		must(t, err)
		return len(got) == 1 && got[0].Metric["job"] == "gitops-agent"
	}
	if firing() {
		t.Errorf("got %s before its cause", name)
	}
	t.pushUnsigned("not signed" + trailer)
	await(t, name+" to fire", firing)
	if out := t.run("gitops-agent status || true"); !strings.Contains(out, "not-sigstore") && !strings.Contains(out, "unsigned") {
		t.Errorf("got %s, want why the commit was refused", out)
	}
	t.repo.Files["hello.yaml"] = fill(t, t.repo.Files["hello.yaml"], "768Mi", "640Mi")
	t.push("signed" + trailer)
	t.converged("memory: 640\n")
	await(t, name+" to resolve", func() bool { return !firing() })
}

// dashboards evaluates every query of the installed dashboards.
func (t *tour) dashboards() {
	end, queries := time.Now(), 0
	evaluate := func(where, expr string) {
		queries++
		if _, err := t.prometheus.Over(promtest.Substitute(expr, ".*"), end.Add(-time.Minute), end); err != nil {
			t.Errorf("%s: %v", where, err)
		}
	}
	boards := promtest.ReadDashboards(t, filepath.Join(t.root, "usr/share/gitops-agent/grafana"))
	if len(boards) != 3 {
		t.Errorf("got %d dashboards on the machine, want three", len(boards))
	}
	for _, d := range boards {
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				evaluate(d.Title+", "+p.Title, target.Expr)
			}
		}
		for _, a := range d.Annotations.List {
			evaluate(d.Title+", annotation "+a.Name, a.Expr)
		}
		for _, v := range d.Templating.List {
			if expr, _, ok := promtest.VariableQuery(v.Query); ok {
				evaluate(d.Title+", variable "+v.Name, expr)
			}
		}
	}
	t.Logf("tour: %d queries of dashboards", queries)
	for _, series := range []string{"gitops_agent_guests", "gitops_agent:guests_out_of_sync:ratio", "gitops_agent_push_to_converged_seconds_count"} {
		if got, err := t.prometheus.At(series, end); err != nil || len(got) == 0 {
			t.Errorf("%s: got %d series, %v, want some", series, len(got), err)
		}
	}
}

// watchdog suspends the agent. systemd kills it, and starts it again. The drop-in has shorter times than the unit.
func (t *tour) watchdog() {
	t.run(`mkdir -p /etc/systemd/system/gitops-agent.service.d
printf '[Service]\nWatchdogSec=6s\nRestartSec=1s\n' > /etc/systemd/system/gitops-agent.service.d/watchdog.conf
systemctl daemon-reload
systemctl restart gitops-agent`)
	before := t.property("MainPID")
	t.run("systemctl kill --signal=STOP gitops-agent")
	await(t, "another process of the agent", func() bool {
		pid := t.property("MainPID")
		return pid != "0" && pid != before && t.property("ActiveState") == "active"
	})
	if got := t.property("NRestarts"); got != "1" {
		t.Errorf("got %s restarts, want one", got)
	}
	if out := t.run("journalctl --no-pager --unit=gitops-agent --output=cat | grep -i 'watchdog'"); !strings.Contains(out, "Watchdog timeout") {
		t.Errorf("got %s, want the reason of the restart", out)
	}
	t.run("rm /etc/systemd/system/gitops-agent.service.d/watchdog.conf; systemctl daemon-reload; systemctl restart gitops-agent")
	t.converged("memory: 640\n")
}

// stop stops the service while a call is under way. The agent waits for its reply, and the next start continues.
func (t *tour) stop() {
	const config = "POST /nodes/{node}/qemu/{vmid}/config"
	before := t.sim.Counters().Routes[config]
	must(t, t.sim.Inject(pvesim.Fault{Kind: pvesim.HoldAfter, Writes: true, Path: "/qemu/", Times: 1}))
	t.repo.Files["hello.yaml"] = fill(t, t.repo.Files["hello.yaml"], "640Mi", "704Mi")
	t.push("while it stops" + trailer)
	must(t, t.sim.WaitHeld(t.Context(), 1))
	t.run("systemctl stop --no-block gitops-agent")
	await(t, "the agent to stop", func() bool {
		out, err := t.try("journalctl --unit=gitops-agent --output=cat --lines=20 | grep -c Stopping")
		return err == nil && strings.TrimSpace(out) != "0"
	})
	if got := t.property("ActiveState"); got != "deactivating" {
		t.Errorf("got the service %s while a reply is awaited, want deactivating", got)
	}
	t.sim.Release()
	await(t, "the service to end", func() bool { return t.property("ActiveState") != "deactivating" })
	if got := t.property("Result") + " " + t.property("ExecMainStatus"); got != "success 0" {
		t.Errorf("got the result %s, want success 0", got)
	}
	t.run("systemctl start gitops-agent")
	t.converged("memory: 704\n")
	if got := t.sim.Counters().Routes[config] - before; got != 1 {
		t.Errorf("got %d calls for the step that was under way, want one", got)
	}
}

// credentials hands the token over by systemd.
func (t *tour) credentials() {
	t.run(t.packages.section("### Credentials of systemd").commands(1)[0])
	if got := t.property("ActiveState"); got != "active" {
		t.Errorf("got the service %s, want active", got)
	}
	t.repo.Files["hello.yaml"] = fill(t, t.repo.Files["hello.yaml"], "704Mi", "720Mi")
	t.push("with a credential" + trailer)
	t.converged("memory: 720\n")
}

// upgrade installs a newer version, which continues with the same state.
func (t *tour) upgrade() {
	before := t.property("MainPID")
	history := t.run("gitops-agent journal show | tail -5")
	t.run(fill(t, t.packages.section("### Upgrade").commands(1)[0], "amd64", runtime.GOARCH))
	if got := t.property("MainPID"); got == before || t.property("ActiveState") != "active" {
		t.Errorf("got the process %s, %s, want another one than before the upgrade", got, t.property("ActiveState"))
	}
	if got := t.run("dpkg-query --show --showformat='${Version}' gitops-agent"); got != "0.2.0" {
		t.Errorf("got version %s, want 0.2.0", got)
	}
	t.converged("memory: 720\n")
	if got := t.run("gitops-agent journal show"); !strings.Contains(got, strings.TrimSpace(history)) {
		t.Errorf("got the journal\n%s, want it to contain\n%s", got, history)
	}
}

// remove removes and purges the package. The record of the owned guests stays.
func (t *tour) remove() {
	blocks := t.packages.section("### Remove").commands(2)
	t.run(blocks[0])
	if got := t.property("ActiveState"); got != "inactive" || t.exists("usr/bin/gitops-agent") || !t.exists("etc/gitops-agent/config.yaml") || !t.exists("var/lib/gitops-agent/journal") {
		t.Errorf("got the service %s, want remove to stop it, to delete the program, and to keep config and state directory", got)
	}
	said := t.run(blocks[1])
	if t.exists("etc/gitops-agent/config.yaml") || !t.exists("etc/gitops-agent/token") || !t.exists("var/lib/gitops-agent/journal") || !strings.Contains(said, "/var/lib/gitops-agent") {
		t.Errorf("got %s, want purge to delete the config alone, and to say where the state directory is", said)
	}
	if info, err := os.Stat(filepath.Join(t.root, "var/lib/gitops-agent")); err != nil || info.Mode().Perm() != 0o700 || info.Sys().(*syscall.Stat_t).Uid == 0 {
		t.Errorf("got the state directory %v, %v, want one that its user alone reads", info, err)
	}
}

func (t *tour) exists(path string) bool {
	_, err := os.Lstat(filepath.Join(t.root, path))
	return err == nil
}
