package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/examples/manifests"
	_ "gitops-agent/internal/memtemp"
	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sandbox"
	"gitops-agent/reconcile/report"
)

// TestMain lets git run the test as its signing program.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sandbox.SignCommand {
		main()
		return
	}
	_ = flag.Set("test.parallel", "8") // the tests wait for agents more than they compute; a flag of the command line replaces it
	m.Run()                            // its result is the status of the process
}

// result is what a run printed, and its exit status.
type result struct {
	status      int
	out, notes  string
	left        []string // in the directory for temporary files
	lastOfState map[string]document
}

// fast returns the command with an agent and a cluster that do in a moment what takes seconds at the pace for readers.
func fast(t *testing.T) command {
	return command{temporary: t.TempDir(), every: 100 * time.Millisecond, cluster: pvesim.Options{TaskTime: 10 * time.Millisecond, HADelay: 100 * time.Millisecond}}
}

func sandboxed(t *testing.T, args ...string) result {
	t.Helper()
	c := fast(t)
	var out, notes bytes.Buffer
	err := c.run(t.Context(), args, nil, &out, &notes)
	r := result{out: out.String(), notes: notes.String(), lastOfState: map[string]document{}}
	if err != nil {
		r.status = statusOf(err)
		r.notes += err.Error()
	}
	left, err := os.ReadDir(c.temporary)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range left {
		r.left = append(r.left, file.Name())
	}
	for line := range strings.SplitSeq(r.out, "\n") {
		var d document
		if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &d) == nil {
			r.lastOfState[d.State] = d
		}
	}
	return r
}

// write makes a directory with files.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		save(t, filepath.Join(dir, name), text)
	}
	return dir
}

func save(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=u", "-c", "user.email=u@lab.test", "-C", dir}, args...)...)
	cmd.Env = append(sandbox.WithoutGit(os.Environ()), "GIT_CONFIG_GLOBAL="+os.DevNull)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

const clusterYAML = "apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: lab}\nspec: {vmids: {from: 100, to: 199}}\n"

// created are the fields with which a machine is created.
const created = "node: pve1\n  source: {blank: {}}\n  disks: {scsi0: {storage: local-lvm, size: 4Gi}}"

func machine(name string, fields ...string) string {
	return "apiVersion: proxmox.gitops/v1alpha1\nkind: VirtualMachine\nmetadata: {name: " + name + "}\nspec:\n  " + strings.Join(fields, "\n  ") + "\n"
}

// needRoot are the guests of examples that wait for settings that root alone may make.
var needRoot = map[string][]string{"ports": {"Container/plex", "Container/tailscale"}}

// TestExamplesConverge: every example converges on the cluster that the sandbox derives from it, but for guests that wait for root.
func TestExamplesConverge(t *testing.T) {
	t.Parallel()
	examples, err := fs.ReadDir(manifests.Files, ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, example := range examples {
		t.Run(example.Name(), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join("../../examples/manifests", example.Name())
			args := []string{"--once", "-o", "json"}
			if key, err := os.ReadFile(filepath.Join(dir, "age-identity.txt")); err == nil {
				private := filepath.Join(t.TempDir(), "identity") // git does not keep the mode that the agent wants
				if err := os.WriteFile(private, key, 0o600); err != nil {
					t.Fatal(err)
				}
				args = append(args, "-age-identity", private)
			}
			r := sandboxed(t, append(args, dir)...)
			status, state := 0, "converged"
			if needRoot[example.Name()] != nil {
				status, state = exitPending, "pending"
			}
			if r.status != status || r.lastOfState[state].Report == nil {
				t.Fatalf("got status %d, want %d\n%s\n%s", r.status, status, r.out, r.notes)
			}
			for _, g := range r.lastOfState[state].Report.Guests {
				if waits := slices.Contains(needRoot[example.Name()], g.Label()); waits == (g.Sync == report.Synced && len(g.Held) == 0) {
					t.Errorf("%s: got %s and %d held steps, want it to wait: %t", g.Label(), g.Sync, len(g.Held), waits)
				}
			}
			if planned := r.lastOfState["planned"].Report; planned == nil || len(planned.Guests) == 0 {
				t.Errorf("got no plan, want one with guests")
			}
			if len(r.left) != 0 {
				t.Errorf("temporary files: got %q, want none", r.left)
			}
		})
	}
}

func TestRefusedManifests(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		files map[string]string
		want  string
	}{
		"unknown_field": {map[string]string{"cluster.yaml": clusterYAML, "web.yaml": machine("web", "memroy: {size: 1Gi}")}, "memory"},
		"no_cluster":    {map[string]string{"web.yaml": machine("web", created)}, "Cluster"},
		"empty":         {map[string]string{"README.md": "nothing"}, "Cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := sandboxed(t, "--once", write(t, row.files))
			if r.status != exitRefused || !strings.Contains(r.out, row.want) {
				t.Errorf("got status %d and %q, want %d and %q", r.status, r.out, exitRefused, row.want)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"no_directory":       {},
		"two_directories":    {"a", "b"},
		"unknown_output":     {"-o", "xml", "."},
		"watch_and_once":     {"--watch", "--once", "."},
		"watch_a_revision":   {"--watch", "--revision", "HEAD", "."},
		"listen_everywhere":  {"--listen", "0.0.0.0:0", "."},
		"listen_without_ip":  {"--listen", ":0", "."},
		"control_everywhere": {"--control", "0.0.0.0:0", "."},
		"unknown_flag":       {"--no-such-flag", "."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if r := sandboxed(t, args...); r.status != exitUsage {
				t.Errorf("got status %d (%s), want %d", r.status, r.notes, exitUsage)
			}
		})
	}
}

// TestBlockedGuest: what nothing but a person can change ends --once with a status of its own, and names the guest.
func TestBlockedGuest(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"cluster.yaml": clusterYAML, "erp.yaml": machine("erp", "vmid: 105", "memory: {size: 1Gi}")})
	r := sandboxed(t, "--once", dir)
	if r.status != exitPending || !strings.Contains(r.out, "VirtualMachine/erp (105") {
		t.Errorf("got status %d, want %d and erp\n%s\n%s", r.status, exitPending, r.out, r.notes)
	}
}

