//go:build integration

package ha

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"sync"
	"testing"
	"time"

	"gitops-agent/reconcile/journal/etcdstore"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// calls are the calls that change something, and who led when.
type calls struct {
	mu        sync.Mutex
	made      []madeCall
	elections []election
	hold      map[string]chan struct{} // by agent: its calls wait until the channel is closed
	held      int                      // calls that wait, or have waited
}

type madeCall struct {
	at          time.Time
	agent, lane string // a vmid, or the path of another object
	what        string // for messages
}

type election struct {
	at    time.Time // when the test learned of it
	agent string
}

// lateCall is a call that an agent made although another agent had been elected since. Term counts the elections before the call.
type lateCall struct {
	madeCall
	term int
}

// late returns the late calls.
func (c *calls) late() []lateCall {
	c.mu.Lock()
	defer c.mu.Unlock()
	var late []lateCall
	for _, call := range c.made {
		term, led := 0, false
		leader := ""
		for _, e := range c.elections {
			if e.at.After(call.at) {
				break
			}
			term, leader, led = term+1, e.agent, led || e.agent == call.agent
		}
		if led && leader != call.agent {
			late = append(late, lateCall{call, term})
		}
	}
	return late
}

// number returns how many calls were made.
func (c *calls) number() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.made)
}

// serve serves the API for one agent and records its calls. It returns the address.
func (c *calls) serve(t testing.TB, agent string, api http.Handler, config *tls.Config) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet {
				c.pass(agent, r)
			}
			api.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 5 * time.Second, TLSConfig: config, ErrorLog: log.New(io.Discard, "", 0),
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){}, // no HTTP/2, like Proxmox
	}
	served := make(chan error, 1)
	go func() { served <- server.ServeTLS(listener, "", "") }()
	t.Cleanup(func() { _ = server.Close(); <-served })
	return listener.Addr().String()
}

var vmidInPath = regexp.MustCompile(`/(?:qemu|lxc)/(\d+)`)

// holdCalls lets the calls of an agent wait on their way to the cluster, until release is called.
func (c *calls) holdCalls(agent string) (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	until := make(chan struct{})
	c.hold = map[string]chan struct{}{agent: until}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.hold = nil
		close(until)
	}
}

// holds returns how many calls wait, or have waited.
func (c *calls) holds() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held
}

// pass waits while calls of the agent are held, and records the call.
func (c *calls) pass(agent string, r *http.Request) {
	c.mu.Lock()
	until := c.hold[agent]
	if until != nil {
		c.held++
	}
	c.mu.Unlock()
	if until != nil {
		<-until
	}
	c.record(agent, r)
}

func (c *calls) record(agent string, r *http.Request) {
	call := madeCall{at: time.Now(), agent: agent, lane: r.URL.Path, what: r.Method + " " + r.URL.Path}
	if m := vmidInPath.FindStringSubmatch(r.URL.Path); m != nil {
		call.lane = m[1]
	} else if body, err := io.ReadAll(r.Body); err == nil {
		r.Body = io.NopCloser(bytes.NewReader(body))
		if vmid := vmidInBody(body); vmid != "" {
			call.lane = vmid
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made = append(c.made, call)
}

// vmidInBody returns the parameter vmid of a call that creates a guest.
func vmidInBody(body []byte) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) == nil {
		return string(bytes.Trim(fields["vmid"], `"`))
	}
	form, _ := url.ParseQuery(string(body)) // "" if it is neither
	return form.Get("vmid")
}

// followElections records every election below a prefix until the test ends.
func (c *calls) followElections(t testing.TB, etcd *clientv3.Client, prefix string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for reply := range etcd.Watch(ctx, prefix+"/leader") {
			for _, event := range reply.Events {
				var now etcdstore.Leader
				if event.Type == clientv3.EventTypePut && json.Unmarshal(event.Kv.Value, &now) == nil {
					c.mu.Lock()
					c.elections = append(c.elections, election{time.Now(), now.Name})
					c.mu.Unlock()
				}
			}
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
}

// awaitRecord returns after the next commit of the journal below a prefix, or after a time.
func awaitRecord(etcd *clientv3.Client, prefix string, limit time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for reply := range etcd.Watch(ctx, prefix+"/commits/", clientv3.WithPrefix()) {
		if len(reply.Events) > 0 {
			return
		}
	}
}

// checkLate fails the test if a stopped leader has made more than one late call in a lane, and returns the number of late calls.
func (w *world) checkLate() int {
	w.Helper()
	late := w.calls.late()
	for _, problem := range repeated(late) {
		w.Error(problem)
	}
	return len(late)
}

// repeated returns what is wrong with late calls: more than one of an agent in a lane after the same election.
func repeated(late []lateCall) (problems []string) {
	type lane struct {
		term        int
		agent, lane string
	}
	seen := map[lane]string{}
	for _, c := range late {
		key := lane{c.term, c.agent, c.lane}
		if before, ok := seen[key]; ok {
			problems = append(problems, fmt.Sprintf("%s made a second late call for %s: %s after %s", c.agent, c.lane, c.what, before))
		}
		seen[key] = c.what
	}
	return problems
}

func TestLateCalls(t *testing.T) {
	t.Parallel()
	type made struct {
		second      int
		agent, lane string
	}
	for name, test := range map[string]struct {
		leaders        []string
		made           []made
		late, problems int
	}{
		"of the leader":                    {[]string{"a"}, []made{{1, "a", "601"}, {2, "a", "601"}}, 0, 0},
		"of the next leader":               {[]string{"a", "b"}, []made{{1, "a", "601"}, {11, "b", "601"}, {12, "b", "601"}}, 0, 0},
		"one for each of two guests":       {[]string{"a", "b"}, []made{{11, "a", "601"}, {12, "a", "602"}}, 2, 0},
		"two for a guest":                  {[]string{"a", "b"}, []made{{11, "a", "601"}, {12, "a", "601"}}, 2, 1},
		"of a leader that leads again":     {[]string{"a", "b", "a"}, []made{{11, "a", "601"}, {21, "a", "601"}, {22, "a", "601"}}, 1, 0},
		"one after each of two elections":  {[]string{"a", "b", "c"}, []made{{11, "a", "601"}, {21, "a", "601"}}, 2, 0},
		"before the test sees an election": {[]string{"a"}, []made{{1, "b", "601"}, {2, "b", "601"}}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c calls
			for i, agent := range test.leaders { // one each ten seconds
				c.elections = append(c.elections, election{time.Unix(int64(10*i), 0), agent})
			}
			for _, m := range test.made {
				c.made = append(c.made, madeCall{at: time.Unix(int64(m.second), 0), agent: m.agent, lane: m.lane})
			}
			late := c.late()
			if got := repeated(late); len(late) != test.late || len(got) != test.problems {
				t.Errorf("got %d late calls and the problems %v, want %d and %d", len(late), got, test.late, test.problems)
			}
		})
	}
}
