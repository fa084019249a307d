package verify_test

import (
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/internal/gittest"
	"gitops-agent/internal/sigtest"
	"gitops-agent/verify"
)

// The identities of the tests.
var (
	alice    = sigtest.Identity{Subject: "alice@lab.test", Issuer: "https://issuer.test"}
	bob      = sigtest.Identity{Subject: "bob@lab.test", Issuer: "https://issuer.test"}
	mallory  = sigtest.Identity{Subject: "mallory@evil.test", Issuer: "https://issuer.test"}
	workflow = sigtest.GitHubWorkflow("lab/guests", "merge.yaml", "refs/heads/main")
)

// noon is when the tests begin. Every commit of a testRepo is a minute later than the one before it.
var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// A testRepo is a bare repository of loose objects and a Sigstore to sign them.
type testRepo struct {
	testing.TB
	sig  *sigtest.Sigstore
	dir  string
	repo *gitsource.Repository
	now  time.Time
}

func newTestRepo(tb testing.TB) *testRepo {
	tb.Helper()
	l := &testRepo{TB: tb, sig: newSigstore(tb, "lab"), dir: tb.TempDir(), now: noon}
	for name, content := range map[string]string{
		"HEAD": "ref: refs/heads/main\n", "config": "[core]\n\trepositoryformatversion = 0\n\tbare = true\n",
		"objects/info/packs": "", "refs/heads/.keep": "",
	} {
		l.writeFile(filepath.Join(l.dir, filepath.FromSlash(name)), []byte(content))
	}
	repo, err := gitsource.OpenRepository(l.dir)
	if err != nil {
		tb.Fatal(err)
	}
	l.repo = repo
	return l
}

// newSigstore returns a Sigstore that is the same for the same seed.
func newSigstore(tb testing.TB, seed string) *sigtest.Sigstore {
	tb.Helper()
	s, err := sigtest.New(sigtest.Options{Seed: seed})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func (l *testRepo) writeFile(path string, content []byte) {
	l.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		l.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		l.Fatal(err)
	}
}

// object stores a raw object and returns its id.
func (l *testRepo) object(kind string, raw []byte) gitsource.ID {
	l.Helper()
	id, err := gittest.WriteObject(l.dir, kind, raw)
	if err != nil {
		l.Fatal(err)
	}
	return gitsource.ID(id)
}

// forget removes an object, like in a shallow clone.
func (l *testRepo) forget(id gitsource.ID) {
	l.Helper()
	if err := os.Remove(filepath.Join(l.dir, "objects", string(id[:2]), string(id[2:]))); err != nil {
		l.Fatal(err)
	}
}

// tree stores files and their folders, given as "path=content", and returns the tree.
func (l *testRepo) tree(files ...string) gitsource.ID {
	l.Helper()
	var entries []string
	folders := map[string][]string{}
	for _, f := range files {
		path, content, _ := strings.Cut(f, "=")
		if folder, rest, nested := strings.Cut(path, "/"); nested {
			folders[folder] = append(folders[folder], rest+"="+content)
			continue
		}
		entries = append(entries, entry("100644", path, l.object("blob", []byte(content))))
	}
	for name, inside := range folders {
		entries = append(entries, entry("40000", name, l.tree(inside...)))
	}
	slices.SortFunc(entries, func(a, b string) int {
		_, a, _ = strings.Cut(a, " ")
		_, b, _ = strings.Cut(b, " ")
		return strings.Compare(a, b)
	})
	return l.object("tree", []byte(strings.Join(entries, "")))
}

func entry(mode, name string, id gitsource.ID) string {
	sum, err := hex.DecodeString(string(id))
	if err != nil {
		panic(err) // ids come from object
	}
	return mode + " " + name + "\x00" + string(sum)
}

// A draft describes a commit to make. The zero value is a commit by alice without parents and with an empty tree.
type draft struct {
	by      sigtest.Identity
	tree    gitsource.ID
	parents []gitsource.ID
	message string
	sign    sigtest.SignOptions
}

func (d draft) spec() sigtest.CommitSpec {
	spec := sigtest.CommitSpec{Tree: string(d.tree), Message: d.message}
	if d.message == "" {
		spec.Message = "change guests"
	}
	for _, parent := range d.parents {
		spec.Parents = append(spec.Parents, string(parent))
	}
	return spec
}

// commit makes, signs and stores a commit, a minute after the previous one.
func (l *testRepo) commit(d draft) gitsource.ID {
	l.Helper()
	return l.object("commit", l.raw(d))
}

