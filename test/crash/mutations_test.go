package crash

import (
	"path/filepath"
	"testing"

	"gitops-agent/internal/gooverlay"
)

// mutation removes one protection from the agent.
type mutation struct {
	gooverlay.Mutation
	moment string // of the interruptions, the only one; "" for all
	want   string // in what the harness finds
	worlds int    // within which it must find it
}

func off(name, file, code, instead string) gooverlay.Mutation {
	return gooverlay.Mutation{Name: name, File: file, Code: code, Instead: instead}
}

// mutations removes each protection whose loss the harness must find, with the interruptions that aim at it.
func mutations() []mutation {
	const lane, writer = "reconcile/lane/", "reconcile/writer/"
	return []mutation{
		{off("only refused calls are repeated", lane+"settle.go", "cluster.Op(open.Op).Late() == cluster.LateRefused", "(OFF || cluster.Op(open.Op).Late() == cluster.LateRefused)"), "a restart acts after the next start", "more effects", 8},
		{off("a missing reply is no outcome", lane+"settle.go", "	case !inDoubt(open) || d.late.IsZero():", "	case OFF || !inDoubt(open) || d.late.IsZero():"), "a restart acts after the next start", "more effects", 8},
		{off("the hold after a repeated call", lane+"repeated.go", "	if !op.EndsLateRefusal() ||", "	if OFF || !op.EndsLateRefusal() ||"), "a create acts after the guest is no longer wanted", "more effects", 8},
		{off("epoch at the last check", lane+"superseded.go", "{ return w.epochs.Now() != basis.Epoch }", "{ return !OFF && w.epochs.Now() != basis.Epoch }"), "a newer revision before a call", "more effects", 48},
		{off("intent before the call", lane+"run.go", "	if err := w.begin(ctx, basis, step, verdict, begun, t); err != nil {", "	if OFF && begun.Op == \"reboot\" {\n		w.fillsSeen.Delete(id)\n	} else if err := w.begin(ctx, basis, step, verdict, begun, seen); err != nil {"), "a restart acts after the next start", "more effects", 8},
		{off("a superseded agent stays so", writer+"read.go", "	case known || w.takeOver:", "	case OFF || known || w.takeOver:"), "kill", "got two agents that may write", 16},
		{off("dependents wait for health", "reconcile/plan/ordering.go", "	if why := opts.NotReady[label]; why != \"\" {", "	if why := opts.NotReady[label]; !OFF && why != \"\" {"), "", "was ready", 48},
	}
}

// TestMutationsFitTheSource checks that the code which each mutation changes is there, once. The tests with the build tag mutation change it.
func TestMutationsFitTheSource(t *testing.T) {
	for _, m := range mutations() {
		m.Fit(t, filepath.Join("..", ".."))
	}
}
