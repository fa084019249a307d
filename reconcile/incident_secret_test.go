package reconcile_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io/fs"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	proxmoxwire "gitops-agent/internal/proxmox/wire"
	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
	"gitops-agent/reconcile/secret"
)

// secretStore contains the secrets of a test, and records every text that the agent sent for them.
type secretStore struct {
	cluster.Cluster
	mu       sync.Mutex
	contents map[string]string
	sent     []string
}

// put changes the password.
func (s *secretStore) put(content string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.contents["web"] = content
}

func (s *secretStore) read(name string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	content, ok := s.contents[name]
	if !ok {
		return "", &secret.Error{Name: name, Reason: "no such file", Hint: "put it there"}
	}
	return content, nil
}

func (s *secretStore) Do(ctx context.Context, call cluster.Call, check cluster.LastCheck) (string, error) {
	s.mu.Lock()
	for key := range call.Secrets {
		s.sent = append(s.sent, call.Params[key])
	}
	s.mu.Unlock()
	return s.Cluster.Do(ctx, call, check)
}

// texts returns each text that was sent, once.
func (s *secretStore) texts() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Compact(slices.Sorted(slices.Values(s.sent)))
}

const hunter = "hunter2 & the beast"

// runLabWithSecrets runs a test with a secretStore that contains the password web.
func runLabWithSecrets(t *testing.T, test func(t *testing.T, l *lab, s *secretStore)) {
	t.Helper()
	runLab(t, nil, func(t *testing.T, l *lab) {
		s := &secretStore{Cluster: l.cluster, contents: map[string]string{"web": hunter}}
		l.opts.Cluster = s
		l.opts.Secrets = secret.Source{Read: s.read, Key: []byte("of the state directory")}
		test(t, l, s)
	})
}

var withPassword = []string{"memory: {size: 2Gi}", "cloudInit: {storage: local, user: ops, passwordFrom: {file: web}}"}

// TestIncidentPasswordIsHashedAgain keeps a guest with a password for a day, with drift, restarts of the agent and full reads. With a new hash of
// the same password, cloud-init would treat the next boot as the first boot of a new machine.
func TestIncidentPasswordIsHashedAgain(t *testing.T) {
	runLabWithSecrets(t, func(t *testing.T, l *lab, s *secretStore) {
		l.rareTicks()
		l.files["web.yaml"] = vmYAML("web-1", 201, withPassword...)
		l.push("a guest with a password", alice)
		stop := l.start()
		l.converge()
		hash := l.sim.Value(201, "cipassword")
		if !strings.HasPrefix(hash, "$6$") {
			t.Fatalf("got password %q in the configuration, want a hash", hash)
		}
		writes := l.sim.Effects(201, pvesim.ConfigWritten)
		for range 20 {
			time.Sleep(time.Hour)
			stop()
			stop = l.start()
			l.converge()
		}
		if got := l.sim.Effects(201, pvesim.ConfigWritten); got != writes {
			t.Errorf("got %d writes in 20 runs of the agent, want none", got-writes)
		}
		l.wantRepair("drift of another key")
		stop()
		if got := l.sim.Value(201, "cipassword"); got != hash || len(s.sent) != 1 {
			t.Errorf("got password %s after %d times, want %s, sent once", got, len(s.sent), hash)
		}
	})
}

func TestRotatedPasswordIsWrittenOnce(t *testing.T) {
	runLabWithSecrets(t, func(t *testing.T, l *lab, s *secretStore) {
		l.files["web.yaml"] = vmYAML("web-1", 201, withPassword...)
		l.push("a guest with a password", alice)
		defer l.start()()
		l.converge()
		before, writes := l.sim.Value(201, "cipassword"), l.sim.Effects(201, pvesim.ConfigWritten)
		s.put("another one")
		eventually(t, "the new password", func() bool { return l.sim.Value(201, "cipassword") != before })
		time.Sleep(time.Hour)
		if got := l.sim.Effects(201, pvesim.ConfigWritten) - writes; got != 1 {
			t.Errorf("got %d writes for one rotation, want 1", got)
		}
		s.put(hunter)
		eventually(t, "the old password", func() bool { return l.sim.Value(201, "cipassword") == before })
		if v := l.sim.Violations(); len(v) != 0 {
			t.Errorf("got violations %v, want none", v)
		}
	})
}

