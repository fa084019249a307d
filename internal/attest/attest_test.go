package attest

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/report"
)

var (
	noon   = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	commit = gitsource.ID(strings.Repeat("1", 40))
	other  = gitsource.ID(strings.Repeat("2", 40))
)

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// pair returns both halves of a new key in PEM.
func pair(t *testing.T, private any, public any) (privatePEM, publicPEM []byte) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(private)
	ok(t, err)
	publicDER, err := x509.MarshalPKIXPublicKey(public)
	ok(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: publicDER})
}

func newEd25519(t *testing.T) (privatePEM, publicPEM []byte) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	ok(t, err)
	return pair(t, private, public)
}

func newECDSA(t *testing.T) (privatePEM, publicPEM []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ok(t, err)
	return pair(t, private, &private.PublicKey)
}

// converged returns a report of a revision that has converged.
func converged(id gitsource.ID) report.Report {
	return report.Report{
		Cluster: "home", Proxmox: report.Proxmox{Ready: true},
		Source: report.Source{Branch: "main", Accepted: &report.Revision{Commit: string(id), Revision: "main@sha1:" + string(id), Converged: noon}},
		Guests: []report.Guest{
			{GuestName: report.GuestName{Kind: guest.Container, Name: "dns-1", VMID: 210, Node: "pve1"}, Managed: true, Status: "running", Digest: "abc"},
			{GuestName: report.GuestName{Kind: guest.VirtualMachine, Name: "old", VMID: 300, Node: "pve1"}, Status: "running", Digest: "def"},
		},
	}
}

// publish lets a publisher write the statement of a report, and returns what became of the attempt.
func publish(t *testing.T, dir string, private []byte, r report.Report) []Result {
	t.Helper()
	signer, err := NewSigner(private)
	ok(t, err)
	var results []Result
	p := NewPublisher(Options{
		Signer: signer, Directory: Directory{dir}, Version: "1.2.3", OnResult: func(r Result) { results = append(results, r) }, Logger: slog.New(slog.DiscardHandler),
	})
	p.Offer(r)
	p.Write(t.Context())
	return results
}

// about returns what is known of a commit.
func about(t *testing.T, dir string, public []byte, id gitsource.ID) []Attestation {
	t.Helper()
	keys, err := ParseKeys(public)
	ok(t, err)
	source, err := Directory{dir}.Open()
	ok(t, err)
	found, err := Reader{source, keys}.About(t.Context(), id)
	ok(t, err)
	return found
}

func TestStatementIsWrittenAndRead(t *testing.T) {
	t.Parallel()
	for name, newKey := range map[string]func(*testing.T) (privatePEM, publicPEM []byte){"ed25519": newEd25519, "ecdsa": newECDSA} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			private, public := newKey(t)
			if got := publish(t, dir, private, converged(commit)); len(got) != 1 || got[0] != Written {
				t.Errorf("got %v, want written", got)
			}
			found := about(t, dir, public, commit)
			if len(found) != 1 || found[0].Cluster != "home" || found[0].Branch != "main" || !found[0].Time.Equal(noon) || found[0].Guests != 1 || found[0].Problem != "" {
				t.Errorf("got %+v, want one statement of home", found)
			}
			if found := about(t, dir, public, other); len(found) != 0 {
				t.Errorf("got %+v about another commit, want nothing", found)
			}
		})
	}
}

// The digest covers every field of the line of a managed guest, and no other guest.
func TestStateDigest(t *testing.T) {
	t.Parallel()
	base, _ := stateDigest(converged(commit).Guests)
	for name, change := range map[string]func(g []report.Guest){
		"kind": func(g []report.Guest) { g[0].Kind = guest.VirtualMachine }, "name": func(g []report.Guest) { g[0].Name = "dns-2" },
		"vmid": func(g []report.Guest) { g[0].VMID = 211 }, "node": func(g []report.Guest) { g[0].Node = "pve2" },
		"status": func(g []report.Guest) { g[0].Status = "stopped" }, "digest": func(g []report.Guest) { g[0].Digest = "abd" },
		"managed": func(g []report.Guest) { g[1].Managed = true },
	} {
		guests := converged(commit).Guests
		change(guests)
		if got, _ := stateDigest(guests); got == base {
			t.Errorf("%s: the digest did not change", name)
		}
	}
	guests := converged(commit).Guests
	guests[1].Status, guests[1].Digest = "stopped", "xyz"
	if got, covered := stateDigest(guests); got != base || covered != 1 {
		t.Errorf("a guest that is not managed changed the digest, or was counted: %d guests", covered)
	}
}

