package agent

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/internal/attest"
	"gitops-agent/internal/gittest"
	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile/epoch"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

// promoting is the intake of production, whose commits promote revisions of staging.
type promoting struct {
	*testing.T
	sig    *sigtest.Sigstore
	repo   *gittest.Repo
	keys   string // of staging
	signed int    // statements
	config Config
	policy *verify.Policy
	source *gitsource.Source
	intake *intake.Intake
	staged string // the revision that staging follows
}

var releaser = sigtest.Identity{Subject: "alice@lab.test", Issuer: "https://issuer.test"}

func (p *promoting) ok(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// newPromoting returns the intake with a repository that has one commit. A seed makes a key: "staging" is the one that the config names.
func newPromoting(t *testing.T) *promoting {
	t.Helper()
	p := &promoting{T: t, keys: t.TempDir(), repo: gittest.New(t)}
	var err error
	p.sig, err = sigtest.New(sigtest.Options{Name: "promoting", Seed: "promoting"})
	p.ok(err)
	p.repo.Files["cluster.yaml"] = "apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: home}\nspec: {vmids: {from: 200, to: 299}}\n"
	p.staged = p.repo.Push(p.sig, releaser, "for staging")
	_, public := p.key("staging")
	file := filepath.Join(p.keys, "staging.pub")
	p.ok(os.WriteFile(file, public, 0o600))
	p.config.Cluster.Name = "home"
	p.config.Trust.Promotion = PromotionConfig{Cluster: "staging", KeyFiles: []string{file}}
	root, err := p.sig.TrustedRoot()
	p.ok(err)
	p.policy, err = verify.NewPolicy(verify.Options{
		TrustedRoot: root, Branch: "main", Target: "home/main", Binding: verify.BindingNone, TrustOnFirstUse: true,
		Signers: []verify.Signer{{Name: "alice", Issuer: releaser.Issuer, Subject: releaser.Subject, May: []verify.Role{verify.RoleChange, verify.RoleApprove}}},
	})
	p.ok(err)
	p.source, err = gitsource.Open(gitsource.Options{
		Dir: filepath.Join(t.TempDir(), "repository"), Branch: "main", Remotes: []gitsource.Remote{{URL: "file://" + p.repo.Dir}},
	})
	p.ok(err)
	p.open()
	return p
}

// open makes the intake from the config.
func (p *promoting) open() {
	p.Helper()
	rule, err := p.config.Promotion(p.source.Repository(), p.source.FetchNotes)
	p.ok(err)
	j, err := journal.Open(journal.Options{Dir: filepath.Join(p.TempDir(), "journal")})
	p.ok(err)
	p.Cleanup(func() { p.ok(j.Close()) })
	p.intake = intake.New(intake.Options{
		Source: p.source, Policy: func() (*verify.Policy, error) { return p.policy, nil }, Journal: j, Scope: intake.Scope{Cluster: "home"},
		Epochs: &epoch.Counter{}, Promotion: rule,
	})
}

// key returns both halves of the key of a seed in PEM.
func (p *promoting) key(seed string) (private, public []byte) {
	p.Helper()
	key := ed25519.NewKeyFromSeed([]byte((seed + strings.Repeat(".", ed25519.SeedSize))[:ed25519.SeedSize]))
	der, err := x509.MarshalPKCS8PrivateKey(key)
	p.ok(err)
	publicDER, err := x509.MarshalPKIXPublicKey(key.Public())
	p.ok(err)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: publicDER})
}

// statement returns what the agent of a cluster states of a commit with the key of a seed.
func (p *promoting) statement(seed, cluster, branch, commit string) []byte {
	p.Helper()
	private, _ := p.key(seed)
	signer, err := attest.NewSigner(private)
	p.ok(err)
	p.signed++
	dir := p.TempDir()
	publisher := attest.NewPublisher(attest.Options{
		Signer: signer, Directory: attest.Directory{Path: dir}, OnResult: func(attest.Result) {}, Logger: slog.New(slog.DiscardHandler),
	})
	r := report.Report{Cluster: cluster}
	r.Proxmox.Ready, r.Source.Branch = true, branch
	r.Source.Accepted = &report.Revision{Commit: commit, Revision: branch + "@sha1:" + commit, Converged: time.Unix(1_700_000_000, 0)}
	publisher.Offer(r)
	publisher.Write(p.Context())
	text, err := os.ReadFile(filepath.Join(dir, cluster, commit+".json"))
	p.ok(err)
	return text
}

