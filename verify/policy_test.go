package verify_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/verify"
)

func onlySigner(s verify.Signer) func(*verify.Options) {
	return func(o *verify.Options) { o.Signers = []verify.Signer{s} }
}

func signer(change func(*verify.Signer)) verify.Signer {
	s := verify.Signer{Name: "alice", Issuer: alice.Issuer, Subject: alice.Subject, May: []verify.Role{verify.RoleChange}}
	change(&s)
	return s
}

func TestCheckRoles(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	withBob := s.policy(addSigner(approver(bob)))

	same := s.on(s.next)
	same.by = bob
	if got := s.testRepo.accepted(withBob, s.commit(same), s.base); got.Signer().Signer != "approver" {
		t.Errorf("signer: got %q, want approver", got.Signer().Signer)
	}
	changing := s.on(s.next)
	changing.by, changing.tree = bob, s.tree("web.yaml=3")
	changed := s.commit(changing)
	s.refused(withBob, changed, s.base, verify.ReasonMissingRole, changed)
	s.refused(withBob, s.commit(s.on(changed)), s.base, verify.ReasonMissingRole, changed)
}

// TestCheckTipModeJudgesWholeChange: commits below the tip are not verified, so the tip's signer needs the role for their
// changes too.
func TestCheckTipModeJudgesWholeChange(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	d := s.on(s.unsigned(s.on(s.accepted)))
	d.by = bob
	tip := s.commit(d)
	p := s.policy(addSigner(approver(bob)), func(o *verify.Options) { o.History = verify.HistoryTip })
	s.refused(p, tip, s.base, verify.ReasonMissingRole, tip)

	d.tree = s.first
	d.parents = []gitsource.ID{s.unsigned(d)}
	s.testRepo.accepted(p, s.commit(d), s.base)
}

func TestCheckAllModeJudgesSideCommits(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	side := s.on(s.accepted)
	side.by, side.tree = bob, s.tree("web.yaml=evil")
	sideCommit := s.commit(side)
	merge := s.on(s.next)
	merge.parents = append(merge.parents, sideCommit)
	tip := s.commit(merge)
	all := func(o *verify.Options) { o.History = verify.HistoryAll }
	s.refused(s.policy(addSigner(approver(bob)), all), tip, s.base, verify.ReasonMissingRole, sideCommit)
	s.testRepo.accepted(s.policy(addSigner(approver(bob))), tip, s.base)
}

func TestCheckPaths(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		paths []string
		after []string
		want  verify.Reason
	}{
		"inside_folder":     {[]string{"web"}, []string{"web/a.yaml=2", "db/a.yaml=1"}, ""},
		"named_file":        {[]string{"web/a.yaml"}, []string{"web/a.yaml=2", "db/a.yaml=1"}, ""},
		"other_folder":      {[]string{"web"}, []string{"web/a.yaml=1", "db/a.yaml=2"}, verify.ReasonOutOfScope},
		"both_folders":      {[]string{"web"}, []string{"web/a.yaml=2", "db/a.yaml=2"}, verify.ReasonOutOfScope},
		"both_in_scope":     {[]string{"web", "db"}, []string{"web/a.yaml=2", "db/a.yaml=2"}, ""},
		"removed_elsewhere": {[]string{"web"}, []string{"web/a.yaml=1"}, verify.ReasonOutOfScope},
		"added_at_the_top":  {[]string{"web"}, []string{"web/a.yaml=1", "db/a.yaml=1", "cluster.yaml=1"}, verify.ReasonOutOfScope},
		"prefix_of_a_name":  {[]string{"web"}, []string{"web/a.yaml=1", "db/a.yaml=1", "web2/a.yaml=1"}, verify.ReasonOutOfScope},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l := newTestRepo(t)
			base := l.commit(draft{tree: l.tree("web/a.yaml=1", "db/a.yaml=1")})
			tip := l.commit(draft{tree: l.tree(tt.after...), parents: []gitsource.ID{base}})
			p := l.policy(onlySigner(signer(func(s *verify.Signer) { s.Paths = tt.paths })))
			if tt.want == "" {
				l.accepted(p, tip, verify.Base{Commit: base})
			} else {
				l.refused(p, tip, verify.Base{Commit: base}, tt.want, tip)
			}
		})
	}
}

