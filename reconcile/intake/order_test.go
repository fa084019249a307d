package intake

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/gitsource"
	"gitops-agent/internal/gittest"
	_ "gitops-agent/internal/memtemp"
	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/order"
	"gitops-agent/verify"
)

// signedRepo is a repository in which alice may change files and olga may approve. Orders are commits that do not change the tree.
type signedRepo struct {
	testing.TB
	repo *gittest.Repo
	sig  *sigtest.Sigstore
}

func newSignedRepo(t testing.TB) *signedRepo {
	t.Helper()
	sig, err := sigtest.New(sigtest.Options{Name: "orders", Seed: "orders", CAKey: sigtest.P256})
	if err != nil {
		t.Fatal(err)
	}
	o := &signedRepo{TB: t, repo: gittest.New(t), sig: sig}
	o.repo.Files["cluster.yaml"] = "kind: Cluster\n"
	o.commit("alice", "first")
	return o
}

func (o *signedRepo) commit(who, message string) {
	o.Helper()
	o.repo.Push(o.sig, sigtest.Identity{Subject: who + "@lab.test", Issuer: "https://issuer.test"}, message)
}

// revision verifies the commits after a base.
func (o *signedRepo) revision(base string) verify.Revision {
	o.Helper()
	rev, _ := o.checkWith(base, func(*verify.Options) {})
	return rev
}

// checkWith verifies the commits after a base under a changed policy, and returns the repository too.
func (o *signedRepo) checkWith(base string, change func(*verify.Options)) (verify.Revision, *gitsource.Repository) {
	o.Helper()
	root, err := o.sig.TrustedRoot()
	if err != nil {
		o.Fatal(err)
	}
	signer := func(name string, role verify.Role) verify.Signer {
		return verify.Signer{Name: name, Issuer: "https://issuer.test", Subject: name + "@lab.test", May: []verify.Role{role}}
	}
	opts := verify.Options{
		TrustedRoot: root, Branch: "main", Target: "home/main", Binding: verify.BindingNone, TrustOnFirstUse: true,
		Signers: []verify.Signer{signer("alice", verify.RoleChange), signer("olga", verify.RoleApprove), signer("otto", verify.RoleOperate)},
	}
	change(&opts)
	policy, err := verify.NewPolicy(opts)
	if err != nil {
		o.Fatal(err)
	}
	source, err := gitsource.Open(gitsource.Options{
		Dir: filepath.Join(o.TempDir(), "repository"), Branch: "main", Remotes: []gitsource.Remote{{URL: "file://" + o.repo.Dir}}, UploadPack: gittest.UploadPack,
	})
	if err != nil {
		o.Fatal(err)
	}
	head, err := source.Fetch(o.Context())
	if err != nil {
		o.Fatal(err)
	}
	rev, err := policy.Check(o.Context(), source.Repository(), head.Commit, verify.Base{Commit: gitsource.ID(base)})
	if err != nil {
		o.Fatal(err)
	}
	return rev, source.Repository()
}

// firstStates returns the state in which each order is first journaled, by its text.
func firstStates(records []journal.Body) map[string]journal.OrderState {
	states := make(map[string]journal.OrderState)
	for _, r := range records {
		if o, ok := r.(journal.Ordered); ok {
			states[o.Subject+" "+o.Order] = o.State
		}
	}
	return states
}