func (p *promoting) note(text []byte) { p.repo.Note(attest.NotesRef, p.staged, text) }

// state notes the right statement about the staged revision.
func (p *promoting) state() { p.note(p.statement("staging", "staging", "main", p.staged)) }

// promote pushes a commit with trailers that promote these values.
func (p *promoting) promote(values ...string) {
	message := []string{"for production\n"}
	for _, v := range values {
		message = append(message, "Gitops-Promoted: "+v)
	}
	p.repo.Push(p.sig, releaser, strings.Join(message, "\n"))
}

// place moves the branch to a commit with these parents and the tree of the files.
func (p *promoting) place(message string, parents ...string) string {
	p.Helper()
	raw, id, err := p.sig.Commit(sigtest.CommitSpec{Tree: p.repo.Tree(), Parents: parents, Message: message}, releaser, sigtest.SignOptions{})
	p.ok(err)
	return p.repo.Place(raw, id)
}

// expect polls and expects the reason of a refusal or of a wait with its text, and acceptance for "".
func (p *promoting) expect(reason, text string) {
	p.Helper()
	polled := p.intake.Poll(p.Context())
	p.ok(polled.Err)
	got, said := "", ""
	switch {
	case polled.Waiting != nil:
		got, said = polled.Waiting.Reason, polled.Waiting.Text()+polled.Waiting.Hint
	case polled.Refusal != nil:
		got, said = polled.Refusal.Reason, polled.Refusal.Error+polled.Refusal.Hint
	}
	accepted := polled.InForce.Accepted.Valid() && polled.InForce.Accepted.Revision().Commit() == polled.Head.Commit
	if got != reason || !strings.Contains(said, text) || accepted != (reason == "") {
		p.Errorf("got reason %q, accepted %t, text %q, want %q with %q", got, accepted, said, reason, text)
	}
}

// TestPromotion: production accepts a tree only by a commit that promotes a revision of its history with this tree, which staging stated to have matched.
func TestPromotion(t *testing.T) {
	t.Parallel()
	const refused, waits = report.RefusedPromotion, report.WaitingStatement
	right := func(p *promoting) { p.promote("staging/main@" + p.staged) }
	for name, row := range map[string]struct {
		push         func(p *promoting)
		note         func(p *promoting)
		reason, text string
	}{
		"accepted":       {right, (*promoting).state, "", ""},
		"as_printed":     {func(p *promoting) { p.promote("staging/main@sha1:" + p.staged) }, (*promoting).state, "", ""},
		"no_trailer":     {func(p *promoting) { p.promote() }, (*promoting).state, refused, "Gitops-Promoted"},
		"two_trailers":   {func(p *promoting) { p.promote("staging/main@"+p.staged, "staging/main@"+p.staged) }, (*promoting).state, refused, "occurs 2 times"},
		"short_revision": {func(p *promoting) { p.promote("staging/main@" + p.staged[:10]) }, (*promoting).state, refused, "all 40 digits"},
		"trailer_of_another_cluster": {func(p *promoting) { p.promote("test/main@" + p.staged) }, func(p *promoting) {
			p.note(p.statement("staging", "test", "main", p.staged))
		}, refused, `wants a revision of the cluster "staging"`},
		"other_files": {func(p *promoting) {
			p.repo.Files["README.md"] = "changed after staging\n"
			right(p)
		}, (*promoting).state, refused, "the files are not those"},
		"no_ancestor": {func(p *promoting) {
			before := p.staged
			p.staged = p.place("never on the branch", before)
			p.repo.Tip = before
			right(p)
		}, (*promoting).state, refused, "not in the history"},
		"merged": {func(p *promoting) {
			before := p.staged
			p.staged = p.place("on another branch", before)
			p.place("merge\n\nGitops-Promoted: staging/main@"+p.staged, before, p.staged)
		}, (*promoting).state, "", ""},
		"first_use_verifies_only_the_tip": {func(p *promoting) { right(p); p.promote() }, (*promoting).state, refused, "Gitops-Promoted"},
		"a_change_above": {func(p *promoting) {
			right(p)
			p.repo.Files["README.md"] = "changed after staging\n"
			p.promote()
		}, (*promoting).state, refused, "Gitops-Promoted"},

		"no_notes":  {right, func(*promoting) {}, waits, "refs/notes/gitops-attestations"},
		"other_key": {right, func(p *promoting) { p.note(p.statement("thief", "staging", "main", p.staged)) }, waits, "no known key signed it"},
		"other_cluster": {right, func(p *promoting) {
			p.note(p.statement("staging", "test", "main", p.staged))
		}, waits, "a statement is about test/main"},
		"other_branch": {right, func(p *promoting) { p.note(p.statement("staging", "staging", "next", p.staged)) }, waits, "a statement is about staging/next"},
		"other_revision": {right, func(p *promoting) {
			p.note(p.statement("staging", "staging", "main", p.repo.Tip))
		}, waits, "about another commit"},
		"altered": {right, func(p *promoting) {
			p.note(bytes.Replace(p.statement("staging", "staging", "main", p.staged), []byte(`"payload":"ey`), []byte(`"payload":"eX`), 1))
		}, waits, "no known key signed it"},
		"no_envelope": {right, func(p *promoting) { p.note([]byte("matched")) }, waits, "read the envelope"},
		"huge_note": {right, func(p *promoting) {
			p.note(append(bytes.Repeat([]byte("\n"), 1<<20), p.statement("staging", "staging", "main", p.staged)...))
		}, waits, "the note"},
		"right_among_wrong": {right, func(p *promoting) {
			p.note(bytes.Join([][]byte{[]byte("{}\n"), p.statement("thief", "staging", "main", p.staged), p.statement("staging", "staging", "main", p.staged)}, nil))
		}, "", ""},
		"branch_as_notes": {right, func(p *promoting) { p.repo.Git(nil, "update-ref", attest.NotesRef, p.repo.Tip) }, waits, "no statement"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPromoting(t)
			row.push(p)
			row.note(p)
			p.expect(row.reason, row.text)
		})
	}
}