// TestCheckFirstUseNeedsTheWholeScope: on first use the signer must be allowed to change the whole tree.
func TestCheckFirstUseNeedsTheWholeScope(t *testing.T) {
	t.Parallel()
	l := newTestRepo(t)
	tip := l.commit(draft{tree: l.tree("web/a.yaml=1", "db/a.yaml=1")})
	scoped := func(paths ...string) *verify.Policy {
		return l.policy(onlySigner(signer(func(s *verify.Signer) { s.Paths = paths })))
	}
	l.refused(scoped("web"), tip, verify.Base{}, verify.ReasonOutOfScope, tip)
	l.accepted(scoped("web", "db"), tip, verify.Base{})
}

func TestCheckWindow(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	at := s.now // when next was proven
	tests := map[string]struct {
		from, until time.Time
		want        verify.Reason
	}{
		"from_is_inclusive":  {from: at},
		"from_is_later":      {from: at.Add(time.Second), want: verify.ReasonOutsideWindow},
		"until_is_exclusive": {until: at, want: verify.ReasonOutsideWindow},
		"until_is_later":     {until: at.Add(time.Second)},
		"inside":             {from: at.Add(-time.Hour), until: at.Add(time.Hour)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := s.policy(onlySigner(signer(func(s *verify.Signer) { s.From, s.Until = tt.from, tt.until })))
			if tt.want == "" {
				s.testRepo.accepted(p, s.next, s.base)
			} else {
				s.refused(p, s.next, s.base, tt.want, s.next)
			}
		})
	}
}

// TestCheckUsesSignerTrustedAtTheTime: one identity may occur several times in the list, with other rights at other times.
func TestCheckUsesSignerTrustedAtTheTime(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	p := s.policy(func(o *verify.Options) {
		o.Signers = []verify.Signer{
			signer(func(v *verify.Signer) { v.Name, v.Until = "alice-then", s.now }),
			signer(func(v *verify.Signer) {
				v.Name, v.From, v.Guests = "alice-now", s.now, []string{"VirtualMachine/web-*"}
			}),
		}
	})
	got := s.testRepo.accepted(p, s.next, s.base)
	if c := got.Commits()[0]; c.Signer != "alice-now" || !slices.Equal(c.Guests, []string{"VirtualMachine/web-*"}) {
		t.Errorf("got signer %q with guests %v, want alice-now with hers", c.Signer, c.Guests)
	}
}

func TestCheckDeny(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	tip := s.commit(s.on(s.next))
	v := s.policy().Audit(t.Context(), s.repo, s.next)
	if !v.Accepted || v.Certificate == "" {
		t.Fatalf("audit: got %+v, want an accepted commit with its certificate", v)
	}
	for name, deny := range map[string]verify.Deny{
		"commit":      {Commits: []gitsource.ID{s.next}},
		"payload":     {Payloads: []string{v.Payload}},
		"certificate": {Certificates: []string{v.Certificate}},
		"log_index":   {LogIndexes: []int64{v.LogIndex}},
	} {
		t.Run(name, func(t *testing.T) {
			s.refused(s.policy(func(o *verify.Options) { o.Deny = deny }), tip, s.base, verify.ReasonDenied, s.next)
		})
	}
	t.Run("commit_not_verified_in_tip_mode", func(t *testing.T) {
		s.refused(s.policy(denyCommit(s.next), func(o *verify.Options) { o.History = verify.HistoryTip }), tip, s.base, verify.ReasonDenied, s.next)
	})
	t.Run("payload_not_verified_in_tip_mode", func(t *testing.T) {
		s.refused(s.policy(denyPayload(v.Payload), func(o *verify.Options) { o.History = verify.HistoryTip }), tip, s.base, verify.ReasonDenied, s.next)
	})
	t.Run("payload_under_another_id", func(t *testing.T) {
		again := s.rewrapped(s.next)
		s.refused(s.policy(denyPayload(v.Payload)), again, s.base, verify.ReasonDenied, again)
	})
}

