package audit

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/verify"
)

// Every reason belongs to exactly one rule, or depends on the place of a commit in a history, which an audit does not check.
func TestEveryReasonHasItsRule(t *testing.T) {
	t.Parallel()
	history := map[verify.Reason]bool{
		verify.ReasonWrongTarget: true, verify.ReasonNotDescendant: true, verify.ReasonMissingAnchor: true, verify.ReasonTooManyCommits: true,
		verify.ReasonTimeWentBack: true, verify.ReasonTooOld: true,
	}
	count := map[verify.Reason]int{}
	for _, r := range rules() {
		for _, reason := range r.reasons {
			count[reason]++
		}
	}
	for _, reason := range verify.Reasons() {
		want := 1
		if history[reason] {
			want = 0
		}
		if count[reason] != want {
			t.Errorf("%s: got %d rules, want %d", reason, count[reason], want)
		}
		delete(count, reason)
	}
	if len(count) > 0 {
		t.Errorf("got rules for the reasons %v, which do not exist", count)
	}
}

func TestRuleViews(t *testing.T) {
	t.Parallel()
	const y, n, x = rulePassed, ruleFailed, ruleNotChecked
	refused := func(reason verify.Reason, signer string) verify.Verdict {
		return verify.Verdict{Reason: reason, Signer: signer, Err: &verify.RejectedError{Reason: reason}}
	}
	tests := map[string]struct {
		verdict verdict
		want    []ruleResult
	}{
		"accepted":     {verdict{kind: "commit", Verdict: verify.Verdict{Accepted: true}}, []ruleResult{y, y, y, y, y, y, y, y}},
		"tag":          {verdict{kind: "tag", Verdict: verify.Verdict{Accepted: true}}, []ruleResult{y, y, y, y, y, y, y, y}},
		"moved_tag":    {verdict{kind: "tag", Verdict: refused(verify.ReasonWrongName, "alice")}, []ruleResult{y, y, y, y, y, y, y, n}},
		"malformed":    {verdict{kind: "commit", Verdict: refused(verify.ReasonMalformed, "")}, []ruleResult{n, x, x, x, x, x, x, x}},
		"bad_log":      {verdict{kind: "commit", Verdict: refused(verify.ReasonBadLogEntry, "")}, []ruleResult{y, y, y, y, n, x, x, x}},
		"out_of_scope": {verdict{kind: "commit", Verdict: refused(verify.ReasonOutOfScope, "alice")}, []ruleResult{y, y, y, y, y, y, y, n}},
		"no_parent":    {verdict{kind: "commit", Verdict: refused(verify.ReasonIncompleteHistory, "alice")}, []ruleResult{y, y, y, y, y, y, y, n}},
		"unread":       {verdict{kind: "tag", Verdict: verify.Verdict{Err: errors.New("disk")}}, []ruleResult{x, x, x, x, x, x, x, x}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []ruleResult
			for _, v := range ruleViews(test.verdict) {
				got = append(got, v.Result)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
		})
	}
}
