package pvesim

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// client calls a Sim in process with one token.
type client struct {
	t     *testing.T
	sim   *Sim
	token string
}

// answer is a reply as a client receives it.
type answer struct {
	status int
	reason string
	body   string
}

func (a answer) data(t *testing.T) json.RawMessage {
	t.Helper()
	var v struct{ Data json.RawMessage }
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatalf("decode %d %s %q: %v", a.status, a.reason, a.body, err)
	}
	return v.Data
}

// fields decodes an object; it returns numbers and strings as text.
func (a answer) fields(t *testing.T) map[string]string {
	t.Helper()
	var v map[string]json.RawMessage
	if err := json.Unmarshal(a.data(t), &v); err != nil {
		t.Fatalf("decode %q: %v", a.body, err)
	}
	out := map[string]string{}
	for k, raw := range v {
		out[k] = strings.Trim(string(raw), `"`)
	}
	return out
}

func newClient(t *testing.T, opts Options) *client {
	t.Helper()
	sim := New(opts)
	t.Cleanup(sim.Close)
	return &client{t: t, sim: sim, token: sim.Token("root@pam!full")}
}

func (c *client) as(token string) *client {
	return &client{t: c.t, sim: c.sim, token: c.sim.Token(token)}
}

// call sends "METHOD /path" with parameters as a form, or in the query for GET and DELETE.
func (c *client) call(method, path string, params ...string) answer {
	c.t.Helper()
	q := url.Values{}
	for _, p := range params {
		k, v, _ := strings.Cut(p, "=")
		q.Add(k, v)
	}
	var body io.Reader
	u := "http://pve" + apiRoot + path
	if method == http.MethodGet || method == http.MethodDelete {
		if len(q) > 0 {
			u += "?" + q.Encode()
		}
	} else {
		body = strings.NewReader(q.Encode())
	}
	req, err := http.NewRequestWithContext(c.t.Context(), method, u, body)
	if err != nil {
		c.t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	req.Header.Set("Authorization", "PVEAPIToken="+c.token)
	return c.send(req)
}

func (c *client) send(req *http.Request) answer {
	c.t.Helper()
	resp, err := c.sim.Transport().RoundTrip(req)
	if err != nil {
		return answer{reason: err.Error()}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{status: resp.StatusCode, reason: err.Error(), body: string(b)}
	}
	_, reason, _ := strings.Cut(resp.Status, " ")
	return answer{status: resp.StatusCode, reason: reason, body: string(b)}
}

// ok calls and fails the test unless the status is 200.
func (c *client) ok(method, path string, params ...string) answer {
	c.t.Helper()
	a := c.call(method, path, params...)
	if a.status != http.StatusOK {
		c.t.Fatalf("%s %s %v: got %d %s %s, want 200", method, path, params, a.status, a.reason, a.body)
	}
	return a
}

// task calls, waits for the task and returns its exit status.
func (c *client) task(method, path string, params ...string) string {
	c.t.Helper()
	var upid string
	if err := json.Unmarshal(c.ok(method, path, params...).data(c.t), &upid); err != nil {
		c.t.Fatal(err)
	}
	return c.wait(upid)
}

// waitAndSay returns how a task ended, and for a backup with errors, which only its log names, the log.
func (c *client) waitAndSay(upid string) string {
	c.t.Helper()
	outcome := c.wait(upid)
	if outcome == "job errors" {
		outcome += string(c.ok("GET", "/nodes/pve1/tasks/"+upid+"/log").body)
	}
	return outcome
}

func (c *client) wait(upid string) string {
	c.t.Helper()
	for range 10000 {
		f := c.ok(http.MethodGet, "/nodes/pve1/tasks/"+upid+"/status").fields(c.t)
		if f["status"] == "stopped" {
			return f["exitstatus"]
		}
		time.Sleep(10 * time.Millisecond)
	}
	c.t.Fatalf("task %s: got running for ever, want an end", upid)
	return ""
}

func (c *client) config(vmid int) map[string]string {
	c.t.Helper()
	return c.ok(http.MethodGet, "/nodes/pve1/qemu/"+itoa(vmid)+"/config").fields(c.t)
}

// bubble runs a test in virtual time with a new Sim.
func bubble(t *testing.T, opts Options, f func(t *testing.T, c *client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newClient(t, opts)) })
}

func TestVMLifecycle(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		got := c.task("POST", "/nodes/pve1/qemu", "vmid=100", "name=web", "memory=1024", "scsi0=local:1", "net0=virtio,bridge=vmbr0")
		if got != "OK" {
			t.Fatalf("create: got %s, want OK", got)
		}
		conf := c.config(100)
		if want := "local:100/vm-100-disk-0.raw,size=1G"; conf["scsi0"] != want {
			t.Errorf("scsi0: got %s, want %s", conf["scsi0"], want)
		}
		if want := "order=scsi0;net0"; conf["boot"] != want {
			t.Errorf("boot: got %s, want %s", conf["boot"], want)
		}
		if got := c.task("POST", "/nodes/pve1/qemu/100/status/start"); got != "OK" {
			t.Errorf("start: got %s, want OK", got)
		}
		c.ok("PUT", "/nodes/pve1/qemu/100/config", "cores=4", "tags=b;a")
		cur := c.ok("GET", "/nodes/pve1/qemu/100/config", "current=1").fields(t)
		if cur["cores"] != "" || cur["tags"] != "a;b" {
			t.Errorf("running config: got cores %q tags %q, want none and a;b", cur["cores"], cur["tags"])
		}
		if got := c.task("POST", "/nodes/pve1/qemu/100/status/stop"); got != "OK" {
			t.Errorf("stop: got %s, want OK", got)
		}
		if got := c.config(100)["cores"]; got != "4" {
			t.Errorf("cores after stop: got %s, want 4", got)
		}
		if got := c.task("DELETE", "/nodes/pve1/qemu/100"); got != "OK" {
			t.Errorf("destroy: got %s, want OK", got)
		}
		if n := len(c.sim.Volumes()); n != 0 {
			t.Errorf("volumes after destroy: got %d, want 0", n)
		}
		for op, want := range map[Op]int{Created: 1, ConfigWritten: 1, Started: 1, Stopped: 1, Destroyed: 1} {
			if got := c.sim.Effects(100, op); got != want {
				t.Errorf("effect %s: got %d, want %d", op, got, want)
			}
		}
		if v := c.sim.Violations(); len(v) > 0 {
			t.Errorf("violations: got %v, want none", v)
		}
	})
}