// TestMissingSecretDoesNotStopOthers adds a guest whose password does not exist yet.
func TestMissingSecretDoesNotStopOthers(t *testing.T) {
	runLabWithSecrets(t, func(t *testing.T, l *lab, s *secretStore) {
		delete(s.contents, "web")
		l.files["web.yaml"] = vmYAML("web-1", 201, append([]string{"state: running"}, withPassword...)...)
		l.push("a guest with a password", alice)
		defer l.start()()
		eventually(t, "the condition", func() bool {
			r := l.engine.Report()
			return len(r.Guests) == 1 && hasCondition(r.Guests[0], plan.Blocked, reason.Secret) && l.sim.Value(201, "memory") == "2048"
		})
		l.wantRepair("drift of another key")
		time.Sleep(time.Hour)
		if l.sim.Running(201) {
			t.Error("got the guest started without its password, want it to wait")
		}
		s.put(hunter)
		l.converge()
		if !l.sim.Running(201) || l.sim.Value(201, "cipassword") == "" {
			t.Error("got the guest stopped or without a password, want both once the file is there")
		}
	})
}

// TestDependentGuestWaitsForThePassword adds a guest that depends on a guest that cannot be started yet.
func TestDependentGuestWaitsForThePassword(t *testing.T) {
	runLabWithSecrets(t, func(t *testing.T, l *lab, s *secretStore) {
		delete(s.contents, "web")
		l.files["web.yaml"] = vmYAML("web-1", 201, append([]string{"state: running"}, withPassword...)...)
		l.files["db.yaml"] = vmYAML("db-1", 202, "dependsOn: [VirtualMachine/web-1]")
		l.push("a guest and one that depends on it", alice)
		defer l.start()()
		time.Sleep(time.Hour)
		if got := l.sim.Effects(202, pvesim.Cloned); got != 0 {
			t.Errorf("got the dependent guest made %d times, want it to wait for the password of the other guest", got)
		}
		s.put(hunter)
		l.converge()
	})
}

// TestContainerGetsItsPasswordOnce creates a container, for which Proxmox accepts a password only at its creation.
func TestContainerGetsItsPasswordOnce(t *testing.T) {
	runLabWithSecrets(t, func(t *testing.T, l *lab, s *secretStore) {
		l.files["dns.yaml"] = dnsYAML("passwordFrom: {file: web}")
		l.push("a container", alice)
		defer l.start()()
		l.converge()
		s.put("another one")
		time.Sleep(time.Hour)
		if texts := s.texts(); len(texts) != 1 || !strings.HasPrefix(texts[0], "$6$") {
			t.Errorf("got %v sent, want one hash", texts)
		}
		if r := l.engine.Report(); !r.Converged {
			t.Errorf("got %+v after the file changed, want a container to keep its password", r.Guests)
		}
	})
}

// TestWindowsGetsThePlainPassword uses a guest type for which a hash cannot replace the password.
func TestWindowsGetsThePlainPassword(t *testing.T) {
	runLabWithSecrets(t, func(t *testing.T, l *lab, s *secretStore) {
		l.files["web.yaml"] = vmYAML("web-1", 201, append([]string{"osType: win11"}, withPassword...)...)
		l.push("a guest with a password", alice)
		defer l.start()()
		l.converge()
		time.Sleep(time.Hour)
		if got := l.sim.Value(201, "cipassword"); got != hunter || len(s.sent) != 1 {
			t.Errorf("got password %q after %d times, want the password itself, once", got, len(s.sent))
		}
	})
}

// TestCrashAroundAPassword crashes the agent around the call that contains a password. If it is unknown whether the call arrived, the agent sends
// the same text again.
func TestCrashAroundAPassword(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"before-call", "after-call", "waiting"} {
		t.Run(at, func(t *testing.T) {
			runLabWithSecrets(t, func(t *testing.T, l *lab, s *secretStore) {
				l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}")
				l.push("first", alice)
				l.once()
				l.files["web.yaml"] = vmYAML("web-1", 201, withPassword...)
				l.push("a password", alice)
				d := &crashingCluster{Cluster: s, op: cluster.OpConfig, at: at}
				l.opts.Cluster = d
				stop := l.start()
				eventually(t, "the crash", d.crashed.Load)
				stop()
				l.opts.Cluster = s
				defer l.start()()
				l.converge()
				time.Sleep(time.Minute)
				if got := s.texts(); len(got) != 1 || got[0] != l.sim.Value(201, "cipassword") {
					t.Errorf("got texts %v sent, want one, which is in the guest: %s", got, l.sim.Value(201, "cipassword"))
				}
				if open := l.journal.State().Open; len(open) != 0 {
					t.Errorf("got open steps %+v after recovery, want none", open)
				}
			})
		})
	}
}

