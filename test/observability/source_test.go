//go:build integration

package observability

import (
	"time"

	"gitops-agent/gitsource/fault"
	"gitops-agent/internal/evidence"
	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile/report"
)

// source breaks what leads to a revision: the forge, the commits, the trusted root, and the floor in the cluster.
func source(w *world) {
	soon := time.Now().Add(10 * 24 * time.Hour)
	parts := []sigtest.Part{sigtest.CA, sigtest.CTLog, sigtest.RekorV1, sigtest.RekorV2, sigtest.TSA}
	for _, part := range parts {
		w.sig.Retire(part, soon)
	}
	w.writeRoot()
	w.repo.Files["web.yaml"] = machine("web-1", 201)
	w.start()
	w.prometheus.target(w.address)
	w.Cleanup(func() { w.prometheus.forget(w.address) })
	w.scraped()
	w.quiet("GitopsAgentConvergenceSlow", "GitopsAgentHeadRefused", "GitopsAgentPausedTooLong")

	// A commit reaches the forge long after it was signed.
	first := w.commit("signed long ago", alice, sigtest.SignOptions{At: time.Now().Add(-20 * time.Minute)})
	w.webhook()
	w.converged()
	w.fires("GitopsAgentConvergenceSlow", "GitopsAgentTrustedRootExpiring")

	for _, part := range parts {
		w.sig.Retire(part, time.Time{})
	}
	w.writeRoot()
	w.resolve("GitopsAgentTrustedRootExpiring")

	w.command("pause", "--reason", "a test")
	w.fires("GitopsAgentPausedTooLong")
	w.command("resume")
	w.resolve("GitopsAgentPausedTooLong")

	// A person who may not change anything pushes.
	w.quiet("GitopsAgentVerificationFailing", "GitopsAgentRollbackRefused")
	w.commit("not allowed", mallory, sigtest.SignOptions{})
	w.fires("GitopsAgentHeadRefused", "GitopsAgentVerificationFailing")

	// A person signs in gitsign's online mode, and pushes the evidence later.
	w.repo.SetMain(first)
	w.repo.Tip = first
	w.quiet("GitopsAgentEvidenceMissing")
	online, logged := w.repo.PushOnline(w.sig, alice, "in the online mode", sigtest.SignOptions{})
	w.webhook()
	w.fires("GitopsAgentEvidenceMissing")
	bundle, err := logged.Bundle()
	w.ok(err)
	w.repo.Note(evidence.NotesRef, online, bundle)
	w.webhook()
	w.converged()
	w.resolve("GitopsAgentEvidenceMissing")
	first = online

	// The branch is rewritten, and then moved back to the accepted commit.
	w.repo.Tip = ""
	w.repo.Files["web.yaml"] = machine("web-1", 201, "memory: {size: 768Mi}")
	w.push("another history")
	w.fires("GitopsAgentRollbackRefused")
	w.repo.SetMain(first)
	w.repo.Tip = first

	w.quiet("GitopsAgentRevisionUnverified")
	other, err := sigtest.New(sigtest.Options{Name: "another"})
	w.ok(err)
	mine := w.sig
	w.sig = other
	w.writeRoot()
	w.fires("GitopsAgentRevisionUnverified")
	w.sig = mine
	w.writeRoot()
	w.resolve("GitopsAgentRevisionUnverified")

	w.resolve("GitopsAgentHeadRefused", "GitopsAgentVerificationFailing", "GitopsAgentRollbackRefused", "GitopsAgentConvergenceSlow")
	w.quiet("GitopsAgentHeadUnchecked")
	w.inject(pvesim.Fault{Kind: pvesim.ErrorText, Text: "unable to read the pools", Method: "GET", Path: "^/pools", Times: -1})
	w.push("memory")
	w.fires("GitopsAgentHeadUnchecked")
	w.sim.ClearFaults()
	w.converged()

	w.quiet("GitopsAgentSourceStale")
	w.forgeDown.Store(true)
	w.fires("GitopsAgentSourceStale")
	w.forgeDown.Store(false)
	w.resolve("GitopsAgentSourceStale", "GitopsAgentHeadUnchecked")
	w.until("the branch to be fetched", func(d report.Document) bool { return d.Source.Reason == fault.None })
}
