//go:build integration

package observability

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"gitops-agent/internal/attest"
	"gitops-agent/reconcile/report"
)

// promotion lets a head wait for the statement of another cluster, which comes too late.
func promotion(w *world) {
	w.settings.cluster = "production"
	w.repo.Files["cluster.yaml"] = manifest("Cluster", "production", "vmids: {from: 201, to: 999}")
	w.begin()
	w.terminate()
	key, err := os.ReadFile(w.path("attest.key"))
	w.ok(err)
	w.ok(os.WriteFile(w.path("staging.pub"), publicKey(w, key), 0o600))
	w.settings.trust = "promotion: {cluster: staging, key_files: [" + w.path("staging.pub") + "]}"
	w.start()
	w.quiet("GitopsAgentPromotionWaiting")

	w.repo.Files["web.yaml"] = machine("web-1", 201)
	w.push("for staging")
	staged := w.repo.Tip
	w.push("for production\n\nGitops-Promoted: staging/main@" + staged + "\n")
	w.fires("GitopsAgentPromotionWaiting")

	w.repo.Note(attest.NotesRef, staged, statement(w, key, "staging", staged))
	w.resolve("GitopsAgentPromotionWaiting")
	w.converged()
}

// publicKey returns the public half of a key of Ed25519.
func publicKey(w *world, private []byte) []byte {
	w.Helper()
	block, _ := pem.Decode(private)
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	w.ok(err)
	der, err := x509.MarshalPKIXPublicKey(key.(interface{ Public() crypto.PublicKey }).Public())
	w.ok(err)
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// statement returns what the agent of a cluster states of a commit.
func statement(w *world, key []byte, cluster, commit string) []byte {
	w.Helper()
	signer, err := attest.NewSigner(key)
	w.ok(err)
	dir := w.TempDir()
	publisher := attest.NewPublisher(attest.Options{
		Signer: signer, Directory: attest.Directory{Path: dir}, OnResult: func(attest.Result) {}, Logger: slog.New(slog.DiscardHandler),
	})
	r := report.Report{Cluster: cluster}
	r.Proxmox.Ready, r.Source.Branch = true, "main"
	r.Source.Accepted = &report.Revision{Commit: commit, Revision: "main@sha1:" + commit, Converged: time.Now()}
	publisher.Offer(r)
	publisher.Write(w.Context())
	text, err := os.ReadFile(filepath.Join(dir, cluster, commit+".json"))
	w.ok(err)
	return text
}
