//go:build integration

package crash

import (
	"testing"

	"gitops-agent/internal/gooverlay"
)

// buildPrograms returns the folder of the programs, which it builds unless the command line names one.
func buildPrograms(t testing.TB) string {
	t.Helper()
	if *crashPrograms != "" {
		return *crashPrograms
	}
	return buildChanged(t, map[string]string{})
}

// buildChanged builds the agent and the simulator with a clock that the harness sets, from sources that may be changed, and returns their folder.
func buildChanged(t testing.TB, sources map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	gooverlay.BuildWithClock(t, dir, sources, "gitops-agent/cmd/gitops-agent", "gitops-agent/cmd/pvesim")
	return dir
}