// Nothing is stated before every guest matches, and nothing while the cluster does not answer.
func TestNothingIsStatedBeforeConvergence(t *testing.T) {
	t.Parallel()
	private, _ := newEd25519(t)
	for name, change := range map[string]func(r *report.Report){
		"no revision":       func(r *report.Report) { r.Source.Accepted = nil },
		"not converged":     func(r *report.Report) { r.Source.Accepted.Converged = time.Time{} },
		"cluster is silent": func(r *report.Report) { r.Proxmox.Ready = false },
	} {
		dir := t.TempDir()
		r := converged(commit)
		change(&r)
		if got := publish(t, dir, private, r); len(got) != 0 {
			t.Errorf("%s: got %v, want no attempt", name, got)
		}
	}
}

// A statement is not replaced: neither by a later run, nor by another key.
func TestStatementIsNotReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	private, public := newEd25519(t)
	publish(t, dir, private, converged(commit))
	second, _ := newEd25519(t)
	later := converged(commit)
	later.Source.Accepted.Converged = noon.Add(time.Hour)
	if got := publish(t, dir, second, later); len(got) != 0 {
		t.Errorf("got %v, want no attempt", got)
	}
	if found := about(t, dir, public, commit); len(found) != 1 || !found[0].Time.Equal(noon) {
		t.Errorf("got %+v, want the first statement", found)
	}
}

// Run goes on until the directory can be written.
func TestPublisherTriesAgain(t *testing.T) {
	t.Parallel()
	private, public := newEd25519(t)
	signer, err := NewSigner(private)
	ok(t, err)
	dir := filepath.Join(t.TempDir(), "later")
	ok(t, os.WriteFile(dir, []byte("in the way"), 0o600))
	results := make(chan Result, 10)
	p := NewPublisher(Options{Signer: signer, Directory: Directory{dir}, OnResult: func(r Result) { results <- r }, Logger: slog.New(slog.DiscardHandler)})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { p.Run(ctx); close(ended) }()
	p.Offer(converged(commit))
	if got := <-results; got != Failed {
		t.Errorf("got %s, want failed", got)
	}
	ok(t, os.Remove(dir))
	if got := <-results; got != Written {
		t.Errorf("got %s, want written", got)
	}
	stop()
	<-ended
	if found := about(t, dir, public, commit); len(found) != 1 {
		t.Errorf("got %+v, want one statement", found)
	}
}

// rejectedEnvelopes are changes of a good envelope after which it counts for nothing.
func rejectedEnvelopes(t *testing.T) map[string]func(text []byte) []byte {
	t.Helper()
	payload := func(change func(s string) string) func([]byte) []byte {
		return func(text []byte) []byte {
			var e map[string]any
			ok(t, json.Unmarshal(text, &e))
			raw, err := base64.StdEncoding.DecodeString(e["payload"].(string))
			ok(t, err)
			e["payload"] = base64.StdEncoding.EncodeToString([]byte(change(string(raw))))
			text, err = json.Marshal(e)
			ok(t, err)
			return text
		}
	}
	return map[string]func(text []byte) []byte{
		"empty":     func([]byte) []byte { return nil },
		"no JSON":   func([]byte) []byte { return []byte("signed, honestly") },
		"cut":       func(text []byte) []byte { return text[:len(text)/2] },
		"too large": func(text []byte) []byte { return append(text, bytes.Repeat([]byte(" x"), maxEnvelope)...) },
		"other type": func(text []byte) []byte {
			return bytes.Replace(text, []byte("in-toto+json"), []byte("in-toto+yaml"), 1)
		},
		"no signature": func(text []byte) []byte {
			return []byte(string(text[:bytes.Index(text, []byte(`"signatures"`))]) + `"signatures":[]}`)
		},
		"other cluster":    payload(func(s string) string { return strings.Replace(s, `"home"`, `"work"`, 1) }),
		"other commit":     payload(func(s string) string { return strings.ReplaceAll(s, string(commit), string(other)) }),
		"other guests":     payload(func(s string) string { return strings.Replace(s, `"guests":1`, `"guests":2`, 1) }),
		"space in payload": payload(func(s string) string { return s + " " }),
	}
}

func TestChangedEnvelopeCountsForNothing(t *testing.T) {
	t.Parallel()
	private, public := newEd25519(t)
	for name, change := range rejectedEnvelopes(t) {
		dir := t.TempDir()
		publish(t, dir, private, converged(commit))
		file := filepath.Join(dir, "home", string(commit)+".json")
		good, err := os.ReadFile(file)
		ok(t, err)
		ok(t, os.WriteFile(file, change(bytes.TrimSpace(good)), 0o600))
		if found := about(t, dir, public, commit); len(found) != 1 || found[0].Problem == "" || found[0].Cluster != "" {
			t.Errorf("%s: got %+v, want a problem and nothing of the statement", name, found)
		}
	}
}