// TestWhatOnlyRootMaySet: a guest without what only root@pam may set is not simply in sync, and each such setting has its command.
func TestWhatOnlyRootMaySet(t *testing.T) {
	t.Parallel()
	container := func(name string, fields ...string) string {
		return strings.Replace(machine(name, append(fields, "node: pve1", "unprivileged: true", "source: {template: {volume: \"local:vztmpl/debian-12.tar.zst\"}}",
			"rootfs: {storage: local-lvm, size: 8Gi}", "state: running")...), "VirtualMachine", "Container", 1)
	}
	for name, row := range map[string]struct {
		fields      string
		want, never []string
	}{
		"keyctl": {
			"features: {nesting: true, keyctl: true}",
			[]string{"in sync except for 1 setting that needs root, running", "Converged except for 1 setting that needs root", "pct set 130 --features nesting=1,keyctl=1"},
			[]string{"in the state of the manifests"},
		},
		"folder": {
			"mounts: {mp0: {volume: /tank/media, path: /media}}",
			[]string{"Not converged", "pct set 130 --mp0 /tank/media,mp=/media", "startWithout: [mp0]"},
			[]string{"in sync, running", "Converged"},
		},
		"device": {
			`raw: {dev0: "/dev/net/tun"}`, []string{"Not converged", "pct set 130 --dev0 /dev/net/tun"}, []string{"in sync, running", "Converged"},
		},
		"device_that_may_be_missing": {
			"raw: {dev0: \"/dev/net/tun\"}\n  lifecycle: {startWithout: [dev0]}", []string{"in sync except for 1 setting that needs root, running"}, []string{"in the state of the manifests"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := sandboxed(t, "--once", write(t, map[string]string{"cluster.yaml": clusterYAML, "docker.yaml": container("docker", "vmid: 130", row.fields)}))
			if r.status != exitPending {
				t.Errorf("got status %d, want %d\n%s\n%s", r.status, exitPending, r.out, r.notes)
			}
			for _, text := range row.want {
				if !strings.Contains(r.out, text) {
					t.Errorf("got no %q\n%s", text, r.out)
				}
			}
			for _, text := range row.never {
				if strings.Contains(r.out, text) {
					t.Errorf("got %q\n%s", text, r.out)
				}
			}
		})
	}
}

