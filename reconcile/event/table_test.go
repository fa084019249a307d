package event

import (
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a row names exists: the events that end it are rows, and sentences and keys use fields of the row. An event that ends a state has the fields that tell
// the states of the row apart, or none of them: then it ends all.
func TestRowsAreConsistent(t *testing.T) {
	t.Parallel()
	for _, row := range table {
		names, _ := row.fields()
		for _, m := range regexp.MustCompile(`\{(?:: )?"?([a-z_]+)`).FindAllStringSubmatch(row.Sentence, -1) {
			if !slices.Contains(names, m[1]) {
				t.Errorf("%s: the sentence uses %s, which is no field of the row", row.Name, m[1])
			}
		}
		by := strings.Fields(row.By)
		for _, name := range by {
			if !slices.Contains(names, name) {
				t.Errorf("%s: By has %s, which is no field of the row", row.Name, name)
			}
		}
		ends := row.EndedBy
		if row.End != "" {
			ends = append([]Name{row.End}, ends...)
		}
		for _, name := range ends {
			end, found := RowOf(name)
			if !found {
				t.Errorf("%s: ends with %s, which has no row", row.Name, name)
				continue
			}
			have, _ := end.fields()
			missing := slices.DeleteFunc(slices.Clone(by), func(name string) bool { return slices.Contains(have, name) })
			if len(missing) > 0 && len(missing) < len(by) {
				t.Errorf("%s: %s, which ends it, has no %v", row.Name, name, missing)
			}
		}
		if row.Name == "" || byName[row.Name].Line != row.Line {
			t.Errorf("got two rows for %q, or none", row.Name)
		}
	}
}

// What is worse than usual either lasts, and then its end is told too, or happens once. A state that a short outage can cause is told when it has lasted. The others
// are told at once, for a reason.
func TestStatesHaveAnEndAndATime(t *testing.T) {
	t.Parallel()
	atOnce := map[Name]string{
		RevisionUnverified: "it stops every write, and people have to look whether the policy or the repository was changed",
		RevisionRefused:    "the person who pushed waits for the answer",
		RevisionUnnamed:    "the person who pushed waits for the answer",
		StepHeld:           "a step, and a person has to release it",
		GuestDrifted:       "who changed a guest by hand is told, also if the agent takes the change back within seconds",
		GuestFailed:        "a step, which was tried",
		HAFailed:           "the manager has tried for minutes, and a person has to repair it",
		TaskHangs:          "the task has run for longer than it may",
		StateLost:          "a second agent may work with the new directory",
		JournalFailed:      "nothing is written any more, and of several agents another one may lead",
		RootExpired:        "a time that was known before",
		RolloutFailed:      "its batch had time",
		RolloutHeld:        "it needs an order",
		GuardHeld:          "a commit weakens a guard",
		AgentPaused:        "an order of a person",
		AgentSuperseded:    "two agents must not write",
		ConfigRefused:      "the person who changed the config waits for the answer",
		VMListUnused:       "a line of the log alone",
		TracesFail:         "a line of the log alone",
	}
	once := map[Name]string{
		StepEnded: "a step", OrderRefused: "an order", OrderExpired: "an order", OrderUnknown: "an order", OrderFailed: "an order",
		HAUnread: "a line of the log alone", RevisionUnchecked: "a line of the log alone", RootRejected: "a line of the log alone", EtcdSilent: "a line of the log alone",
	}
	for _, row := range table {
		why := atOnce[row.Name]
		switch {
		case !row.Lasts():
			if _, happens := once[row.Name]; row.Level >= warn && !happens {
				t.Errorf("%s: got neither an end nor a reason why there is none", row.Name)
			}
			continue
		case (row.For == 0) != (why != ""):
			t.Errorf("%s: got a time of %s and the reason %q to be told at once, want one of them", row.Name, row.For, why)
		case (row.For == 0) != (row.Early == ""):
			t.Errorf("%s: got a time of %s and the line %q, want the line that says at once what is told later", row.Name, row.For, row.Early)
		case row.For > 0 && row.End == "":
			t.Errorf("%s: got a state that ends by itself, and no event that tells its end", row.Name)
		}
		for _, name := range append(slices.Clone(row.EndedBy), row.End) {
			if end, found := RowOf(name); found && end.Line == "" {
				t.Errorf("%s: %s, which ends it, writes no line", row.Name, name)
			}
		}
		delete(atOnce, row.Name)
	}
	for name := range atOnce {
		if _, found := RowOf(name); !found {
			t.Errorf("got a reason for %s, which has no row", name)
		}
	}
}

var update = flag.Bool("update", false, "rewrite the table of events in docs/events.md")

const tableHead = "| event | level | sent | when | attributes |\n|---|---|---|---|---|\n"

// The table of docs/events.md is made from the rows.
func TestDocsListTheTable(t *testing.T) {
	t.Parallel()
	var rows strings.Builder
	for _, row := range Rows() {
		level, sent, fields := "", "", ""
		if row.Level != slog.LevelInfo {
			level = row.Level.String()
		}
		if row.Fine != "" {
			level += " unless done"
		}
		if row.Default {
			sent = "yes"
		}
		if row.Fields != "" {
			fields = "`" + strings.Join(strings.Fields(row.Fields), "`, `") + "`"
		}
		if row.Docs == "" {
			t.Errorf("%s: got no text for docs/events.md, want one", row.Name)
		}
		rows.WriteString("| " + strings.Join([]string{"`" + string(row.Name) + "`", level, sent, row.Docs, fields}, " | ") + " |\n")
	}
	path := filepath.Join("..", "..", "docs", "events.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, table, found := strings.Cut(string(page), tableHead)
	if !found {
		t.Fatalf("docs/events.md: got no table with the head %q", tableHead)
	}
	if *update {
		if err := os.WriteFile(path, []byte(before+tableHead+rows.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(rows.String(), table); diff != "" {
		t.Errorf("docs/events.md (-want +got; -update rewrites it):\n%s", diff)
	}
}

func TestSay(t *testing.T) {
	t.Parallel()
	revision := "main@sha1:" + strings.Repeat("0a", 20)
	for want, e := range map[string]struct {
		name  Name
		texts Texts
	}{
		"Revision 0a0a0a0a0a0a is in force, signed by alice.":                                    {RevisionAccepted, Texts{"revision": revision, "signer": "alice"}},
		`The order "run start" of bob was accepted.`:                                             {OrderAccepted, Texts{"order": "run start", "signer": "bob"}},
		"The branch cannot be fetched (unreachable): no route.":                                  {SourceLost, Texts{"reason": "unreachable", "error": "no route"}},
		"The branch cannot be fetched (unreachable).":                                            {SourceLost, Texts{"reason": "unreachable"}},
		"The agent is paused: no reason was given.":                                              {AgentPaused, nil},
		"The agent destroyed guest 201.":                                                         {GuestDestroyed, Texts{"vmid": "201"}},
		"Container/a (7) was changed in the cluster, and is not as its manifest wants it: tags.": {GuestDrifted, Texts{"vmid": "7", "guest": "Container/a", "cause": "cluster", "keys": "tags"}},
		"Event clock.agrees, endpoint pve1.":                                                     {ClockAgrees, Texts{"endpoint": "pve1"}},
	} {
		row, _ := RowOf(e.name)
		if got := row.Say(e.texts); got != want {
			t.Errorf("%s: got %q, want %q", e.name, got, want)
		}
	}
}
