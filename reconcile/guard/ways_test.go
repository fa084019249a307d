package guard

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the table of guards in docs/internals/guards.md")

// A cell says why a guard holds against one way to its effect: by tests, each a directory and a name, because the way cannot exist, or that it does not hold.
type cell struct {
	tests []string
	why   string
}

func by(tests ...string) cell { return cell{tests: tests} }
func none(why string) cell    { return cell{why: why} }

// ways are how a change may reach what a guard protects.
func ways() []string { return []string{"object", "field", "label", "pool", "class", "file", "moment"} }

// A guarded is a guard and a cell for each way.
type guarded struct {
	name  string
	cells map[string]cell
}

func guardsByWays() []guarded {
	const wherever = "reconcile TestGuardsHoldWhereverTheyAreWritten"
	const passed = "reconcile TestGuardOfAPassedCommit"
	const walks = "reconcile TestWalksAroundGuards"
	const reach = "reconcile TestAuthorOfAReachApproves"
	return []guarded{
		{"`backup: required`", map[string]cell{
			"object": by("reconcile TestSecondJobOfARequiredBackup", "reconcile/kind/backupjob TestRestorePointsStay", walks),
			"field":  by("reconcile TestRequiredBackup", "reconcile TestStarvedJobOfARequiredBackup", "reconcile/plan TestVolumeLeavesBackups"),
			"label":  by("reconcile TestSecondJobOfARequiredBackup", wherever),
			"pool":   by("reconcile TestMoveOutOfABackedUpPool", "reconcile TestMoveIntoAPoolOfASecondJob"),
			"class":  by(wherever),
			"file":   by("reconcile TestRequiredBackup", wherever),
			"moment": by("reconcile TestEditBeforeThereIsARecord", "reconcile TestVMIDOfAGuestThatRequiredBackups", "reconcile TestRecreationOfAGuestThatRequiresBackups", "reconcile TestLostMarkerOfAJobThatAGuardNames", wherever, passed),
		}},
		{"guarded firewall", map[string]cell{
			"object": by("reconcile TestGroupOfAGuardedFirewall", "reconcile TestAliasOfAGuardedFirewall", "reconcile TestNamesInAGroupOfAGuardedFirewall", "reconcile/kind/alias TestWeakens"),
			"field":  by("reconcile TestGuardedFirewallIsOpenedWithApprovals", "reconcile/firewall TestWeaker", "reconcile/guest TestFirewallGuardComesBack", walks),
			"label":  by(wherever),
			"pool":   none("Proxmox's firewall has no rules, sets or options of a pool"),
			"class":  by("reconcile TestRolloutOpensGuardedFirewalls", wherever),
			"file":   by(wherever),
			"moment": by("reconcile TestGuardedFirewallIsOpenedWithApprovals", "reconcile TestSetOfAGuardedGuestThatWasNotRead", "reconcile TestLostMarkerOfWhatAGuardedFirewallNames", passed),
		}},
		{"`protection`", map[string]cell{
			"object": by("reconcile TestOrderDoesNotBringTheEndOfTheProtectionIntoEffect", "reconcile TestCloneOfAProtectedTemplateStaysProtected"),
			"field":  by("reconcile TestIgnoredProtectionIsWeaker", "reconcile TestWritesOfAProtectedGuest", walks),
			"label":  by(wherever),
			"pool":   none("the flag is in the guest's own configuration, and a pool has none"),
			"class":  by("reconcile TestProtectionNeedsOneApproval", wherever),
			"file":   by("reconcile TestProtectionSetByHandHoldsTheDestroy", wherever),
			"moment": by("reconcile TestProtectionSetAfterTheApproval", wherever, passed),
		}},
		{"`lifecycle.destroy`", map[string]cell{
			"object": by("reconcile TestIncidentRelabelledGuestEscapesItsGuards", "reconcile TestGuestSetGuards"),
			"field":  by("reconcile TestIncidentDestroyIsAllowedAndThenUsed"),
			"label":  by("reconcile TestIncidentDestroyIsAllowedAndThenUsed", "reconcile TestRelabelledGuestsKeepTheirGuards"),
			"pool":   none("a class selects guests by file and label, and a pool sets no field of a guest"),
			"class":  by("reconcile TestIncidentDestroyIsAllowedAndThenUsed", "reconcile TestOneLineWeakensManyGuests"),
			"file":   by("reconcile TestIncidentDestroyIsAllowedAndThenUsed"),
			"moment": by("reconcile TestIncidentReusedVMIDIsDestroyedWithItsManifest", "reconcile TestIncidentApprovalOfARevertedWeakeningCountsAgain", passed),
		}},
		{"`separateApprover`", map[string]cell{
			"object": by("reconcile TestRepositoryPolicy"),
			"field":  by("reconcile TestIncidentAuthorApprovesTheOwnWeakening"),
			"label":  by(reach),
			"pool":   by(reach),
			"class":  by(reach),
			"file":   by("reconcile TestIncidentAuthorApprovesTheOwnStep"),
			"moment": by("reconcile TestIncidentAuthorApprovesTheOwnStep", "reconcile TestRepositoryPolicy"),
		}},
		{"minimum of approvals", map[string]cell{
			"object": none("a source has one Cluster: a second one is refused"),
			"field":  by("reconcile TestIncidentApprovalsAreLoweredWithTheApproval", "reconcile TestMinimumHoldsWithoutItsLine", "reconcile TestMinimumOfTheHost"),
			"label":  none("the Cluster's number counts for every guest, with each name and label"),
			"pool":   none("the Cluster's number counts for every guest, in each pool"),
			"class":  none("the number is a field of the Cluster and of the host's config, and no guest has it"),
			"file":   by("reconcile TestMinimumHoldsWithoutItsLine"),
			"moment": by("reconcile TestIncidentApprovalsAreLoweredWithTheApproval", "reconcile TestWeakeningWaitsForADryRun", passed),
		}},
		{"`Policy`", map[string]cell{
			"object": by("reconcile TestRepositoryPolicyWhileManifestsDoNotParse", "reconcile TestRepositoryPolicyOfALimitedSigner"),
			"field":  by("reconcile TestRepositoryPolicy", "reconcile/guard TestPolicyChanges"),
			"label":  by("reconcile TestPolicyHoldsWhereverTheValueIsWritten", "reconcile TestRepositoryPolicyOfTheFormerLabel", "reconcile TestRenamedPolicyStays"),
			"pool":   none("a policy belongs to a folder and not to a pool; an expression that reads the pool decides itself what a move means"),
			"class":  by("reconcile TestPolicyHoldsWhereverTheValueIsWritten"),
			"file":   by("reconcile TestRepositoryPolicyOfTheFormerFolder", "reconcile/guard TestPlaces"),
			"moment": by("reconcile TestPolicyHoldsWhereverTheValueIsWritten", "reconcile TestRepositoryPolicyWhileManifestsDoNotParse", passed),
		}},
		{"windows", map[string]cell{
			"object": none("only the manifest of the guest, its class and the defaults set its window. The window is about restarts by the agent: a `BackupJob` with `backupMode: stop` shuts guests down at its own times, and the guard does not hold"),
			"field":  by("reconcile/guard TestWeakenings", "reconcile/guard TestIncomparableValuesAreWeaker"),
			"label":  by(wherever),
			"pool":   none("a class selects guests by file and label, and a pool sets no field of a guest"),
			"class":  by(wherever),
			"file":   by(wherever),
			"moment": by("reconcile TestRebootPolicyWindow", wherever, passed),
		}},
		{"suspensions", map[string]cell{
			"object": by("reconcile TestSuspendedGuestIsNotForced"),
			"field":  by("reconcile TestIncidentRestingGuestIsChanged"),
			"label":  by(wherever),
			"pool":   none("a class selects guests by file and label, and a pool sets no field of a guest"),
			"class":  by(wherever),
			"file":   by("reconcile TestRemovalOfASuspendedGuestNeedsASignature", wherever),
			"moment": by("reconcile TestIncidentRestingGuestIsChanged", wherever, passed),
		}},
	}
}

