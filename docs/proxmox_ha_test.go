package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pairsOfHA are the tests of the rows of the table of pairs in proxmox-ha.md, by the beginnings of the first two cells.
var pairsOfHA = map[[2]string][]string{
	{"`placement.migrate` wants another node", "a rule decides"}:                   {"TestRuleAgainstPlacement", "TestRuleThatComesLater"},
	{"`placement.migrate` wants another node", "no rule"}:                          {"TestRuleAgainstPlacement"},
	{"`placement.migrate` wants the node back", "moved it away from a node"}:       {"TestMaintenanceAgainstPlacement"},
	{"`placement.migrate` wants the node back", "balances the nodes"}:              {"TestBalancingAgainstPlacement"},
	{"`placement.migrate` wants the node back", "chose another node"}:              {"TestBalancingAgainstPlacement"},
	{"`placement.migrate` wants the node back", "got a request of a person"}:       {"TestOtherMoverAgainstPlacement"},
	{"`node` without `migrate`", "failback, or recovery"}:                          {"TestRecoveryAgainstNode"},
	{"a signed `migrate` order", "a rule about nodes"}:                             {"TestRuleAgainstOrder"},
	{"a signed `migrate` order", "a negative rule"}:                                {"TestRuleAgainstOrder"},
	{"a signed `migrate` order", "the target is in maintenance or offline"}:        {"TestOrderAgainstMaintenance", "TestDroppedHARequestEndsTheWait"},
	{"a signed `migrate` order", "`placement` allows no such node"}:                {"TestOrderedMigrationThatIsRefused"},
	{"`state: running`", "`ha.state: stopped`"}:                                    {"TestParseReportsProblems"},
	{"a signed order to start, stop or suspend", "keeps the run state"}:            {"TestPowerOrderAgainstHA"},
	{"a snapshot or backup, ordered or scheduled", "moves the guest"}:              {"TestOrderWaitsForTheMove", "TestScheduledSnapshotWaitsForTheMove"},
	{"any other step", "moves the guest"}:                                          {"TestStepWaitsForTheMove"},
	{"any start or move", "has given the guest up"}:                                {"TestGuestThatTheHAManagerGaveUp", "TestOrderAgainstGuestThatIsGivenUp"},
	{"an `AffinityRule` with `affinity: negative`", "has a rule about nodes with"}: {"TestPrioritiesBesideARuleAboutGuests"},
}

// TestEachPairOfHAHasATest compares the table of pairs with the tests: who wins is shown for each row, and each test exists. The page has at most 900 words.
func TestEachPairOfHAHasATest(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("proxmox-ha.md")
	if err != nil {
		t.Fatal(err)
	}
	if got := len(strings.Fields(string(page))); got > 900 {
		t.Errorf("got %d words, want at most 900", got)
	}
	tests := testsOf(t, "../reconcile", "../reconcile/manifest")
	_, table, _ := strings.Cut(string(page), "\n## Pairs\n")
	table, _, _ = strings.Cut(table, "\n## ")
	rows := make(map[[2]string]bool)
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(line, "|\n"), "|")
		if len(cells) != 3 || strings.HasPrefix(cells[0], "---") || strings.TrimSpace(cells[0]) == "the agent" {
			continue
		}
		found := 0
		for pair := range pairsOfHA {
			if strings.HasPrefix(strings.TrimSpace(cells[0]), pair[0]) && strings.HasPrefix(strings.TrimSpace(cells[1]), pair[1]) {
				rows[pair] = true
				found++
			}
		}
		if found != 1 {
			t.Errorf("got %d entries for the row %q, want one with its tests", found, line)
		}
	}
	for pair, names := range pairsOfHA {
		if !rows[pair] {
			t.Errorf("got no row %q, want one for the entry of the test", pair)
		}
		for _, name := range names {
			if !tests[name] {
				t.Errorf("%q: got no test %s", pair, name)
			}
		}
	}
}

// testsOf returns the names of the tests in folders.
func testsOf(t *testing.T, folders ...string) map[string]bool {
	t.Helper()
	names := make(map[string]bool)
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(text), -1) {
				names[found[1]] = true
			}
		}
	}
	return names
}