// TestCrashAfterACreateWithAPassword crashes the agent after the call that creates a guest with its password. Settling finds the guest, but not the
// password that it got, so the agent sends the same text once more.
func TestCrashAfterACreateWithAPassword(t *testing.T) {
	runLabWithSecrets(t, func(t *testing.T, l *lab, s *secretStore) {
		l.files["web.yaml"] = strings.Replace(vmYAML("web-1", 201, withPassword...), "{clone: {name: tmpl-debian-12}}", "{blank: {}}", 1)
		l.push("a blank guest", alice)
		d := &crashingCluster{Cluster: s, op: cluster.OpCreate, at: "after-call"}
		l.opts.Cluster = d
		stop := l.start()
		eventually(t, "the crash", d.crashed.Load)
		stop()
		l.opts.Cluster = s
		defer l.start()()
		l.converge()
		time.Sleep(time.Hour)
		if got := s.texts(); len(got) != 1 || got[0] != l.sim.Value(201, "cipassword") || len(s.sent) != 2 {
			t.Errorf("got texts %v in %d calls, want one text in two", got, len(s.sent))
		}
		if got := l.sim.Effects(201, pvesim.Created); got != 1 {
			t.Errorf("got %d creations, want 1", got)
		}
	})
}

// TestSecretsStayOutOfEverything runs a rotation, failures and a refusal, and searches everything that the agent stores or shows for the passwords,
// their hashes and parts of them.
func TestSecretsStayOutOfEverything(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		shown := map[string]string{}
		l := newLab(t, newSim(t, pvesim.Options{}), func(o *reconcile.Options) {
			o.Logger = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		s := &secretStore{Cluster: l.cluster, contents: map[string]string{"web": hunter}}
		l.opts.Cluster, l.opts.Secrets = s, secret.Source{Read: s.read, Key: []byte("of the state directory")}
		l.files["cluster.yaml"] = clusterYAML
		l.files["web.yaml"] = vmYAML("web-1", 201, withPassword...)
		l.files["dns.yaml"] = dnsYAML("passwordFrom: {file: web}")
		l.push("guests with passwords", alice)
		stop := l.start()
		l.converge()
		first := l.sim.Value(201, "cipassword")
		faults := []pvesim.Fault{
			{Kind: pvesim.ErrorText, Text: "cannot take " + first},
			{Kind: pvesim.TaskFails, Text: "no password " + first},
			{Kind: pvesim.DropAfter},
		}
		encoded := []string{
			url.QueryEscape(first), base64.StdEncoding.EncodeToString([]byte(first)), hex.EncodeToString([]byte(first)), url.QueryEscape(hunter), html.EscapeString(hunter), first[:len(first)/2],
		}
		for i, form := range encoded {
			faults = append(faults, pvesim.Fault{Kind: []pvesim.FaultKind{pvesim.ErrorText, pvesim.TaskFails}[i%2], Text: "cannot take '" + form + "'"})
		}
		for i, fault := range faults {
			s.put("another one")
			eventually(t, "the other password", func() bool { return l.sim.Value(201, "cipassword") != first })
			fault.Method, fault.Path = "POST", "/qemu/201/config$"
			l.ok(l.sim.Inject(fault))
			s.put(hunter)
			for minute := range 10 {
				time.Sleep(time.Minute)
				shown[fmt.Sprintf("report %d.%d", i, minute)] = rendered(t, l.engine.Report())
			}
			eventually(t, "the password", func() bool { return l.sim.Value(201, "cipassword") == first })
		}
		l.converge()
		shown["report"] = rendered(t, l.engine.Report())
		stop()
		shown["log"] = log.String()
		shown["steps"] = fmt.Sprintf("%+v", l.steps)
		maps.Copy(shown, filesBelow(t, filepath.Join(l.state, "journal")))
		needles := append(encoded, hunter, "hunter2", "the beast", "another")
		for _, text := range s.texts() {
			needles = append(needles, text, text[strings.LastIndex(text, "$")+1:])
		}
		if len(needles) < 8 || !strings.Contains(shown["log"], "cipassword") && len(shown["steps"]) == 0 {
			t.Fatalf("got needles %v and a log of %d bytes, want passwords sent and steps logged", needles, len(shown["log"]))
		}
		if !strings.Contains(shown["log"], proxmoxwire.Withheld) {
			t.Errorf("got a log without %q", proxmoxwire.Withheld)
		}
		for where, text := range shown {
			for _, needle := range needles {
				if strings.Contains(text, needle) {
					t.Errorf("got %q in %s, want it in no output", needle, where)
				}
			}
		}
	})
}

func rendered(t *testing.T, r report.Report) string {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// filesBelow returns the content of every file in a directory by its path.
func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		files[path] = string(content)
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d files in %s and %v, want some", len(files), dir, err)
	}
	return files
}