// TestNewOrders checks that every order of an accepted revision is journaled, also an order without effect, so that the report can contain its
// result.
func TestNewOrders(t *testing.T) {
	o := newSignedRepo(t)
	base := o.repo.Tip
	o.commit("olga", "Approve\n\nGitops-Approve: 00000000000000000000000000000000\n")
	o.commit("alice", "Approve\n\nGitops-Approve: 11111111111111111111111111111111\n")
	for _, run := range []string{"reboot VirtualMachine/web-1", "dance VirtualMachine/web-1", "reboot VirtualMachine/web-2", "reboot VirtualMachine/new-1", "stop VirtualMachine/db-1"} {
		o.commit("otto", "Run\n\nGitops-Run: "+run+"\nGitops-Target: home/main\n")
	}
	o.commit("otto", "Elsewhere\n\nGitops-Run: reset VirtualMachine/web-1\n")
	o.commit("olga", "Restart\n\nGitops-Run: reboot VirtualMachine/web-1\nGitops-Target: home/main\n")
	rev := o.revision(base)
	guests := []guest.Desired{wanted("web-1", 201, ""), wanted("new-1", 202, ""), wanted("db-1", 203, guest.Running)}
	owned := map[int]journal.Owned{201: ownedGuest("web-1", 201), 203: ownedGuest("db-1", 203)}
	want := map[string]journal.OrderState{
		"olga@lab.test Gitops-Approve: 00000000000000000000000000000000":  journal.OrderSeen,
		"alice@lab.test Gitops-Approve: 11111111111111111111111111111111": journal.OrderRefused, // may change, and not approve
		"otto@lab.test Gitops-Run: reboot VirtualMachine/web-1":           journal.OrderSeen,
		"otto@lab.test Gitops-Run: dance VirtualMachine/web-1":            journal.OrderRefused, // no such operation
		"otto@lab.test Gitops-Run: reboot VirtualMachine/web-2":           journal.OrderRefused, // no such guest
		"otto@lab.test Gitops-Run: reboot VirtualMachine/new-1":           journal.OrderRefused, // not owned
		"otto@lab.test Gitops-Run: stop VirtualMachine/db-1":              journal.OrderRefused, // state: running
		"otto@lab.test Gitops-Run: reset VirtualMachine/web-1":            journal.OrderRefused, // names no target
		"olga@lab.test Gitops-Run: reboot VirtualMachine/web-1":           journal.OrderRefused, // may approve, and not operate
	}
	records := newOrders(rev, journal.State{Since: rev.ProvenTime().Add(-24 * time.Hour), Owned: owned}, gate.Scope{Guests: guests})
	if diff := cmp.Diff(want, firstStates(records)); diff != "" {
		t.Errorf("orders differ (-want +got):\n%s", diff)
	}

	for _, r := range records {
		ordered, isOrdered := r.(journal.Ordered)
		if run := isOrdered && strings.HasPrefix(ordered.Order, order.RunPrefix); run && (ordered.Why != "") != (ordered.State == journal.OrderRefused) {
			t.Errorf("got %+v, want a reason with each refusal and with nothing else", ordered)
		}
	}

	seen := make(map[string]journal.Order)
	for _, r := range records {
		if ordered, ok := r.(journal.Ordered); ok {
			seen[ordered.Key] = journal.Order{Ordered: ordered}
		}
	}
	if got := newOrders(rev, journal.State{Orders: seen}, gate.Scope{Guests: guests}); len(got) != 0 {
		t.Errorf("got %+v from a revision whose orders are known, want none again", got)
	}
}

func wanted(name string, vmid int, state guest.RunState) guest.Desired {
	return guest.Desired{Ref: guest.Ref{Kind: guest.VirtualMachine, Name: name, VMID: vmid}, State: state}
}

func ownedGuest(name string, vmid int) journal.Owned {
	return journal.Owned{VMID: vmid, Kind: string(guest.VirtualMachine), Name: name, Identity: "id-" + name}
}