// denyPayload denies the commits with a payload.
func denyPayload(payload string) func(*verify.Options) {
	return func(o *verify.Options) { o.Deny.Payloads = []string{payload} }
}

func TestNewPolicyReportsEveryProblem(t *testing.T) {
	t.Parallel()
	_, err := verify.NewPolicy(verify.Options{})
	if err == nil {
		t.Fatal("policy without trust: got none, want an error")
	}
	for _, want := range []string{"trusted_root_file", "trust.signers", "trust.binding", "trust.anchor", "trust_on_first_use", "branch"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %q, want it to mention %s", err, want)
		}
	}
}

func TestNewPolicyRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(o *verify.Options)
		want   string
	}{
		"deny_short_payload":         {denyPayload("12"), "payload"},
		"root_not_json":              {func(o *verify.Options) { o.TrustedRoot = []byte("{") }, "trusted root"},
		"root_of_something_else":     {func(o *verify.Options) { o.TrustedRoot = []byte("{}") }, "cosign trusted-root create"},
		"root_empty":                 {func(o *verify.Options) { o.TrustedRoot = []byte(emptyRoot) }, "no transparency log"},
		"root_without_ca":            {func(o *verify.Options) { o.TrustedRoot = []byte(emptyRoot) }, "no certificate authority"},
		"root_without_ct":            {func(o *verify.Options) { o.TrustedRoot = []byte(emptyRoot) }, "no certificate log"},
		"signer_without_name":        {func(o *verify.Options) { o.Signers[0].Name = "" }, "name is required"},
		"signer_without_role":        {func(o *verify.Options) { o.Signers[0].May = nil }, "may is required"},
		"unknown_role":               {func(o *verify.Options) { o.Signers[0].May = []verify.Role{"admin"} }, "admin"},
		"role_twice":                 {func(o *verify.Options) { o.Signers[0].May = []verify.Role{"change", "change"} }, "listed twice"},
		"no_issuer":                  {func(o *verify.Options) { o.Signers[0].Issuer = "" }, "issuer is required"},
		"no_subject":                 {func(o *verify.Options) { o.Signers[0].Subject = "" }, "exactly one of subject"},
		"two_subjects":               {func(o *verify.Options) { o.Signers[0].SubjectRegexp = "x" }, "exactly one of subject"},
		"subject_with_a_star":        {func(o *verify.Options) { o.Signers[0].Subject = "*@example.org" }, "as subject_regexp"},
		"bad_pattern":                {pattern("("), "subject_regexp"},
		"pattern_escapes":            {pattern("a)|(?:b"), "subject_regexp"},
		"pattern_matches_everything": {pattern(".*"), "matches the empty text"},
		"pattern_too_long":           {pattern(strings.Repeat("a", 1025)), "at most 1024"},
		"path_absolute":              {func(o *verify.Options) { o.Signers[0].Paths = []string{"/web"} }, "paths"},
		"path_climbs":                {func(o *verify.Options) { o.Signers[0].Paths = []string{"../web"} }, "paths"},
		"path_of_everything":         {func(o *verify.Options) { o.Signers[0].Paths = []string{"."} }, "paths"},
		"path_above":                 {func(o *verify.Options) { o.Signers[0].Paths = []string{".."} }, "paths"},
		"path_empty":                 {func(o *verify.Options) { o.Signers[0].Paths = []string{""} }, "paths"},
		"guest_empty":                {func(o *verify.Options) { o.Signers[0].Guests = []string{""} }, "guests"},
		"vmids_text":                 {limited([]string{"web"}, nil), `vmids: got "web"`},
		"vmids_too_low":              {limited([]string{"99"}, nil), `vmids: got "99"`},
		"vmids_reversed":             {limited([]string{"199-100"}, nil), "the lower vmid first"},
		"source_form":                {limited(nil, []string{"debian"}), `sources: "debian"`},
		"source_pattern":             {limited(nil, []string{"VirtualMachine/["}), "sources:"},
		"vmids_without_guests":       {func(o *verify.Options) { o.Signers[0].VMIDs = []string{"100"} }, "need guests"},
		"sources_without_guests":     {func(o *verify.Options) { o.Signers[0].Sources = []string{"100"} }, "need guests"},
		"branch_missing":             {func(o *verify.Options) { o.Branch = "" }, "branch is required"},
		"path_with_slash":            {func(o *verify.Options) { o.Signers[0].Paths = []string{"web/"} }, "paths"},
		"bad_guest_pattern":          {func(o *verify.Options) { o.Signers[0].Guests = []string{"["} }, "guests"},
		"from_after_until": {func(o *verify.Options) {
			o.Signers[0].From, o.Signers[0].Until = noon, noon
		}, "from must be before until"},
		"target_missing":         {func(o *verify.Options) { o.Binding, o.Target = verify.BindingTrailer, "" }, "want <cluster>/main"},
		"target_other_branch":    {func(o *verify.Options) { o.Binding, o.Target = verify.BindingTrailer, "lab/dev" }, "lab/dev"},
		"certificate_unbound":    {func(o *verify.Options) { o.Binding = verify.BindingCertificate }, "must name repository and ref"},
		"unknown_binding":        {func(o *verify.Options) { o.Binding = "branch" }, "branch"},
		"unknown_history":        {func(o *verify.Options) { o.History = "some" }, "some"},
		"unknown_timestamps":     {func(o *verify.Options) { o.Timestamps = "never" }, "never"},
		"anchor_and_first_use":   {func(o *verify.Options) { o.Anchor = "x" }, "exclude each other"},
		"anchor_short":           {func(o *verify.Options) { o.Anchor, o.TrustOnFirstUse = "abc123", false }, "anchor"},
		"deny_short_commit":      {denyCommit("abc123"), "deny: commit"},
		"deny_bad_certificate":   {func(o *verify.Options) { o.Deny.Certificates = []string{"AB"} }, "deny: certificate"},
		"deny_short_certificate": {func(o *verify.Options) { o.Deny.Certificates = []string{"ab"} }, "deny: certificate"},
		"deny_upper_case":        {func(o *verify.Options) { o.Deny.Certificates = []string{strings.Repeat("AB", 32)} }, "deny: certificate"},
		"deny_more_than_hex":     {func(o *verify.Options) { o.Deny.Certificates = []string{strings.Repeat("ab", 32) + "z"} }, "deny: certificate"},
		"deny_negative_index":    {func(o *verify.Options) { o.Deny.LogIndexes = []int64{-1} }, "deny: log index"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l := newTestRepo(t)
			opts := l.options()
			tt.change(&opts)
			if _, err := verify.NewPolicy(opts); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error that contains %q", err, tt.want)
			}
		})
	}
}