// rejectedStatements are signed, and say something else than that a cluster matches the commit.
func rejectedStatements() map[string]any {
	subject := []Resource{{Digest: map[string]string{GitCommit: string(commit)}}}
	good := Convergence{Cluster: "home", Time: noon}
	return map[string]any{
		"about another commit": NewStatement([]Resource{{Digest: map[string]string{GitCommit: string(other)}}}, ConvergenceType, good),
		"two subjects":         NewStatement(append(subject, subject...), ConvergenceType, good),
		"no subject":           NewStatement(nil, ConvergenceType, good),
		"another predicate":    NewStatement(subject, "https://slsa.dev/verification_summary/v1", good),
		"another type":         Statement[Convergence]{"https://in-toto.io/Statement/v0.1", subject, ConvergenceType, good},
		"no cluster":           NewStatement(subject, ConvergenceType, Convergence{Time: noon}),
		"no time":              NewStatement(subject, ConvergenceType, Convergence{Cluster: "home"}),
		"unknown field":        map[string]any{"_type": StatementType, "subject": subject, "predicateType": ConvergenceType, "predicate": good, "more": 1},
		"no object":            []int{1},
	}
}

func TestSignedStatementOfAnotherForm(t *testing.T) {
	t.Parallel()
	private, public := newEd25519(t)
	signer, err := NewSigner(private)
	ok(t, err)
	for name, statement := range rejectedStatements() {
		dir := t.TempDir()
		text, err := signer.sign(t.Context(), statement)
		ok(t, err)
		ok(t, Directory{dir}.write("home", commit, text))
		if found := about(t, dir, public, commit); len(found) != 1 || found[0].Problem == "" {
			t.Errorf("%s: got %+v, want a problem", name, found)
		}
	}
}

func TestForeignKeyAndSeveralKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	private, public := newEd25519(t)
	_, foreign := newECDSA(t)
	publish(t, dir, private, converged(commit))
	if found := about(t, dir, foreign, commit); len(found) != 1 || !strings.Contains(found[0].Problem, ErrForeignKey.Error()) {
		t.Errorf("got %+v, want %v", found, ErrForeignKey)
	}
	if found := about(t, dir, append(foreign, public...), commit); len(found) != 1 || found[0].Problem != "" {
		t.Errorf("got %+v with both keys, want a statement", found)
	}
}

func TestKeysOfAnotherForm(t *testing.T) {
	t.Parallel()
	private, public := newEd25519(t)
	for name, text := range map[string][]byte{"empty": nil, "text": []byte("key"), "public": public, "cut": private[:len(private)/2]} {
		if _, err := NewSigner(text); err == nil {
			t.Errorf("private key, %s: got no error", name)
		} else if strings.Contains(err.Error(), "BEGIN") {
			t.Errorf("private key, %s: the error shows the file: %v", name, err)
		}
	}
	for name, text := range map[string][]byte{"empty": nil, "text": []byte("key"), "private": private, "cut": public[:len(public)/2]} {
		if _, err := ParseKeys(text); err == nil {
			t.Errorf("public key, %s: got no error", name)
		}
	}
}

// A name that leads out of the directory is not written.
func TestClusterNameIsNoPath(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", ".", "..", "../x", "a/b", ".hidden", "a\x00b", strings.Repeat("a", 300)} {
		if err := (Directory{t.TempDir()}).write(name, commit, nil); err == nil {
			t.Errorf("%q: got no error", name)
		}
	}
}

// FuzzEnvelope: no text makes a reader fail, or believe a statement that the key did not sign.
func FuzzEnvelope(f *testing.F) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		f.Fatal(err)
	}
	publicDER, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		f.Fatal(err)
	}
	signer, err := NewSigner(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	if err != nil {
		f.Fatal(err)
	}
	keys, err := ParseKeys(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: publicDER}))
	if err != nil {
		f.Fatal(err)
	}
	statement, _ := convergenceOf(converged(commit), "1")
	good, err := signer.sign(f.Context(), statement)
	if err != nil {
		f.Fatal(err)
	}
	var e struct{ Payload string }
	if err := json.Unmarshal(good, &e); err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"payloadType":"application/vnd.in-toto+json","payload":"e30=","signatures":[{"sig":""}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		payload, err := keys.verify(t.Context(), text)
		if want, _ := base64.StdEncoding.DecodeString(e.Payload); err == nil && !bytes.Equal(payload, want) {
			t.Errorf("got %q, which the key did not sign", payload)
		}
	})
}