// TestRunsNeedTheScope limits the signer of an order by guests, vmids and paths.
func TestRunsNeedTheScope(t *testing.T) {
	o := newSignedRepo(t)
	base := o.repo.Tip
	o.commit("otto", "Restart\n\nGitops-Run: reboot VirtualMachine/web-1\nGitops-Target: home/main\n")
	web := wanted("web-1", 201, "")
	web.Origin = guest.Origin{File: "web/web-1.yaml"}
	state := journal.State{Owned: map[int]journal.Owned{201: ownedGuest("web-1", 201)}}
	for name, test := range map[string]struct {
		guests, paths []string
		want          journal.OrderState
	}{
		"unlimited":    {nil, nil, journal.OrderSeen},
		"its_guest":    {[]string{"VirtualMachine/web-*"}, nil, journal.OrderSeen},
		"other_guest":  {[]string{"VirtualMachine/db-*"}, nil, journal.OrderRefused},
		"its_folder":   {nil, []string{"web"}, journal.OrderSeen},
		"other_folder": {nil, []string{"db"}, journal.OrderRefused},
	} {
		var policy *verify.Policy
		rev, _ := o.checkWith(base, func(opts *verify.Options) {
			for i := range opts.Signers {
				opts.Signers[i].Guests, opts.Signers[i].Paths = test.guests, test.paths
			}
			policy, _ = verify.NewPolicy(*opts)
		})
		got := firstStates(newOrders(rev, state, gate.Scope{Guests: []guest.Desired{web}, Limits: LimitsOf(policy), Owned: state.Owned}))
		if diff := cmp.Diff(map[string]journal.OrderState{"otto@lab.test Gitops-Run: reboot VirtualMachine/web-1": test.want}, got); diff != "" {
			t.Errorf("%s: orders differ (-want +got):\n%s", name, diff)
		}
	}
}

// TestOrdersHaveTheScopeOfTheirSigner: the record of an approval has the entry and the scope of its signer at the acceptance, and so does that of an order that is refused.
func TestOrdersHaveTheScopeOfTheirSigner(t *testing.T) {
	t.Parallel()
	o := newSignedRepo(t)
	base := o.repo.Tip
	o.commit("olga", "Approve\n\nGitops-Approve: 00000000000000000000000000000000\n")
	o.commit("otto", "Restart\n\nGitops-Run: reboot VirtualMachine/web-1\nGitops-Target: home/main\n")
	rev, _ := o.checkWith(base, func(opts *verify.Options) {
		for i := range opts.Signers {
			opts.Signers[i].Guests, opts.Signers[i].Paths = []string{"VirtualMachine/web-*"}, []string{"web"}
		}
	})
	records := newOrders(rev, journal.State{}, gate.Scope{})
	if len(records) != 2 {
		t.Fatalf("got %v, want two orders", records)
	}
	for i, commit := range rev.Commits() {
		got := records[i].(journal.Ordered)
		if got.Entry != commit.Entry || got.Entry == "" || !slices.Equal(got.Guests, []string{"VirtualMachine/web-*"}) || !slices.Equal(got.Paths, []string{"web"}) {
			t.Errorf("got %+v, want the entry %s and its scope", got, commit.Entry)
		}
	}
}

