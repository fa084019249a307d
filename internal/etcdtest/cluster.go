package etcdtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"gitops-agent/internal/loopback"
)

// ErrNoEtcd means that the program etcd is not installed.
var ErrNoEtcd = errors.New("the program etcd is not installed: apt install etcd-server")

// Cluster is an etcd of one or several members on loopback.
type Cluster struct {
	Members []*Member
}

// Member is one process of etcd.
type Member struct {
	name, client, peer string // addresses
	dir                string
	args               []string
	process            *exec.Cmd
	log                *logBuffer
}

// Start starts a cluster that the test ends, with further flags of etcd. It fails the test if the program etcd is not installed.
func Start(t testing.TB, members int, flags ...string) *Cluster {
	t.Helper()
	c, err := Run(t.TempDir(), members, flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// Run starts a cluster with its data in dir and with further flags of etcd, and waits until it has a leader.
func Run(dir string, members int, flags ...string) (*Cluster, error) {
	if _, err := exec.LookPath("etcd"); err != nil {
		return nil, ErrNoEtcd
	}
	c := &Cluster{}
	var peers []string
	for i := range members {
		m := &Member{name: fmt.Sprintf("m%d", i), dir: filepath.Join(dir, fmt.Sprintf("m%d", i))}
		var err error
		if m.client, err = loopback.FreeAddress(); err != nil {
			return nil, err
		}
		if m.peer, err = loopback.FreeAddress(); err != nil {
			return nil, err
		}
		peers = append(peers, m.name+"=http://"+m.peer)
		c.Members = append(c.Members, m)
	}
	for _, m := range c.Members {
		m.args = append([]string{
			"--name", m.name, "--data-dir", m.dir, "--listen-client-urls", "http://" + m.client, "--advertise-client-urls", "http://" + m.client,
			"--listen-peer-urls", "http://" + m.peer, "--initial-advertise-peer-urls", "http://" + m.peer,
			"--initial-cluster", strings.Join(peers, ","), "--initial-cluster-state", "new", "--logger", "zap", "--log-outputs", "stderr", "--log-level", "warn",
		}, flags...)
		if err := m.start(); err != nil {
			c.Close()
			return nil, err
		}
	}
	if err := c.await(); err != nil {
		text := c.Members[0].log.String()
		c.Close()
		return nil, fmt.Errorf("%w: %s", err, text)
	}
	return c, nil
}

// await waits until the cluster stores a value.
func (c *Cluster) await() error {
	etcd, err := c.open()
	if err != nil {
		return err
	}
	defer etcd.Close()
	var last error
	for range 60 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_, last = etcd.Put(ctx, "/etcdtest", "")
		cancel()
		if last == nil {
			return nil
		}
	}
	return fmt.Errorf("etcd does not start: %w", last)
}

func (c *Cluster) open() (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: c.Endpoints(), DialTimeout: 5 * time.Second, Logger: zap.NewNop()})
}

// Client returns a client that reaches all members.
func (c *Cluster) Client(t testing.TB) *clientv3.Client {
	t.Helper()
	etcd, err := c.open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = etcd.Close() })
	return etcd
}

// Endpoints returns the addresses for clients.
func (c *Cluster) Endpoints() []string {
	var endpoints []string
	for _, m := range c.Members {
		endpoints = append(endpoints, "http://"+m.client)
	}
	return endpoints
}

// Close ends all members.
func (c *Cluster) Close() {
	for _, m := range c.Members {
		m.kill()
	}
}

// Address returns the address for clients, without the scheme.
func (m *Member) Address() string { return m.client }

func (m *Member) start() error {
	m.log = &logBuffer{}
	m.process = exec.CommandContext(context.Background(), "etcd", m.args...) //nolint:gosec // a fixed program
	m.process.Env = append(os.Environ(), "ETCD_UNSUPPORTED_ARCH=arm64")
	m.process.Stdout, m.process.Stderr = m.log, m.log
	return m.process.Start()
}

func (m *Member) kill() {
	if m.process == nil {
		return
	}
	_ = m.process.Process.Kill()
	_ = m.process.Wait() // killed
	m.process = nil
}

// Stop kills the member.
func (m *Member) Stop(testing.TB) { m.kill() }

// Start starts the member again, with its data.
func (m *Member) Start(t testing.TB) {
	t.Helper()
	if err := m.start(); err != nil {
		t.Fatal(err)
	}
}

// Signal sends a signal to the member, such as SIGSTOP.
func (m *Member) Signal(t testing.TB, signal os.Signal) {
	t.Helper()
	if err := m.process.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// Leader waits until a member leads etcd, and returns it.
func (c *Cluster) Leader(t testing.TB) *Member {
	t.Helper()
	etcd := c.Client(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		for i, endpoint := range c.Endpoints() {
			ask, done := context.WithTimeout(ctx, 5*time.Second)
			status, err := etcd.Status(ask, endpoint)
			done()
			if err == nil && status.Leader == status.Header.MemberId {
				return c.Members[i]
			}
		}
	}
	t.Fatal("no member leads")
	return nil
}

// Save copies the data of a cluster of one member, as a backup does.
func (c *Cluster) Save(t testing.TB) (dir string) {
	t.Helper()
	m := c.Members[0]
	m.kill()
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(m.dir)); err != nil {
		t.Fatal(err)
	}
	m.Start(t)
	c.mustAwait(t)
	return dir
}

// Restore replaces the data of a cluster of one member by a copy.
func (c *Cluster) Restore(t testing.TB, dir string) {
	t.Helper()
	m := c.Members[0]
	m.kill()
	if err := errors.Join(os.RemoveAll(m.dir), os.CopyFS(m.dir, os.DirFS(dir))); err != nil {
		t.Fatal(err)
	}
	m.Start(t)
	c.mustAwait(t)
}

// SmallQuota is the flag of an etcd that Fill makes full.
const SmallQuota = "--quota-backend-bytes=8388608"

// Fill stores data until etcd has no space left: from then on it raises an alarm, and takes neither keys nor leases. It returns what makes it usable again.
func (c *Cluster) Fill(t testing.TB) (free func()) {
	t.Helper()
	etcd, ctx := c.Client(t), t.Context()
	for i := 0; ; i++ {
		_, err := etcd.Put(ctx, fmt.Sprintf("/ballast/%d", i), strings.Repeat("x", 1<<20))
		if errors.Is(err, rpctypes.ErrNoSpace) {
			break
		}
		if err != nil || i > 100 {
			t.Fatalf("fill etcd: %v after %d MiB", err, i)
		}
	}
	return func() {
		t.Helper()
		reply, err := etcd.Delete(ctx, "/ballast/", clientv3.WithPrefix())
		if err == nil {
			_, err = etcd.Compact(ctx, reply.Header.Revision, clientv3.WithCompactPhysical())
		}
		for _, endpoint := range c.Endpoints() {
			if err == nil {
				_, err = etcd.Defragment(ctx, endpoint)
			}
		}
		if err == nil {
			_, err = etcd.AlarmDisarm(ctx, &clientv3.AlarmMember{})
		}
		if err != nil {
			t.Fatalf("free etcd: %v", err)
		}
	}
}

func (c *Cluster) mustAwait(t testing.TB) {
	t.Helper()
	if err := c.await(); err != nil {
		t.Fatal(err)
	}
}

// logBuffer keeps the end of the output of a process.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.text.Len() > 1<<20 {
		b.text.Reset()
	}
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