// TestEveryGuardHoldsInEveryWay: each guard has for each way a test, which exists, or the reason why there is none.
func TestEveryGuardHoldsInEveryWay(t *testing.T) {
	t.Parallel()
	sources := map[string]string{}
	for _, g := range guardsByWays() {
		for way := range g.cells {
			if !slices.Contains(ways(), way) {
				t.Errorf("%s: got the unknown way %s", g.name, way)
			}
		}
		for _, way := range ways() {
			c := g.cells[way]
			if (len(c.tests) == 0) == (c.why == "") {
				t.Errorf("%s, %s: got tests %v and the reason %q, want one of both", g.name, way, c.tests, c.why)
			}
			for _, test := range c.tests {
				dir, name, _ := strings.Cut(test, " ")
				if _, read := sources[dir]; !read {
					sources[dir] = testsOf(t, dir)
				}
				if !strings.Contains(sources[dir], "\nfunc "+name+"(t *testing.T) {\n") {
					t.Errorf("%s, %s: got no %s in %s, want a test of this name", g.name, way, name, dir)
				}
			}
		}
	}
}

// testsOf returns the text of the tests in a directory of the repository.
func testsOf(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(dir), "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: got no tests (%v)", dir, err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// TestManualHasTheGuards compares the table in docs/internals/guards.md.
func TestManualHasTheGuards(t *testing.T) {
	t.Parallel()
	head := "| guard | " + strings.Join(ways(), " | ") + " |\n" + strings.Repeat("|---", len(ways())+1) + "|\n"
	var rows strings.Builder
	for _, g := range guardsByWays() {
		rows.WriteString("| " + g.name)
		for _, way := range ways() {
			c := g.cells[way]
			text := c.why
			for _, test := range c.tests {
				_, name, _ := strings.Cut(test, " ")
				text = strings.TrimPrefix(text+", `"+name+"`", ", ")
			}
			rows.WriteString(" | " + text)
		}
		rows.WriteString(" |\n")
	}
	path := filepath.Join("..", "..", "docs", "internals", "guards.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, after, found := strings.Cut(string(page), head)
	table, rest, ends := strings.Cut(after, "\n\n")
	if !found || !ends {
		t.Fatalf("docs/internals/guards.md: got no table with the head %q", head)
	}
	if *update {
		if err := os.WriteFile(path, []byte(before+head+rows.String()+"\n"+rest), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(rows.String(), table+"\n"); diff != "" {
		t.Errorf("docs/internals/guards.md (-want +got; -update rewrites it):\n%s", diff)
	}
}