// TestRenamedApprovals: an approval follows the entry of its signer when that gets another name or identity, and keeps its scope. An approval of an older release gets the present scope
// of its signer.
func TestRenamedApprovals(t *testing.T) {
	t.Parallel()
	o := newSignedRepo(t)
	var policy *verify.Policy
	var olga verify.Signer
	o.checkWith(o.repo.Tip, func(opts *verify.Options) {
		olga = opts.Signers[1]
		olga.Guests, olga.Paths = []string{"VirtualMachine/db-*"}, []string{"db"}
		opts.Signers[1] = olga
		policy, _ = verify.NewPolicy(*opts)
	})
	approval := journal.Ordered{Key: "k", Order: "Gitops-Approve: 0", Subject: "olga@lab.test", Issuer: "https://issuer.test", Signer: "olga", State: journal.OrderSeen, ProvenTime: time.Now()}
	present := approval
	present.Entry, present.Guests, present.Paths = olga.Entry(), olga.Guests, olga.Paths
	with := func(o journal.Ordered, change func(*journal.Ordered)) journal.Ordered {
		change(&o)
		return o
	}
	stranger := with(approval, func(o *journal.Ordered) { o.Subject = "gone@lab.test" })
	for name, test := range map[string]struct{ before, want journal.Ordered }{
		"older_release":  {approval, present},
		"present":        {present, present},
		"wider_before":   {with(present, func(o *journal.Ordered) { o.Guests, o.Paths = nil, nil }), with(present, func(o *journal.Ordered) { o.Guests, o.Paths = nil, nil })},
		"other_entry":    {with(present, func(o *journal.Ordered) { o.Entry, o.Paths = "0123456789abcdef", []string{"all"} }), with(present, func(o *journal.Ordered) { o.Paths = []string{"all"} })},
		"other_name":     {with(present, func(o *journal.Ordered) { o.Signer = "olga-2" }), present},
		"unknown_signer": {stranger, stranger},
		"used_up":        {with(approval, func(o *journal.Ordered) { o.State = journal.OrderRun }), with(approval, func(o *journal.Ordered) { o.State = journal.OrderRun })},
	} {
		records := renamedApprovals(journal.State{Orders: map[string]journal.Order{"k": {Ordered: test.before}}}, policy)
		got := test.before
		if len(records) == 1 {
			got = records[0].(journal.Ordered)
		}
		if diff := cmp.Diff(test.want, got); diff != "" || len(records) > 1 || len(records) == 1 && reflect.DeepEqual(test.before, test.want) {
			t.Errorf("%s: got %d records (-want +got):\n%s", name, len(records), diff)
		}
	}
}

// TestAcceptedFiles: the records of downloaded files name the file of the last manifest of their Image.
func TestAcceptedFiles(t *testing.T) {
	t.Parallel()
	record := journal.Downloaded{Name: "debian", Node: "pve1", Volume: "local:iso/d.iso", File: "images/debian.yaml"}
	state := journal.State{Downloaded: map[journal.FileOn]journal.File{record.On(): {Downloaded: record}}}
	wanted := image.Desired{Name: "debian", Origin: guest.Origin{File: "images/debian.yaml"}}
	if got := acceptedFiles([]image.Desired{wanted}, state, lastFiles{before: map[journal.Label]string{}}); len(got) > 0 {
		t.Errorf("got %v for a manifest in the same file, want nothing new", got)
	}
	if got := acceptedFiles(nil, state, lastFiles{before: map[journal.Label]string{}}); len(got) > 0 {
		t.Errorf("got %v for a removed manifest, want the record with its last file", got)
	}
	wanted.Origin.File, record.File = "all.yaml", "all.yaml"
	if diff := cmp.Diff([]journal.Body{record}, acceptedFiles([]image.Desired{wanted}, state, lastFiles{before: map[journal.Label]string{}})); diff != "" {
		t.Errorf("a moved manifest (-want +got):\n%s", diff)
	}
}

// TestOrdersBeforeTheJournalHaveExpired checks that an order that was signed before this journal began has expired, because an earlier journal may
// have run it.
func TestOrdersBeforeTheJournalHaveExpired(t *testing.T) {
	o := newSignedRepo(t)
	base := o.repo.Tip
	o.commit("olga", "Approve\n\nGitops-Approve: 00000000000000000000000000000000\n")
	rev := o.revision(base)
	for name, test := range map[string]struct {
		since time.Time
		want  journal.OrderState
	}{
		"journal_began_before":             {rev.ProvenTime().Add(-time.Second), journal.OrderSeen},
		"journal_began_in_the_same_second": {rev.ProvenTime().Add(900 * time.Millisecond), journal.OrderSeen},
		"journal_began_later":              {rev.ProvenTime().Add(time.Second), journal.OrderExpired},
	} {
		got := firstStates(newOrders(rev, journal.State{Since: test.since}, gate.Scope{}))
		want := map[string]journal.OrderState{"olga@lab.test Gitops-Approve: 00000000000000000000000000000000": test.want}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: orders differ (-want +got):\n%s", name, diff)
		}
	}
}