// TestExisting: a guest that exists with other values is adopted and repaired.
func TestExisting(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"cluster.yaml": clusterYAML, "erp.yaml": machine("erp", "vmid: 105", "adopt: ifUnmanaged", "tags: [prod]", "memory: {size: 2Gi}")})
	existing := filepath.Join(t.TempDir(), "erp.yaml")
	save(t, existing, machine("erp", "vmid: 105", "tags: [old]", "memory: {size: 2Gi}", "networks: {net0: {bridge: vmbr7}}"))
	r := sandboxed(t, "--once", "-o", "json", "--existing", existing, dir)
	planned := r.lastOfState["planned"].Report
	if r.status != 0 || planned == nil || len(planned.Guests) != 1 || len(planned.Guests[0].Changes) != 1 || planned.Guests[0].Changes[0].Key != "tags" {
		t.Fatalf("got status %d, plan %+v, want a change of the tags\n%s", r.status, planned, r.notes)
	}
	if bridges := r.lastOfState["assumed"].Assumed.Bridges; !strings.Contains(strings.Join(bridges, " "), "vmbr7") {
		t.Errorf("bridges: got %q, want that of the existing guest", bridges)
	}
}

// repositoryWithChanges is a repository with a commit, a changed file, a new file, an ignored file and a file in the index only.
func repositoryWithChanges(t *testing.T) string {
	t.Helper()
	dir := write(t, map[string]string{
		"cluster.yaml": clusterYAML, "web.yaml": machine("web", "vmid: 101", created, "memory: {size: 1Gi}"), ".gitignore": "ignored.yaml\n",
		"ignored.yaml": "not: a manifest",
	})
	git(t, dir, "init", "--quiet")
	git(t, dir, "add", "--all")
	git(t, dir, "commit", "--quiet", "-m", "first")
	save(t, filepath.Join(dir, "web.yaml"), machine("web", "vmid: 101", created, "memory: {size: 2Gi}"))
	save(t, filepath.Join(dir, "new.yaml"), machine("new", "vmid: 102", created))
	return dir
}

// TestWorkingTreeAndRevision: uncommitted changes count, unless a revision is named, and nothing in the repository of the user changes, also where the
// sandbox runs in one of its hooks.
func TestWorkingTreeAndRevision(t *testing.T) {
	dir := repositoryWithChanges(t)
	before := hashTree(t, dir)
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary) // also for what other packages and git write
	for _, name := range []string{"GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"} {
		t.Setenv(name, map[string]string{"GIT_DIR": filepath.Join(dir, ".git"), "GIT_INDEX_FILE": filepath.Join(dir, ".git", "index"), "GIT_WORK_TREE": dir}[name])
	}
	for name, row := range map[string]struct {
		args   []string
		guests int
		memory string
	}{
		"working_tree": {guests: 2, memory: "2048"},
		"revision":     {args: []string{"--revision", "HEAD"}, guests: 1, memory: "1024"},
	} {
		r := sandboxed(t, append(append([]string{"--once", "-o", "json"}, row.args...), dir)...)
		planned := r.lastOfState["planned"].Report
		if r.status != 0 || planned == nil || len(planned.Guests) != row.guests {
			t.Fatalf("%s: got status %d, plan %+v, want %d guests\n%s", name, r.status, planned, row.guests, r.notes)
		}
		for _, c := range planned.Guests[0].Changes {
			if c.Key == "memory" && c.To != row.memory {
				t.Errorf("%s: got memory %s, want %s", name, c.To, row.memory)
			}
		}
	}
	if r := sandboxed(t, "--once", dir); !strings.Contains(r.out, "2 changes that are not committed") {
		t.Errorf("got %q, want a notice of two changes", r.out)
	}
	if r := sandboxed(t, "--once", "--revision", "no-such", dir); r.status != exitError || !strings.Contains(r.notes, "no-such") {
		t.Errorf("unknown revision: got status %d, %q", r.status, r.notes)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) != 0 {
		t.Errorf("temporary files: got %v and %v, want none", left, err)
	}
	if after := hashTree(t, dir); after != before {
		t.Error("the repository of the user changed")
	}
}

