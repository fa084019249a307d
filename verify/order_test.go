package verify_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/gitsource"
	"gitops-agent/verify"
)

// ordersOf makes the commit d, checks that it is accepted as the tip, and returns it with its orders.
func ordersOf(s testHistory, d draft, change ...func(*verify.Options)) verify.SignedCommit {
	s.Helper()
	commits := s.testRepo.accepted(s.policy(change...), s.commit(d), s.base).Commits()
	return commits[len(commits)-1]
}

func TestOrders(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	d := s.on(s.next)
	d.message = "release\n\nGitops-Approve: 12ab\nGitops-Target: lab/main\nGitops-Run: snapshot VirtualMachine/web name=before"
	got := ordersOf(s, d)
	key := func(position int) string { return fmt.Sprintf("%x:%d", got.PayloadDigest, position) }
	want := []verify.Order{
		{Key: key(0), Kind: verify.OrderApprove, Value: "12ab", Position: 0, Allowed: true},
		{Key: key(2), Kind: verify.OrderRun, Value: "snapshot VirtualMachine/web name=before", Position: 2, Allowed: true},
	}
	if diff := cmp.Diff(want, got.Orders); diff != "" {
		t.Errorf("orders (-want +got):\n%s", diff)
	}
	if got.Ignored != "" {
		t.Errorf("ignored: got %q, want nothing", got.Ignored)
	}
}

func TestOrdersNeedTheRole(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	d := s.on(s.next)
	d.by, d.message = bob, "release\n\nGitops-Approve: 12ab\nGitops-Run: stop VirtualMachine/web"
	got := ordersOf(s, d, addSigner(approver(bob)))
	if len(got.Orders) != 2 || !got.Orders[0].Allowed || got.Orders[1].Allowed {
		t.Errorf("got %+v, want the approval allowed and the operation not", got.Orders)
	}
}

// TestRunNamesOneTarget checks that a one-shot operation without exactly this agent's target has a problem, whatever the binding is. An approval has none: the
// digest that it names covers the cluster.
func TestRunNamesOneTarget(t *testing.T) {
	t.Parallel()
	const run = "Gitops-Run: start VirtualMachine/web"
	for name, test := range map[string]struct{ trailers, want string }{
		"this_one":    {run + "\nGitops-Target: lab/main", ""},
		"none":        {run, "names 0"},
		"two":         {run + "\nGitops-Target: lab/main\nGitops-Target: other/main", "names 2"},
		"another_one": {run + "\nGitops-Target: other/main", "other/main"},
		"approval":    {"Gitops-Approve: 12ab", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestHistory(t)
			d := s.on(s.next)
			d.message = "why\n\n" + test.trailers
			got := ordersOf(s, d, func(o *verify.Options) { o.Binding, o.Target = verify.BindingNone, "lab/main" })
			if len(got.Orders) != 1 || (got.Orders[0].Problem == "") != (test.want == "") || !strings.Contains(got.Orders[0].Problem, test.want) {
				t.Errorf("got %+v, want one order with a problem that contains %q", got.Orders, test.want)
			}
		})
	}
}

