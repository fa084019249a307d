package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/verify"
)

// sarifRequired lists the fields that each object of a SARIF 2.1.0 log must have, by its path without indexes.
//
// Source: OASIS, Static Analysis Results Interchange Format 2.1.0, section 3, the properties that it calls mandatory, and those that code
// scanning on forges also needs.
var sarifRequired = map[string][]string{
	"":                        {"$schema", "version", "runs"},
	".runs":                   {"tool", "results"},
	".runs.tool":              {"driver"},
	".runs.tool.driver":       {"name", "version", "rules"},
	".runs.tool.driver.rules": {"id", "shortDescription", "help"},
	".runs.tool.driver.rules.shortDescription":                  {"text"},
	".runs.tool.driver.rules.help":                              {"text"},
	".runs.invocations":                                         {"executionSuccessful"},
	".runs.invocations.toolExecutionNotifications":              {"message"},
	".runs.results":                                             {"ruleId", "ruleIndex", "level", "message", "locations", "partialFingerprints"},
	".runs.results.message":                                     {"text"},
	".runs.results.suppressions":                                {"kind"},
	".runs.results.locations.physicalLocation":                  {"artifactLocation", "region"},
	".runs.results.locations.physicalLocation.region":           {"startLine"},
	".runs.results.locations.physicalLocation.artifactLocation": {"uri"},
	".runs.results.locations.logicalLocations":                  {"fullyQualifiedName", "kind"},
	".runs.invocations.toolExecutionNotifications.message":      {"text"},
}

// checkSARIF reports the missing fields of a log. It walks objects and lists.
func checkSARIF(t *testing.T, path string, value any, seen map[string]bool) {
	t.Helper()
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			checkSARIF(t, path, item, seen)
		}
	case map[string]any:
		seen[path] = true
		for _, name := range sarifRequired[path] {
			if field, found := v[name]; !found || field == nil || field == "" {
				t.Errorf("%q: got no %s", path, name)
			}
		}
		for name, field := range v {
			checkSARIF(t, path+"."+name, field, seen)
		}
	}
}

func sarifVerdicts() []verdict {
	id := func(digit string) gitsource.ID { return gitsource.ID(strings.Repeat(digit, 40)) }
	refused := func(digit string, reason verify.Reason) verify.Verdict {
		return verify.Verdict{Object: id(digit), Reason: reason, Hint: reason.Hint(), Err: &verify.RejectedError{Commit: id(digit), Reason: reason}}
	}
	stranger := refused("3", verify.ReasonWrongIdentity)
	stranger.Subject, stranger.Issuer, stranger.ProvenTime = "mallory@example.org", "https://accounts.test", time.Unix(1_800_000_000, 0)
	return []verdict{
		{kind: "commit", Verdict: verify.Verdict{Object: id("1"), Accepted: true}},
		{kind: "commit", Verdict: refused("2", verify.ReasonUnsigned), path: "gäste/a b:c?.yaml"},
		{kind: "commit", Verdict: stranger},
		{kind: "tag", Verdict: refused("4", verify.ReasonOnlineOnly)},
		{kind: "commit", Verdict: refused("5", verify.ReasonUnsigned), sealedBy: id("6")},
		{kind: "commit", Verdict: verify.Verdict{Object: id("7"), Err: errors.New("read: disk")}},
	}
}

func TestSARIFHasRequiredFields(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(newSARIF("v1.2.3", sarifVerdicts(), notAuditedView{}))
	if err != nil {
		t.Fatal(err)
	}
	var log any
	if err := json.Unmarshal(text, &log); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	checkSARIF(t, "", log, seen)
	for path := range sarifRequired {
		if !seen[path] {
			t.Errorf("%q: got no object to check", path)
		}
	}
}

func TestSARIFMatchesVerdicts(t *testing.T) {
	t.Parallel()
	log := newSARIF("v1.2.3", sarifVerdicts(), notAuditedView{})
	if log.Version != "2.1.0" || len(log.Runs) != 1 {
		t.Fatalf("got version %s and %d runs, want 2.1.0 and 1", log.Version, len(log.Runs))
	}
	run := log.Runs[0]
	var got []string
	for _, r := range run.Results {
		if rule := run.Tool.Driver.Rules[r.RuleIndex]; rule.ID != r.RuleID {
			t.Errorf("got rule %s at the index of %s", rule.ID, r.RuleID)
		}
		if !slices.Contains([]string{"none", "note", "warning", "error"}, r.Level) {
			t.Errorf("got level %q", r.Level)
		}
		got = append(got, fmt.Sprint(r.RuleID, " ", r.PartialFingerprints["gitObject/v1"][:1], " ", len(r.Suppressions)))
	}
	if want := []string{"unsigned 2 0", "wrong-identity 3 0", "online-only 4 0", "unsigned 5 1"}; !slices.Equal(got, want) {
		t.Errorf("got results %q, want %q", got, want)
	}
	if run.Invocations[0].ExecutionSuccessful || len(run.Invocations[0].ToolExecutionNotifications) != 1 {
		t.Errorf("got invocation %+v, want one that could not read everything", run.Invocations[0])
	}
	place := run.Results[0].Locations[0].PhysicalLocation.ArtifactLocation.URI
	parsed, err := url.Parse(place)
	if err != nil || parsed.Scheme != "" || parsed.Path != "gäste/a b:c?.yaml" || strings.ContainsAny(place, " ?") {
		t.Errorf("got place %q (%v), want the path as a relative URI", place, err)
	}
	if run.Results[1].Locations[0].PhysicalLocation != nil {
		t.Errorf("got a place for a commit without one")
	}
	if got := newSARIF("", nil, notAuditedView{}).Runs[0]; got.Results == nil || !got.Invocations[0].ExecutionSuccessful {
		t.Errorf("nothing refused: got %+v, want an empty list and success", got)
	}
}

// What was not audited is a warning, and no failure of the run.
func TestSARIFSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	got := newSARIF("", nil, notAudited{sides: 3}.view()).Runs[0].Invocations[0]
	if len(got.ToolExecutionNotifications) != 1 || !strings.Contains(got.ToolExecutionNotifications[0].Message.Text, "3 commits of side branches") || !got.ExecutionSuccessful {
		t.Errorf("got %+v, want one warning about 3 commits", got)
	}
}