// hashTree returns a digest of every name, mode and content below a directory, .git included.
func hashTree(t *testing.T, dir string) string {
	t.Helper()
	h := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintln(h, path, info.Mode(), info.ModTime())
		if !d.Type().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(path)
		_, _ = h.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// TestSymbolicLink: links are copied as links, so that the agent refuses them as it would refuse the repository. Nothing behind them is read.
func TestSymbolicLink(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"cluster.yaml": clusterYAML})
	if err := os.Symlink("/etc", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if r := sandboxed(t, "--once", dir); r.status != exitRefused || !strings.Contains(r.out, "symbolic link") {
		t.Errorf("got status %d, want it refused for the link\n%s\n%s", r.status, r.out, r.notes)
	}
}

// TestChangeIsOver: on a busy machine the agent's cycles are late, so that seconds without a change do not show that there is nothing left to do.
func TestChangeIsOver(t *testing.T) {
	t.Parallel()
	last := change{at: time.Now(), cycle: 10}
	for name, row := range map[string]struct {
		idle  time.Duration
		cycle uint64
		want  bool
	}{
		"the_agent_waits_for_the_processor": {idle: time.Minute, cycle: 13},
		"results_cause_many_cycles":         {idle: time.Second, cycle: 40},
		"at_rest":                           {idle: 5 * time.Second, cycle: 14, want: true},
	} {
		if got := last.isOver(last.at.Add(row.idle), row.cycle); got != row.want {
			t.Errorf("%s: got %v, want %v", name, got, row.want)
		}
	}
}

// TestWatch: edits converge, a mistake is refused while the state before stays in force, and its correction converges.
func TestWatch(t *testing.T) {
	t.Parallel()
	c := fast(t)
	web := func(memory string) string {
		return machine("web", "vmid: 101", created, "memory: {size: "+memory+"}")
	}
	dir := write(t, map[string]string{"cluster.yaml": clusterYAML, "web.yaml": "kind: nonsense"})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- c.run(ctx, []string{"--watch", "-o", "json", dir}, nil, writer, io.Discard)
		_ = writer.Close()
	}()
	documents := json.NewDecoder(reader)
	next := func(state string) document {
		t.Helper()
		for {
			var d document
			if err := documents.Decode(&d); err != nil {
				t.Fatalf("waiting for %s: %v", state, err)
			}
			if d.State == state {
				return d
			}
			if d.State == "pending" || d.State == "refused" {
				t.Fatalf("waiting for %s: got %+v", state, d)
			}
		}
	}
	next("refused") // before there is any agent
	save(t, filepath.Join(dir, "web.yaml"), web("1Gi"))
	page := next("converged").StatusPage
	response, err := http.Get(page + "status.json")
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("status page: got %s, want 200", response.Status)
	}
	save(t, filepath.Join(dir, "web.yaml"), web("lots"))
	if r := next("refused").Report; r.Source.Accepted == nil || r.Source.Refused == nil {
		t.Errorf("after a mistake: got %+v, want the revision before in force", r.Source)
	}
	save(t, filepath.Join(dir, "web.yaml"), web("2Gi"))
	next("converged")
	stop()
	go func() { _, _ = io.Copy(io.Discard, reader) }()
	if err := <-ended; err != nil {
		t.Errorf("stopped: got %v, want no error", err)
	}
	if left, _ := os.ReadDir(c.temporary); len(left) != 0 {
		t.Errorf("temporary files: got %v, want none", left)
	}
}