// TestOrdersThatDoNotCount has the ways to make a signer give an order without intent.
func TestOrdersThatDoNotCount(t *testing.T) {
	t.Parallel()
	const order = "Gitops-Approve: 12ab"
	tests := map[string]struct {
		change func(s testHistory, d *draft)
		want   string
	}{
		"tree_changed": {func(s testHistory, d *draft) { d.tree, d.message = s.tree("web.yaml=9"), "release\n\n"+order }, "changes files"},
		"merge": {func(s testHistory, d *draft) {
			d.parents, d.message = append(d.parents, s.accepted), "release\n\n"+order
		}, "2 parents"},
		"quoted":        {func(_ testHistory, d *draft) { d.message = "why\n\n> " + order + "\n\nno" }, "last paragraph"},
		"first_of_two":  {func(_ testHistory, d *draft) { d.message = "why\n\n" + order + "\n\nSigned-off-by: A <a@x>" }, "Signed-off-by"},
		"before_target": {func(_ testHistory, d *draft) { d.message = "why\n\n" + order + "\n\nGitops-Target: lab/main" }, "last paragraph"},
		"in_subject":    {func(_ testHistory, d *draft) { d.message = order }, "last paragraph"},
		"in_prose":      {func(_ testHistory, d *draft) { d.message = "why\n\nplease do\n" + order }, "last paragraph"},
		"among_others":  {func(_ testHistory, d *draft) { d.message = "why\n\n" + order + "\nSigned-off-by: A <a@x>" }, "Signed-off-by"},
		"unknown_key":   {func(_ testHistory, d *draft) { d.message = "why\n\n" + order + "\nGitops-Aprove: 34" }, "Gitops-Aprove"},
		"twice":         {func(_ testHistory, d *draft) { d.message = "why\n\n" + order + "\n" + order }, "occurs twice"},
		"last_but_one":  {func(_ testHistory, d *draft) { d.message = "why\n\n" + order + "\n\nand that is all" }, "last paragraph"},
		"merge_text": {func(s testHistory, d *draft) {
			d.parents, d.message = append(d.parents, s.accepted), "Merge branch 'x'\n\n* x:\n  "+order+"\n\n"+order
		}, "2 parents"},
		"crlf":           {func(_ testHistory, d *draft) { d.message = "why\r\n\r\n" + order + "\r\n" }, "last paragraph"},
		"crlf_at_end":    {func(_ testHistory, d *draft) { d.message = "why\n\n" + order + "\r\n" }, "last paragraph"},
		"carriage_only":  {func(_ testHistory, d *draft) { d.message = "why\n\nGitops-Target: lab/main\r" + order }, "last paragraph"},
		"folded":         {func(_ testHistory, d *draft) { d.message = "why\n\nGitops-Approve: 12\n ab" }, "last paragraph"},
		"fold_of_other":  {func(_ testHistory, d *draft) { d.message = "why\n\nSigned-off-by: A <a@x>\n " + order }, "last paragraph"},
		"tabbed":         {func(_ testHistory, d *draft) { d.message = "why\n\nGitops-Approve:\t12ab" }, "last paragraph"},
		"space_before":   {func(_ testHistory, d *draft) { d.message = "why\n\nGitops-Approve : 12ab\nGitops-Run: x" }, "last paragraph"},
		"line_separator": {func(_ testHistory, d *draft) { d.message = "why\n\nGitops-Target: lab/main\u2028" + order }, "last paragraph"},
		"overridden":     {func(_ testHistory, d *draft) { d.message = "why\n\n" + order + "\u202e43" }, "last paragraph"},
		"zero_width":     {func(_ testHistory, d *draft) { d.message = "why\n\nGitops-Approve: 12\u200bab" }, "last paragraph"},
		"not_utf8":       {func(_ testHistory, d *draft) { d.message = "why\n\n" + order + "\xff" }, "last paragraph"},
		"behind_nul":     {func(_ testHistory, d *draft) { d.message = "why\x00\n\n" + order }, "last paragraph"},
		"lookalike_near": {func(_ testHistory, d *draft) { d.message = "why\n\n" + order + "\nGitops-\u0410pprove: 34" }, "last paragraph"},
		"lower_case":     {func(_ testHistory, d *draft) { d.message = "why\n\ngitops-approve: 12ab" }, "trailer gitops-approve is unknown, want one of Gitops-Target, Gitops-Approve"},
		"upper_case":     {func(_ testHistory, d *draft) { d.message = "why\n\nGITOPS-RUN: reboot VirtualMachine/web" }, "trailer GITOPS-RUN is unknown"},
		"misspelt":       {func(_ testHistory, d *draft) { d.message = "why\n\nGitops-Aprove: 12ab" }, "trailer Gitops-Aprove is unknown"},
		"misspelt_with_files": {func(s testHistory, d *draft) {
			d.tree, d.message = s.tree("web.yaml=9"), "why\n\nGitops-Order: reboot VirtualMachine/web"
		}, "trailer Gitops-Order is unknown"},
		"other_spelling": {func(_ testHistory, d *draft) { d.message = "why\n\nGitops-approve: 12\n\nnot Gitops-Run: either" }, "last paragraph"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newTestHistory(t)
			d := s.on(s.next)
			tt.change(s, &d)
			got := ordersOf(s, d)
			if len(got.Orders) != 0 || !strings.Contains(got.Ignored, tt.want) {
				t.Errorf("got orders %+v, ignored %q, want none because of %q", got.Orders, got.Ignored, tt.want)
			}
		})
	}
}

// TestOrdersLookalikes: a line that only looks like an order is ordinary text.
func TestOrdersLookalikes(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"cyrillic":   "Gitops-\u0410pprove: 12ab",
		"hyphen":     "Gitops\u2010Approve: 12ab",
		"fullwidth":  "Gitops-Approve\uff1a 12ab",
		"zero_width": "Gitops-Approve\u200b: 12ab",
		"combining":  "Gitops-Approve\u0301: 12ab",
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestHistory(t)
			d := s.on(s.next)
			d.message = "why\n\n" + line
			if got := ordersOf(s, d); len(got.Orders) != 0 || got.Ignored != "" {
				t.Errorf("got orders %+v, ignored %q, want a message like any other", got.Orders, got.Ignored)
			}
		})
	}
}

// TestOrderKeyDoesNotDependOnCommitID: the same payload with another signature has another commit id and is the same order.
func TestOrderKeyDoesNotDependOnCommitID(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	d := s.on(s.next)
	d.message, d.sign.At = "release\n\nGitops-Approve: 12ab", s.now
	first := ordersOf(s, d)
	second := ordersOf(s, d) // signed again: another log entry
	if first.ID == second.ID || first.Orders[0].Key != second.Orders[0].Key {
		t.Errorf("got ids %s and %s, keys %s and %s, want different ids and the same key", first.ID, second.ID, first.Orders[0].Key, second.Orders[0].Key)
	}
}

// TestOrdersInTipModeCompareWithTheParent: a commit gives orders if it changes nothing compared with its own parent.
func TestOrdersInTipModeCompareWithTheParent(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	d := s.on(s.unsigned(s.on(s.accepted)))
	d.message = "release\n\nGitops-Approve: 12ab"
	tip := func(o *verify.Options) { o.History = verify.HistoryTip }
	if got := ordersOf(s, d, tip); len(got.Orders) != 1 || got.Before != s.first {
		t.Errorf("got %+v, want one order, measured against %s", got, s.first)
	}
	d.parents = []gitsource.ID{s.accepted}
	if got := ordersOf(s, d, tip); len(got.Orders) != 0 {
		t.Errorf("got %+v, want no order from a commit that changes files", got)
	}
}

func TestCommitsAreCopies(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	d := s.on(s.next)
	d.message = "release\n\nGitops-Approve: 12ab"
	r := s.testRepo.accepted(s.policy(), s.commit(d), s.base)
	r.Commits()[1].Orders[0].Allowed = false
	r.Commits()[1].Roles[0] = "none"
	if again := r.Commits()[1]; !again.Orders[0].Allowed || again.Roles[0] == "none" {
		t.Errorf("got %+v, want the revision unchanged by a caller", again)
	}
}