const emptyRoot = `{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1"}`

func pattern(p string) func(*verify.Options) {
	return func(o *verify.Options) { o.Signers[0].Subject, o.Signers[0].SubjectRegexp = "", p }
}

// TestNewPolicyCertificateBinding: people who cannot change files need no certificate that names a branch.
func TestNewPolicyCertificateBinding(t *testing.T) {
	t.Parallel()
	l := newTestRepo(t)
	d := draft{by: workflow, tree: l.tree("web.yaml=1")}
	tip := l.commit(d)
	p := l.policy(func(o *verify.Options) {
		trustWorkflow(func(*verify.Extensions) {})(l, o)
		o.Signers = append(o.Signers, approver(bob))
		o.Binding = verify.BindingCertificate
	})
	l.accepted(p, tip, verify.Base{})
}

func TestPolicyRoot(t *testing.T) {
	t.Parallel()
	l := newTestRepo(t)
	if got := l.policy().Root(); !got.Expiry.After(noon) || got.SHA256 == [32]byte{} {
		t.Errorf("got %+v, want a digest and an expiry after the tests", got)
	}
	end := noon.Add(time.Hour)
	l.sig.Retire("rekor-v1", end)
	l.sig.Retire("rekor-v2", end.Add(time.Hour))
	if got, want := l.policy().Root().Expiry, end.Add(time.Hour); !got.Equal(want) {
		t.Errorf("expiry: got %v, want %v when the last log ends", got, want)
	}
}

