//go:build integration

package observability

import (
	"os"
	"os/exec"
	"slices"
	"time"

	"gitops-agent/reconcile/report"
)

// lifecycle kills the agent, lets a second one claim the cluster, and loses its state.
func lifecycle(w *world) {
	w.settings.tokenExpires = time.Now().Add(5 * 24 * time.Hour)
	w.repo.Files["web.yaml"] = machine("web-1", 201)
	w.begin()
	w.quiet("GitopsAgentRestarting", "GitopsAgentDown", "GitopsAgentTwoAgents", "GitopsAgentOwnershipLost")
	w.fires("GitopsAgentTokenExpiring")
	w.settings.tokenExpires = time.Now().Add(365 * 24 * time.Hour)

	for range 4 {
		w.process.stop(os.Kill)
		w.start()
		w.scraped()
	}
	w.fires("GitopsAgentRestarting")
	w.resolve("GitopsAgentTokenExpiring")

	w.process.stop(os.Kill)
	w.fires("GitopsAgentDown")
	w.start()
	w.resolve("GitopsAgentDown")
	w.converged()

	// Another agent on a copy of the state directory takes over the cluster, and then this one again.
	if out, err := exec.CommandContext(w.Context(), "cp", "-a", w.settings.state, w.path("copy")).CombinedOutput(); err != nil {
		w.Fatalf("copy the state directory: %v\n%s", err, out)
	}
	w.once(w.writeConfig("other.yaml", w.path("copy"), freeAddress(w)))
	w.ok(w.sim.Edit(201, "memory", "777")) // the first one learns it when it has to write
	w.fires("GitopsAgentTwoAgents")
	w.terminate()
	w.once(w.path("config.yaml"))
	w.start()
	w.resolve("GitopsAgentTwoAgents")
	w.converged()

	// The state directory is lost, and found again.
	w.terminate()
	w.settings.state = w.path("empty")
	w.once(w.writeConfig("config.yaml", w.settings.state, w.address))
	w.start()
	w.fires("GitopsAgentOwnershipLost")
	w.command("recover", "--yes")
	w.resolve("GitopsAgentOwnershipLost", "GitopsAgentRestarting")
	w.until("the guest to be owned", func(d report.Document) bool { return guestOf(d, "web-1").Managed })
}

// once runs an agent that takes over the cluster and ends.
func (w *world) once(config string) {
	w.Helper()
	cmd := w.program(w.Context(), "run", "--once", "--take-over", "--config", config)
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); !slices.Contains([]int{0, 3}, code) { // 3: a person is needed for a guest
		w.Fatalf("run --once --take-over: %v\n%s", err, out)
	}
}