// TestPromotionGoesOn: a promotion waits for its statement, comes into force with it, and stays in force without it. Then commits that change no file need
// none, and going back to files that staging matched needs no other statement.
func TestPromotionGoesOn(t *testing.T) {
	t.Parallel()
	p := newPromoting(t)
	first := p.staged
	p.promote("staging/main@" + first)
	p.expect(report.WaitingStatement, "")
	p.state()
	p.expect("", "")
	p.repo.Git(nil, "update-ref", "-d", attest.NotesRef)
	p.promote()
	p.expect("", "")
	if now := p.intake.Resume(p.Context()); now.Unverified != nil {
		t.Errorf("got %v, want the accepted revision in force without notes", now.Unverified)
	}

	p.repo.Files["README.md"] = "second\n"
	p.staged = p.repo.Push(p.sig, releaser, "for staging again")
	p.expect(report.RefusedPromotion, "")
	p.promote("staging/main@" + p.staged)
	p.promote() // verified with the one below, whose trailer counts
	p.state()
	p.expect("", "")

	delete(p.repo.Files, "README.md")
	p.promote("staging/main@" + first)
	p.staged = first
	p.state()
	p.expect("", "")
}

// TestPromotionFromDirectory: statements can be files, and notes count for nothing then.
func TestPromotionFromDirectory(t *testing.T) {
	t.Parallel()
	p := newPromoting(t)
	dir := t.TempDir()
	p.config.Trust.Promotion.Directory = dir
	p.ok(p.config.checkPromotion())
	p.open()
	p.promote("staging/main@" + p.staged)
	p.state()
	p.expect(report.WaitingStatement, "")
	p.ok(os.Mkdir(filepath.Join(dir, "staging"), 0o750))
	p.ok(os.WriteFile(filepath.Join(dir, "staging", p.staged+".json"), p.statement("staging", "staging", "main", p.staged), 0o600))
	p.expect("", "")
}

// TestCheckPromotion: what is wrong with the settings is found before the agent starts.
func TestCheckPromotion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	private := filepath.Join(dir, "attest.key")
	if err := os.WriteFile(private, []byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, p := range map[string]PromotionConfig{
		"cluster and key_files are required together":                      {Cluster: "staging"},
		"trust.promotion: cluster and key_files":                           {Directory: dir},
		"which is this cluster":                                            {Cluster: "home", KeyFiles: []string{private}},
		"trust.promotion.key_files[0]: " + private + ": want a public key": {Cluster: "staging", KeyFiles: []string{private}},
		"trust.promotion.key_files[1]":                                     {Cluster: "staging", KeyFiles: []string{private, filepath.Join(dir, "absent")}},
		"trust.promotion.directory: " + private + " is not a directory":    {Cluster: "staging", KeyFiles: []string{private}, Directory: private},
	} {
		c := Config{}
		c.Cluster.Name, c.Trust.Promotion = "home", p
		if err := c.checkPromotion(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
