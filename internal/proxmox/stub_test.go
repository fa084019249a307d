package proxmox

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gitops-agent/internal/proxmox/route"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

const testSecret = "12345678-9abc-4def-8123-456789abcdef"

// stubReply is the reply of a server. The status line contains Proxmox's text.
type stubReply struct {
	status       int
	reason, body string
	endless      io.Reader // in place of body
}

func (r stubReply) response() *http.Response {
	res := &http.Response{
		StatusCode:    r.status,
		Status:        fmt.Sprintf("%d %s", r.status, r.reason),
		Header:        http.Header{"Content-Type": {"application/json;charset=UTF-8"}},
		Body:          io.NopCloser(strings.NewReader(r.body)),
		ContentLength: int64(len(r.body)),
	}
	if r.endless != nil {
		res.Body, res.ContentLength = io.NopCloser(r.endless), -1
	}
	return res
}

func respond(status int, reason, body string) stubReply {
	return stubReply{status: status, reason: reason, body: body}
}

func ok(data string) stubReply { return respond(200, "OK", `{"data":`+data+`}`) }

// refused returns a reply like most failures of Proxmox: the text is in the reason and in the message.
func refused(reason string) stubReply {
	return respond(500, reason, fmt.Sprintf(`{"data":null,"message":%q}`, reason+"\n"))
}

// roundTrip is a transport that answers in the same process.
type roundTrip func(req *http.Request) (stubReply, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) {
	answer, err := f(req)
	if err != nil {
		return nil, err
	}
	return answer.response(), nil
}

// seen is a request as a server received it.
type seen struct{ Method, Path, Body, ContentType string }

// recorder answers every request with the reply of next, and stores the requests.
type recorder struct {
	mu   sync.Mutex
	got  []seen
	next func(s seen) stubReply
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	s := seen{Method: req.Method, Path: strings.TrimPrefix(req.URL.RequestURI(), route.Base), ContentType: req.Header.Get("Content-Type")}
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		s.Body = string(body)
	}
	r.mu.Lock()
	r.got = append(r.got, s)
	r.mu.Unlock()
	return r.next(s).response(), nil
}

// always returns a recorder that gives every request the same reply.
func always(status int, reason, body string) *recorder {
	return &recorder{next: func(seen) stubReply { return respond(status, reason, body) }}
}

// byPath returns a recorder that answers by path and query. Any other request fails the test.
func byPath(t *testing.T, replies map[string]stubReply) *recorder {
	t.Helper()
	return &recorder{next: func(s seen) stubReply {
		answer, known := replies[s.Method+" "+s.Path]
		if !known {
			t.Errorf("got unexpected request %s %s", s.Method, s.Path)
			return respond(501, "not in this test", "")
		}
		return answer
	}}
}

func tokenFile(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte("gitops@pve!agent="+testSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// inProcess returns a client that sends its requests to next.
func inProcess(t testing.TB, next http.RoundTripper) *Client {
	t.Helper()
	return newClient(t, Options{Endpoints: []string{"https://pve1.test"}, Transport: next})
}

func newClient(t testing.TB, options Options) *Client {
	t.Helper()
	options.TokenFile = tokenFile(t)
	client, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// rawServer writes replies byte for byte, because a net/http server cannot send the status lines of Proxmox.
func rawServer(t *testing.T, answer func(req *http.Request) (raw string)) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(hijacking(t, answer))
	t.Cleanup(server.Close)
	return server
}

// hijacking returns a handler that writes answer's text and closes the connection.
func hijacking(t *testing.T, answer func(req *http.Request) (raw string)) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			t.Errorf("read request: %v", err)
		}
		raw := answer(req)
		conn, buffered, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Errorf("hijack: %v", err)
			return
		}
		defer func() { _ = conn.Close() }()
		write(t, buffered.Writer, raw)
	}
}

func write(t *testing.T, w *bufio.Writer, raw string) {
	t.Helper()
	if _, err := w.WriteString(raw); err != nil {
		t.Errorf("write reply: %v", err)
	}
	if err := w.Flush(); err != nil {
		t.Errorf("write reply: %v", err)
	}
}

// raw returns a reply's bytes as pveproxy sends them.
func raw(status int, reason, body string) string {
	return fmt.Sprintf("HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Type: application/json;charset=UTF-8\r\nContent-Length: %d\r\n\r\n%s",
		status, reason, len(body), body)
}

var (
	vmRow = cluster.Row{Kind: guest.VirtualMachine, VMID: 100, Node: "pve1", Name: "web", Status: guest.StatusRunning}
	ctRow = cluster.Row{Kind: guest.Container, VMID: 200, Node: "pve1", Name: "dns", Status: guest.StatusStopped}
)

const (
	testUPID  = "UPID:pve1:000000D3:0003A844:6B00C1F6:qmstart:101:gitops@pve!agent:"
	testUPID2 = "UPID:pve1:000000D4:0003A845:6B00C1F8:qmstart:101:root@pam:"
)
