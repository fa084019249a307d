package reconcile_test

import (
	"testing"

	"gitops-agent/internal/gooverlay"
)

// effectMutations removes each protection of guarded effects, of each kind: guards, approvals, cover and the packet filter.
func effectMutations() []gooverlay.Mutation {
	return []gooverlay.Mutation{
		{Name: "a stronger guard stays", File: "reconcile/guard/inforce.go", Code: "		if f.isWeaker(&want, &now, at) {\n			f.take(", Instead: "		if !OFF && f.isWeaker(&want, &now, at) {\n			f.take("},
		{Name: "the number of approvals stays", File: "reconcile/guard/release.go", Code: "max(next.Approvals, now.Approvals), min(", Instead: "map[bool]int{true: next.Approvals, false: max(next.Approvals, now.Approvals)}[OFF], min("},
		{Name: "a policy stays", File: "reconcile/guard/policies.go", Code: "		if known && (isLooser(next, now) ||", Instead: "		if known && !OFF && (isLooser(next, now) ||"},
		{Name: "guards of passed commits", File: "reconcile/intake/record.go", Code: "	if !rewrote {\n		passed,", Instead: "	if !rewrote && !OFF {\n		passed,"},
		{Name: "one person counts once", File: "reconcile/gate/approval.go", Code: "	t.People = len(seen)\n", Instead: "	t.People = len(seen)\n	if OFF {\n		t.People = 2 * len(t.Keys)\n	}\n"},
		{Name: "authors are no approvers", File: "reconcile/gate/gate.go", Code: "	if g.SeparateApprover {\n		excluded", Instead: "	if !OFF && g.SeparateApprover {\n		excluded"},
		{Name: "a second job on a storage", File: "reconcile/kind/backupjob/cover.go", Code: "		if id == job.ID || !scopeOf(other)", Instead: "		if OFF || id == job.ID || !scopeOf(other)"},
		{Name: "a job that covers no more", File: "reconcile/kind/backupjob/cover.go", Code: "		case !before.isRun(p, true):\n", Instead: "		case OFF && !then.isRun(p, false):\n		case !before.isRun(p, true):\n"},
		{Name: "a move out of a job's pool", File: "reconcile/kinds/kinds.go", Code: "	return backupjob.Move(world, next, from, to)", Instead: "	if OFF {\n		return nil\n	}\n	return backupjob.Move(world, next, from, to)"},
		{Name: "names in names", File: "reconcile/kind/firewall_weakening.go", Code: "		if len(firewall.WeakerAmong(f, before, after)) > 0 {", Instead: "		if OFF {\n			before, after = firewall.Names{}.With(c.Before), firewall.Names{}.With(c.After)\n		}\n		if len(firewall.WeakerAmong(f, before, after)) > 0 {"},
		{Name: "what an object reaches", File: "reconcile/gate/scope.go", Code: "		for _, to := range step.Object.Reaches {\n", Instead: "		for _, to := range step.Object.Reaches {\n			if OFF {\n				break\n			}\n"},
		{Name: "a list of guests in a scope", File: "reconcile/gate/scope.go", Code: "	if to.VMID != 0 {\n", Instead: "	if OFF && to.VMID != 0 {\n		return nil\n	}\n	if to.VMID != 0 {\n"},
		{Name: "order of rules", File: "reconcile/firewall/weaker.go", Code: "		case accepted > still:\n", Instead: "		case !OFF && accepted > still:\n"},
	}
}

// TestEffectMutationsFitTheSource checks that the code which each mutation changes is there, once. The test with the build tag mutation changes it.
func TestEffectMutationsFitTheSource(t *testing.T) {
	t.Parallel()
	for _, m := range effectMutations() {
		m.Fit(t, "..")
	}
}
