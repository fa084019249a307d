package reconcile_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/proxmox"
	"gitops-agent/internal/pvesim"
)

// wire records the writes to guests when they leave the engine's client.
type wire struct {
	next http.RoundTripper

	mu   sync.Mutex
	sent []sent
}

// sent is one write.
type sent struct {
	method, path string            // the path is below /api2/json
	params       map[string]string // of query and body
}

// runLabWithWire runs a test in virtual time, with a wire between the engine's client and the simulator.
func runLabWithWire(t *testing.T, options pvesim.Options, test func(t *testing.T, l *lab, w *wire)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, newSim(t, options))
		l.files["cluster.yaml"] = clusterYAML
		l.rareTicks()
		w := &wire{next: l.sim.Transport()}
		token := filepath.Join(t.TempDir(), "token")
		l.ok(os.WriteFile(token, []byte(l.sim.Token("gitops@pve!agent")+"\n"), 0o600))
		client, err := proxmox.New(proxmox.Options{Endpoints: []string{"https://pve1.lab.test:8006"}, TokenFile: token, Transport: w})
		l.ok(err)
		t.Cleanup(client.Close)
		l.opts.Cluster = client
		test(t, l, w)
	})
}

// RoundTrip records a write and sends it.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		s := sent{method: r.Method, path: strings.TrimPrefix(r.URL.Path, "/api2/json"), params: map[string]string{}}
		for key, values := range r.URL.Query() {
			s.params[key] = strings.Join(values, ",")
		}
		if r.Body != nil {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, fmt.Errorf("read request: %w", err)
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			var params map[string]any
			if len(body) > 0 {
				if err := json.Unmarshal(body, &params); err != nil {
					return nil, fmt.Errorf("decode request: %w", err)
				}
			}
			for key, value := range params {
				s.params[key] = fmt.Sprint(value)
			}
		}
		w.mu.Lock()
		w.sent = append(w.sent, s)
		w.mu.Unlock()
	}
	return w.next.RoundTrip(r) //nolint:wrapcheck // the client inspects the simulator's own error
}

// writes returns the writes to paths with this suffix since the last call of reset.
func (w *wire) writes(suffix string) []sent {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []sent
	for _, s := range w.sent {
		if strings.HasSuffix(s.path, suffix) {
			list = append(list, s)
		}
	}
	return list
}

func (w *wire) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = nil
}

// wantNoWrites waits an hour, in which every guest is read in full thirty times, and fails the test if there is a write.
func (w *wire) wantNoWrites(t testing.TB) {
	t.Helper()
	w.reset()
	time.Sleep(time.Hour)
	if got := w.writes(""); len(got) != 0 {
		t.Errorf("got writes %v within an hour, want none", got)
	}
}

// waitForCondition waits until the report of a guest has a condition that contains all these words.
func (l *lab) waitForCondition(vmid int, words ...string) {
	l.Helper()
	eventually(l, fmt.Sprintf("a condition of %d that contains %q", vmid, words), func() bool {
		for _, g := range l.engine.Report().Guests {
			if g.VMID != vmid {
				continue
			}
			for _, c := range g.Conditions {
				text := string(c.Type) + " " + string(c.Reason) + " " + c.Message
				missing := false
				for _, word := range words {
					missing = missing || !strings.Contains(text, word)
				}
				if !missing {
					return true
				}
			}
		}
		return false
	})
}

// volumesOf returns the volumes that have a vmid in their names.
func (l *lab) volumesOf(vmid int) []string {
	var list []string
	for _, v := range l.sim.Volumes() {
		if strings.Contains(v.ID, fmt.Sprintf("-%d-", vmid)) {
			list = append(list, v.ID)
		}
	}
	return list
}