func TestReasons(t *testing.T) {
	t.Parallel()
	seen := map[verify.Reason]bool{}
	for _, r := range verify.Reasons() {
		if seen[r] || r.Meaning() == "" || r.Hint() == "" {
			t.Errorf("%q: got twice %v, meaning %q, hint %q, want one row with both", r, seen[r], r.Meaning(), r.Hint())
		}
		seen[r] = true
	}
	if verify.Reason("other").Meaning() != "" {
		t.Error("a word outside the vocabulary has a meaning")
	}
}

// TestSignersShareAName lists two identities of one person. Both are accepted under the name.
func TestSignersShareAName(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	same := approver(bob)
	same.Name = "alice"
	p := s.policy(func(o *verify.Options) { o.Signers[0].Name = "alice" }, addSigner(same))
	d := s.on(s.next)
	d.by = bob
	if got := s.testRepo.accepted(p, s.commit(d), s.base).Signer(); got.Signer != "alice" || got.Subject != bob.Subject {
		t.Errorf("got %+v, want the name alice for the subject of bob", got)
	}
}

func TestPolicySignerName(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	entry := func(name, subject, pattern string, until time.Time) verify.Signer {
		return verify.Signer{Name: name, Issuer: alice.Issuer, Subject: subject, SubjectRegexp: pattern, May: []verify.Role{verify.RoleChange}, Until: until}
	}
	p := s.policy(func(o *verify.Options) {
		o.Signers = []verify.Signer{
			entry("eve", "eve@lab.test", "", time.Time{}), entry("eve", "", `eve\+\d@lab\.test`, time.Time{}),
			entry("dan", "dan@lab.test", "", noon), entry("bot", "", `b.*@lab\.test`, time.Time{}), entry("bob", "bob@lab.test", "", time.Time{}),
		}
	})
	tests := map[string]struct{ issuer, subject, want string }{
		"subject":      {alice.Issuer, "eve@lab.test", "eve"},
		"pattern":      {alice.Issuer, "eve+1@lab.test", "eve"},
		"other_issuer": {"https://other.test", "eve@lab.test", ""},
		"unknown":      {alice.Issuer, "EVE@lab.test", ""},
		"left":         {alice.Issuer, "dan@lab.test", ""},
		"two_names":    {alice.Issuer, "bob@lab.test", ""},
		"one_of_two":   {alice.Issuer, "bart@lab.test", "bot"},
	}
	for name, test := range tests {
		if got := p.SignerName(test.issuer, test.subject, noon); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// TestPolicySignerOf: the signer behind an identity is known only if no other entry can mean it.
func TestPolicySignerOf(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	entry := func(name, subject, pattern string, paths ...string) verify.Signer {
		return verify.Signer{Name: name, Issuer: alice.Issuer, Subject: subject, SubjectRegexp: pattern, May: []verify.Role{verify.RoleApprove}, Paths: paths}
	}
	before, after := entry("dan", "dan@lab.test", "", "old"), entry("dan", "dan@lab.test", "", "new")
	before.Until, after.From = noon, noon
	left := entry("lea", "lea@lab.test", "")
	left.Until = noon
	workflow := entry("bot", "", `https://forge\.test/.*`)
	workflow.Extensions.SourceRepositoryURI = "https://forge.test/a"
	p := s.policy(func(o *verify.Options) {
		o.Signers = []verify.Signer{
			entry("eve", "eve@lab.test", "", "web"), before, after, left, workflow, entry("team", "", `b.*@lab\.test`), entry("bob", "bob@lab.test", "", "web"),
		}
	})
	tests := map[string]struct {
		issuer, subject string
		at              time.Time
		want            string // name and paths
	}{
		"subject":            {alice.Issuer, "eve@lab.test", noon, "eve [web]"},
		"other_issuer":       {"https://other.test", "eve@lab.test", noon, ""},
		"unknown":            {alice.Issuer, "mallory@lab.test", noon, ""},
		"before":             {alice.Issuer, "dan@lab.test", noon.Add(-time.Second), "dan [old]"},
		"after":              {alice.Issuer, "dan@lab.test", noon, "dan [new]"},
		"left":               {alice.Issuer, "lea@lab.test", noon, ""},
		"two_entries":        {alice.Issuer, "bob@lab.test", noon, ""}, // the first one that matches has no paths
		"one_of_two_entries": {alice.Issuer, "bart@lab.test", noon, "team []"},
		"further_claims":     {alice.Issuer, "https://forge.test/a/release.yaml", noon, ""},
	}
	for name, test := range tests {
		got := ""
		if signer, found := p.SignerOf(test.issuer, test.subject, test.at); found {
			got = fmt.Sprint(signer.Name, " ", signer.Paths)
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// limited limits the first signer.
func limited(vmids, sources []string) func(*verify.Options) {
	return func(o *verify.Options) {
		o.Signers[0].Guests, o.Signers[0].VMIDs, o.Signers[0].Sources = []string{"VirtualMachine/web-*"}, vmids, sources
	}
}

// TestPolicyLimits checks that the limits of a signer follow the identity and contain its roles and times, and that the entry does not depend on roles, times and limits.
func TestPolicyLimits(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	before := signer(func(s *verify.Signer) {
		s.Guests, s.VMIDs, s.Sources = []string{"VirtualMachine/web-*"}, []string{"1000", "100-199"}, []string{"9000"}
	})
	before.Until = noon
	after := signer(func(s *verify.Signer) { s.May, s.From = append(s.May, verify.RoleApprove), noon })
	other := signer(func(s *verify.Signer) { s.Issuer, s.Paths = "https://other.test", []string{"web"} })
	p := s.policy(func(o *verify.Options) { o.Signers = []verify.Signer{before, after, other} })
	want := map[string][]verify.Limit{
		before.Entry(): {
			{Name: "alice", May: before.May, Until: noon, Guests: before.Guests, VMIDs: []verify.VMIDRange{{First: 1000, Last: 1000}, {First: 100, Last: 199}}, Sources: before.Sources},
			{Name: "alice", May: after.May, From: noon},
		},
		other.Entry(): {{Name: "alice", May: other.May, Paths: []string{"web"}}},
	}
	if got := p.Limits(); !reflect.DeepEqual(got, want) || !p.HasLimits() {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if before.Entry() != after.Entry() || len(before.Entry()) != 16 {
		t.Errorf("got entries %s and %s, want the same one of 16 digits", before.Entry(), after.Entry())
	}
}

// The digest of a policy changes with everything that Audit judges by, and with nothing else.
func TestPolicyDigest(t *testing.T) {
	t.Parallel()
	l := newTestRepo(t)
	want := l.policy().Digest()
	for name, test := range map[string]struct {
		change func(*verify.Options)
		same   bool
	}{
		"nothing":    {func(*verify.Options) {}, true},
		"default":    {func(o *verify.Options) { o.Timestamps = verify.TimestampOptional }, true},
		"history":    {func(o *verify.Options) { o.History = verify.HistoryAll }, true},
		"timestamps": {func(o *verify.Options) { o.Timestamps = verify.TimestampRequired }, false},
		"signer":     {func(o *verify.Options) { o.Signers = append(o.Signers, o.Signers[0]) }, false},
		"deny":       {func(o *verify.Options) { o.Deny.LogIndexes = []int64{7} }, false},
		"root":       {func(o *verify.Options) { o.TrustedRoot = append(o.TrustedRoot, '\n') }, false},
	} {
		if got := l.policy(test.change).Digest(); (got == want) != test.same {
			t.Errorf("%s: got the same digest %t, want %t", name, got == want, test.same)
		}
	}
}
