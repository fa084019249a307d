//go:build integration

package etcdstore_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/etcdtest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/journal/etcdstore"
	"gitops-agent/reconcile/journal/storetest"

	clientv3 "go.etcd.io/etcd/client/v3"
)

func TestEtcdAsStore(t *testing.T) {
	cluster := etcdtest.Start(t, 1)
	places := 0
	storetest.Run(t, func(t *testing.T) storetest.Place {
		places++
		return newPlace(t, cluster, fmt.Sprintf("/place-%d", places))
	})
}

// place is a journal in a real etcd, behind a proxy.
type place struct {
	cluster *etcdtest.Cluster
	prefix  string
	proxy   *etcdtest.Proxy
	dir     string
	client  *etcdstore.Client
	leader  *etcdstore.Leadership
	journal *journal.Journal
}

func newPlace(t *testing.T, cluster *etcdtest.Cluster, prefix string) *place {
	t.Helper()
	p := &place{cluster: cluster, prefix: prefix, proxy: etcdtest.NewProxy(t, cluster.Members[0].Address()), dir: t.TempDir()}
	p.connect(t)
	return p
}

func (p *place) connect(t *testing.T) {
	t.Helper()
	client, err := etcdstore.Open(etcdstore.Options{Endpoints: []string{"http://" + p.proxy.Address()}, Prefix: p.prefix})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	p.client = client
}

func (p *place) Open(t *testing.T, opts journal.Options) *journal.Journal {
	t.Helper()
	if p.leader == nil {
		leader, err := p.client.Elect(t.Context(), "test", func(error) {})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { leader.Release(true) })
		p.leader = leader
	}
	opts.Dir, opts.Blocks = p.dir, p.client.Store(p.leader)
	j, err := journal.Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Healthy(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	p.journal = j
	return j
}

// depose ends the lease in etcd, as its end does. The process does not notice.
func (p *place) depose(t *testing.T) {
	t.Helper()
	etcd := p.cluster.Client(t)
	reply, err := etcd.Get(t.Context(), p.prefix+"/leader")
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range reply.Kvs {
		if _, err := etcd.Revoke(t.Context(), clientv3.LeaseID(kv.Lease)); err != nil {
			t.Fatal(err)
		}
	}
	p.leader = nil
}

func (p *place) Kill(t *testing.T) {
	t.Helper()
	p.depose(t)
	if err := p.journal.Close(); err != nil {
		t.Fatal(err)
	}
}

// Tear stores the first part of a large commit.
func (p *place) Tear(t *testing.T) {
	t.Helper()
	key := fmt.Sprintf("%s/commits/%020d/", p.prefix, p.journal.State().Seq+1)
	for part := range 3 {
		if _, err := p.cluster.Client(t).Put(t.Context(), fmt.Sprintf("%s%04d", key, part), strings.Repeat("x", 1000)); err != nil {
			t.Fatal(err)
		}
	}
}

func (p *place) Slow(_ *testing.T, by time.Duration) { p.proxy.Delay(by) }
func (p *place) Cut(*testing.T)                      { p.proxy.Cut() }
func (p *place) Heal(*testing.T)                     { p.proxy.Heal() }

func (p *place) Succeed(t *testing.T) error {
	p.depose(t)
	p.dir = t.TempDir()
	p.connect(t)
	return nil
}

func (p *place) Read() journal.Reader {
	return journal.InBlocks(context.Background(), p.client.Store(nil))
}