// complete returns a draft with its signer and its time: by default alice, a minute after the previous commit.
func (l *testRepo) complete(d draft) draft {
	if d.by.Subject == "" {
		d.by = alice
	}
	if d.sign.At.IsZero() {
		l.now = l.now.Add(time.Minute)
		d.sign.At = l.now
	}
	return d
}

func (l *testRepo) raw(d draft) []byte {
	l.Helper()
	d = l.complete(d)
	raw, _, err := l.sig.Commit(d.spec(), d.by, d.sign)
	if err != nil {
		l.Fatal(err)
	}
	return raw
}

// unsigned stores a commit without a signature.
func (l *testRepo) unsigned(d draft) gitsource.ID {
	l.Helper()
	l.now = l.now.Add(time.Minute)
	return l.object("commit", d.spec().Payload(l.now))
}

// options returns the options of a policy in which alice has every role but seal, with trust on first use.
func (l *testRepo) options() verify.Options {
	l.Helper()
	root, err := l.sig.TrustedRoot()
	if err != nil {
		l.Fatal(err)
	}
	return verify.Options{
		TrustedRoot: root,
		Signers: []verify.Signer{{
			Name: "alice", Issuer: alice.Issuer, Subject: alice.Subject,
			May: []verify.Role{verify.RoleChange, verify.RoleApprove, verify.RoleOperate},
		}},
		Branch: "main", Target: "lab/main", Binding: verify.BindingNone, TrustOnFirstUse: true,
	}
}

func (l *testRepo) policy(change ...func(*verify.Options)) *verify.Policy {
	l.Helper()
	opts := l.options()
	for _, c := range change {
		c(&opts)
	}
	p, err := verify.NewPolicy(opts)
	if err != nil {
		l.Fatal(err)
	}
	return p
}

// accepted checks tip and fails the test unless it is accepted.
func (l *testRepo) accepted(p *verify.Policy, tip gitsource.ID, base verify.Base) verify.Revision {
	l.Helper()
	revision, err := p.Check(l.Context(), l.repo, tip, base)
	if err != nil {
		l.Fatalf("check: got %v, want it accepted", err)
	}
	if revision.Commit() != tip || !revision.Valid() {
		l.Fatalf("check: got revision %v, want %s", revision, tip)
	}
	return revision
}

// refused checks tip and fails the test unless tip is refused for the given reason at the given commit.
func (l *testRepo) refused(p *verify.Policy, tip gitsource.ID, base verify.Base, want verify.Reason, at gitsource.ID) {
	l.Helper()
	revision, err := p.Check(l.Context(), l.repo, tip, base)
	if revision.Valid() {
		l.Errorf("check: got revision %v and error %v, want no revision", revision, err)
	}
	var rejected *verify.RejectedError
	if !errors.As(err, &rejected) {
		l.Fatalf("check: got %v, want a refusal for %s", err, want)
	}
	if rejected.Reason != want || rejected.Commit != at {
		l.Errorf("check: got %s at %s (%v), want %s at %s", rejected.Reason, rejected.Commit, err, want, at)
	}
	if rejected.Hint == "" {
		l.Errorf("check: got no hint with %s", rejected.Reason)
	}
}

const (
	pgpSignature = "-----BEGIN PGP SIGNATURE-----\n\niQEzBAABCAAdFiEE\n=AbCd\n-----END PGP SIGNATURE-----\n"
	sshSignature = "-----BEGIN SSH SIGNATURE-----\nU1NIU0lHAAAAAQ==\n-----END SSH SIGNATURE-----\n"
)

// foreign stores a commit with a signature of another kind.
func (l *testRepo) foreign(d draft, signature string) gitsource.ID {
	l.Helper()
	l.now = l.now.Add(time.Minute)
	raw, err := sigtest.AttachToCommit(d.spec().Payload(l.now), []byte(signature))
	if err != nil {
		l.Fatal(err)
	}
	return l.object("commit", raw)
}

func denyCommit(id gitsource.ID) func(*verify.Options) {
	return func(o *verify.Options) { o.Deny.Commits = []gitsource.ID{id} }
}

func addSigner(s verify.Signer) func(*verify.Options) {
	return func(o *verify.Options) { o.Signers = append(o.Signers, s) }
}

func approver(id sigtest.Identity) verify.Signer {
	return verify.Signer{Name: "approver", Issuer: id.Issuer, Subject: id.Subject, May: []verify.Role{verify.RoleApprove}}
}

func isReason(err error, want verify.Reason) bool {
	var rejected *verify.RejectedError
	return errors.As(err, &rejected) && rejected.Reason == want
}

func isRejected(err error) bool {
	var rejected *verify.RejectedError
	return errors.As(err, &rejected)
}