// A transaction whose reply is lost is tried again, and the commit is there once.
func TestLostReply(t *testing.T) {
	p := newPlace(t, etcdtest.Start(t, 1), "/lost")
	j := p.Open(t, journal.Options{})
	for i := range 6 {
		if i%2 == 1 {
			p.proxy.LoseReplies()
			time.AfterFunc(time.Second, p.proxy.Heal)
		}
		if err := j.Append(t.Context(), journal.Event{Name: "note", Message: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	summary, err := p.Read()(func(journal.Record) error { return nil })
	if err != nil || summary.Seq != 6 || summary.Records != 6 {
		t.Errorf("got %+v and %v, want six records", summary, err)
	}
}

// Without a quorum nothing is acknowledged, and the leader stops to lead before its lease ends.
func TestLostQuorum(t *testing.T) {
	cluster := etcdtest.Start(t, 3)
	client, err := etcdstore.Open(etcdstore.Options{Endpoints: cluster.Endpoints(), Prefix: "/quorum"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	leader, err := client.Elect(t.Context(), "first", func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(journal.Options{Dir: t.TempDir(), Blocks: client.Store(leader)})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	note := journal.Event{Name: "note"}
	if err := j.Append(t.Context(), note); err != nil {
		t.Fatal(err)
	}
	cluster.Members[0].Stop(t)
	if err := j.Append(t.Context(), note); err != nil {
		t.Fatalf("one of three members is stopped: %v", err)
	}
	cluster.Members[1].Stop(t)
	if err := j.Append(t.Context(), note); !errors.Is(err, journal.ErrNotLeader) {
		t.Errorf("got %v without a quorum, want ErrNotLeader", err)
	}
	<-leader.Ended()
	if err := leader.Check(); !errors.Is(err, journal.ErrNotLeader) {
		t.Errorf("got %v after the lease, want ErrNotLeader", err)
	}
	cluster.Members[0].Start(t)
	second, err := client.Elect(t.Context(), "second", func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Release(true)
	if second.Number != leader.Number+1 || second.QuietUntil.IsZero() {
		t.Errorf("got leader %d, quiet until %s, want the number after %d and a wait", second.Number, second.QuietUntil, leader.Number)
	}
	summary, err := journal.InBlocks(t.Context(), client.Store(nil))(func(journal.Record) error { return nil })
	if err != nil || summary.Seq < 2 || summary.Seq > 3 {
		t.Errorf("got record %d as the last and %v, want 2, or 3 if the last append arrived", summary.Seq, err)
	}
}

// An etcd that is restored from an old copy while the leader runs, and the leader after it on the same host, take no records.
func TestRestoredFromOldCopy(t *testing.T) {
	cluster := etcdtest.Start(t, 1)
	client, err := etcdstore.Open(etcdstore.Options{Endpoints: cluster.Endpoints(), Prefix: "/old"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	leader, err := client.Elect(t.Context(), "first", func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	dir, note := t.TempDir(), journal.Event{Name: "note"}
	j, err := journal.Open(journal.Options{Dir: dir, Blocks: client.Store(leader)})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Append(t.Context(), note); err != nil {
		t.Fatal(err)
	}
	old := cluster.Save(t)
	if err := j.Append(t.Context(), note, note); err != nil {
		t.Fatal(err)
	}
	cluster.Restore(t, old)
	if err := j.Append(t.Context(), note); !errors.Is(err, journal.ErrRolledBack) {
		t.Errorf("got %v of the leader that runs, want ErrRolledBack", err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	leader.Release(false)
	next, err := client.Elect(t.Context(), "next", func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	defer next.Release(true)
	if j, err = journal.Open(journal.Options{Dir: dir, Blocks: client.Store(next)}); err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if got := journal.FaultOf(j.Healthy()); got != journal.FaultRolledBack {
		t.Errorf("got the fault %s (%v) of the next leader, want %s", got, j.Healthy(), journal.FaultRolledBack)
	}
}

// A leader that releases its lease cleanly lets the next one begin at once.
func TestRelease(t *testing.T) {
	cluster := etcdtest.Start(t, 1)
	client, err := etcdstore.Open(etcdstore.Options{Endpoints: cluster.Endpoints(), Prefix: "/release"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	first, err := client.Elect(t.Context(), "first", func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	if other, err := client.TryElect(t.Context(), "other"); other != nil || err != nil {
		t.Fatalf("got %v and %v while another one leads, want nothing", other, err)
	}
	elected := make(chan *etcdstore.Leadership)
	go func() {
		second, err := client.Elect(context.Background(), "second", func(error) {})
		if err != nil {
			t.Error(err)
		}
		elected <- second
	}()
	first.Release(true)
	second := <-elected
	defer second.Release(true)
	if !second.QuietUntil.IsZero() || second.Number != 2 {
		t.Errorf("got leader %d, quiet until %s, want number 2 and no wait", second.Number, second.QuietUntil)
	}
	if now, found, err := client.Leader(t.Context()); err != nil || !found || now != second.Leader {
		t.Errorf("got %+v, %t and %v as the leader, want %+v", now, found, err, second.Leader)
	}
	if err := first.Check(); !errors.Is(err, journal.ErrNotLeader) {
		t.Errorf("got %v for a released leader, want ErrNotLeader", err)
	}
}

// TestUserWhoseTokenHasEnded ends the tokens of a user as a change of the password does, and as their time limit does after minutes without a request. The client
// asks for another one. It is made without an answer of etcd.
func TestUserWhoseTokenHasEnded(t *testing.T) {
	cluster := etcdtest.Start(t, 1)
	root, ctx := cluster.Client(t), t.Context()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(root.UserAdd(ctx, "root", "first"))
	must(root.RoleAdd(ctx, "root"))
	must(root.UserGrantRole(ctx, "root", "root"))
	must(root.UserAdd(ctx, "agent", "first")) // with the rights of docs/ha.md
	must(root.RoleAdd(ctx, "agent"))
	must(root.RoleGrantPermission(ctx, "agent", "/x/", clientv3.GetPrefixRangeEnd("/x/"), clientv3.PermissionType(clientv3.PermReadWrite)))
	must(root.UserGrantRole(ctx, "agent", "agent"))
	must(root.AuthEnable(ctx))
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("first\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	proxy := etcdtest.NewProxy(t, cluster.Members[0].Address())
	proxy.Cut()
	opts := etcdstore.Options{Endpoints: []string{"http://" + proxy.Address()}, Prefix: "/x", Username: "agent", PasswordFile: password}
	client, err := etcdstore.Open(opts)
	if err != nil {
		t.Fatalf("got %v, want a client without an answer", err)
	}
	t.Cleanup(func() { _ = client.Close() })
	proxy.Heal()
	isEmpty := func() {
		t.Helper()
		if _, err := journal.InBlocks(ctx, client.Store(nil)).State(); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("got %v, want the answer that there is no journal", err)
		}
	}
	isEmpty()
	administrator, err := clientv3.New(clientv3.Config{Endpoints: cluster.Endpoints(), Username: "root", Password: "first"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = administrator.Close() })
	for range 2 {
		must(administrator.UserChangePassword(ctx, "agent", "first"))
		isEmpty()
	}
	must(administrator.UserChangePassword(ctx, "agent", "first"))
	leader, err := client.Elect(ctx, "a", func(error) {})
	if err != nil {
		t.Fatalf("got %v, want to lead", err)
	}
	must(administrator.UserChangePassword(ctx, "agent", "first"))
	isEmpty()
	leader.Release(true)
	if _, leads, err := client.Leader(ctx); leads || err != nil {
		t.Errorf("got %t, %v, want no leader", leads, err)
	}
}

// awaited waits for a condition of a test with processes.
func awaited(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited without success for %s", what)
		}
	}
}

// An older copy replaces an etcd that a standby only waits for: it finds out, although a watch of the copy stays silent. An agent that waits for the end of a leader finds
// out that no agent leads.
func TestOlderCopyUnderAStandby(t *testing.T) {
	cluster := etcdtest.Start(t, 1)
	p := newPlace(t, cluster, "/older")
	unled := cluster.Save(t)
	j := p.Open(t, journal.Options{})
	note := func(text string) {
		t.Helper()
		if err := j.Append(t.Context(), journal.Event{Name: "note", Message: text}); err != nil {
			t.Fatal(err)
		}
	}
	note("before the copy")
	copied := cluster.Save(t)
	awaited(t, "a change after the restart", func() bool { return p.leader.Check() == nil })
	note("after the copy")

	standby := newPlace(t, cluster, "/older")
	follower, err := journal.Follow(t.Context(), journal.Options{Dir: standby.dir, Blocks: standby.client.Store(nil)})
	if err != nil {
		t.Fatal(err)
	}
	defer follower.Close()
	if err := follower.Healthy(); err != nil || follower.State().Seq != 2 || follower.State().Unread != nil {
		t.Fatalf("got %v and %d records, want both of them", err, follower.State().Seq)
	}
	elected := make(chan error, 1)
	go func() {
		l, err := standby.client.Elect(t.Context(), "standby", func(error) {})
		if err == nil {
			defer l.Release(true)
		}
		elected <- err
	}()

	cluster.Restore(t, copied)
	awaited(t, "the follower to see the rollback", func() bool { return journal.FaultOf(follower.Healthy()) == journal.FaultRolledBack })
	if got := follower.State(); got.Unread == nil || got.Seq != 2 {
		t.Errorf("got %d records and %v, want what was known, and that it is not all", got.Seq, got.Unread)
	}
	if _, err := journal.InService(t.Context(), standby.client.Store(nil), standby.dir).State(); !errors.Is(err, journal.ErrRolledBack) {
		t.Errorf("got %v from a reader on the host, want ErrRolledBack", err)
	}
	cluster.Restore(t, unled)
	select {
	case err := <-elected:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(2 * time.Minute):
		t.Error("got no leader although no agent leads")
	}
}

// An etcd without space answers, and takes neither records nor leaders.
func TestFullEtcd(t *testing.T) {
	cluster := etcdtest.Start(t, 1, etcdtest.SmallQuota)
	p := newPlace(t, cluster, "/full")
	j := p.Open(t, journal.Options{})
	free := cluster.Fill(t)
	if err := p.client.MayLead(t.Context()); journal.FaultOf(err) != journal.FaultDiskFull {
		t.Errorf("got %v for a new leader, want that there is no space", err)
	}
	if _, found, err := p.client.Leader(t.Context()); !found || err != nil || p.leader.Check() != nil {
		t.Errorf("got leader %t, %v and %v, want that the leader goes on", found, err, p.leader.Check())
	}
	if err := j.Append(t.Context(), journal.Event{Name: "note"}); journal.FaultOf(err) != journal.FaultDiskFull || journal.FaultOf(j.Healthy()) != journal.FaultDiskFull {
		t.Errorf("got %v and %v for a record, want that there is no space", err, j.Healthy())
	}
	if j.State().Unread != nil {
		t.Errorf("got %v, want a journal that was read in full", j.State().Unread)
	}
	free()
	if err := p.client.MayLead(t.Context()); err != nil {
		t.Errorf("got %v after there is space, want nil", err)
	}
}
