package verify

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"gitops-agent/verify/scope"

	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"
	sigstore "github.com/sigstore/sigstore-go/pkg/verify"
)

// maxPattern is the longest subject_regexp, in bytes. A compiled pattern takes memory for each of its repetitions, and the
// policy keeps it.
const maxPattern = 1024

// A Role is something that a signer may do.
type Role string

// The roles of a signer. A signer without RoleChange may only sign commits that leave the tree unchanged.
const (
	RoleChange  Role = "change"  // change files
	RoleApprove Role = "approve" // release held steps by a Gitops-Approve trailer
	RoleOperate Role = "operate" // order one-shot operations by a Gitops-Run trailer
	RoleSeal    Role = "seal"    // accept ancestors by a Gitops-Seal trailer
)

// Roles lists every role.
func Roles() []Role { return []Role{RoleChange, RoleApprove, RoleOperate, RoleSeal} }

// RoleNames returns the names of all roles, for people: "change, approve, operate, seal".
func RoleNames() string {
	var names []string
	for _, role := range Roles() {
		names = append(names, string(role))
	}
	return strings.Join(names, ", ")
}

// A Signer is a person or a workflow whose signatures are accepted, with what the signer may do. If several signers match
// a certificate, the first one in the list that was trusted at the proven time counts.
type Signer struct {
	Name          string     // of the person or workflow; required. Several signers may share it: approvals count people by name
	Issuer        string     // OpenID Connect issuer, compared exactly; required
	Subject       string     // certificate subject (mail address or URI), compared exactly
	SubjectRegexp string     // instead of Subject; must match the whole subject, as if between ^(?: and )$
	Extensions    Extensions // further claims that the certificate must contain
	May           []Role     // required; there is no default
	Paths         []string   // folders and files that the signer may change; empty means the whole source
	Guests        []string   // guests, as kind/name or patterns of path.Match; verify only passes them on to SignedCommit.Guests
	VMIDs         []string   // only with Guests: vmids and ranges of guests that the source did not create and that the signer may touch; see Limit
	Sources       []string   // only with Guests: the only templates, images, backups and paths of the host that the signer may use; see Limit
	From, Until   time.Time  // From <= proven time < Until; the zero time leaves that side open
}

// Extensions are claims of the issuer in the certificate, compared exactly. An empty field is not compared. The numeric
// identifiers stay the same when a repository is renamed, and differ when its old name is registered again.
//
// Source: Fulcio's certificate extensions, OID 1.3.6.1.4.1.57264.1.
type Extensions struct {
	BuildSignerURI                  string // .9, the workflow that signed, with its ref
	RunnerEnvironment               string // .11, such as github-hosted
	SourceRepositoryURI             string // .12
	SourceRepositoryRef             string // .14, such as refs/heads/main
	SourceRepositoryIdentifier      string // .15, numeric
	SourceRepositoryOwnerURI        string // .16
	SourceRepositoryOwnerIdentifier string // .17, numeric
	BuildConfigURI                  string // .18, the workflow that was triggered
	BuildTrigger                    string // .20, such as push
}

// expected returns e in the type that sigstore-go compares.
func (e Extensions) expected() certificate.Extensions {
	return certificate.Extensions{
		BuildSignerURI:                  e.BuildSignerURI,
		RunnerEnvironment:               e.RunnerEnvironment,
		SourceRepositoryURI:             e.SourceRepositoryURI,
		SourceRepositoryRef:             e.SourceRepositoryRef,
		SourceRepositoryIdentifier:      e.SourceRepositoryIdentifier,
		SourceRepositoryOwnerURI:        e.SourceRepositoryOwnerURI,
		SourceRepositoryOwnerIdentifier: e.SourceRepositoryOwnerIdentifier,
		BuildConfigURI:                  e.BuildConfigURI,
		BuildTrigger:                    e.BuildTrigger,
	}
}

// extensionsOf returns the claims of a certificate that a signer can require.
func extensionsOf(got certificate.Extensions) Extensions {
	return Extensions{
		BuildSignerURI:                  got.BuildSignerURI,
		RunnerEnvironment:               got.RunnerEnvironment,
		SourceRepositoryURI:             got.SourceRepositoryURI,
		SourceRepositoryRef:             got.SourceRepositoryRef,
		SourceRepositoryIdentifier:      got.SourceRepositoryIdentifier,
		SourceRepositoryOwnerURI:        got.SourceRepositoryOwnerURI,
		SourceRepositoryOwnerIdentifier: got.SourceRepositoryOwnerIdentifier,
		BuildConfigURI:                  got.BuildConfigURI,
		BuildTrigger:                    got.BuildTrigger,
	}
}

// namesRepositoryAndRef reports whether a certificate that matches e was issued for one branch of one repository.
func (e Extensions) namesRepositoryAndRef() bool {
	return (e.SourceRepositoryURI != "" || e.SourceRepositoryIdentifier != "") && e.SourceRepositoryRef != ""
}

// A matcher is a validated Signer with its compiled identity, which is compared with certificates.
type matcher struct {
	Signer
	identity sigstore.CertificateIdentity
}

// newMatcher validates a signer and compiles its identity. The error lists every problem.
func newMatcher(s Signer) (*matcher, error) {
	problems := slices.Concat(s.identityProblems(), s.roleProblems(), s.scopeProblems(), s.limitProblems())
	if !s.From.IsZero() && !s.Until.IsZero() && !s.From.Before(s.Until) {
		problems = append(problems, errors.New("from must be before until"))
	}
	subject, err := s.subjectMatcher()
	if err != nil {
		problems = append(problems, err)
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	issuer, err := sigstore.NewIssuerMatcher(s.Issuer, "")
	if err != nil {
		return nil, fmt.Errorf("issuer: %w", err)
	}
	identity, err := sigstore.NewCertificateIdentity(subject, issuer, s.Extensions.expected())
	if err != nil {
		return nil, err
	}
	return &matcher{Signer: s, identity: identity}, nil
}

func (s Signer) identityProblems() []error {
	var problems []error
	if s.Name == "" {
		problems = append(problems, errors.New("name is required: approvals count people by name, and all signers of one person have the same name"))
	}
	if s.Issuer == "" {
		problems = append(problems, errors.New("issuer is required: the same subject of another issuer is another identity"))
	}
	if (s.Subject == "") == (s.SubjectRegexp == "") {
		problems = append(problems, errors.New("exactly one of subject and subject_regexp is required"))
	}
	if strings.Contains(s.Subject, "*") {
		problems = append(problems, fmt.Errorf("subject %q has a star, which no subject has: write a pattern as subject_regexp", s.Subject))
	}
	return problems
}

func (s Signer) roleProblems() []error {
	var problems []error
	if len(s.May) == 0 {
		problems = append(problems, fmt.Errorf("may is required: choose from %s", RoleNames()))
	}
	for i, role := range s.May {
		if !slices.Contains(Roles(), role) {
			problems = append(problems, fmt.Errorf("may: unknown role %q: choose from %s", role, RoleNames()))
		}
		if slices.Contains(s.May[:i], role) {
			problems = append(problems, fmt.Errorf("may: role %q is listed twice", role))
		}
	}
	return problems
}

func (s Signer) scopeProblems() []error {
	var problems []error
	for _, p := range s.Paths {
		if p != path.Clean(p) || path.IsAbs(p) || p == "." || p == ".." || strings.HasPrefix(p, "../") {
			problems = append(problems, fmt.Errorf("paths: %q is not a clean relative path such as guests/web", p))
		}
	}
	for _, g := range s.Guests {
		if _, err := path.Match(g, ""); err != nil || g == "" {
			problems = append(problems, fmt.Errorf("guests: %q is not a pattern such as VirtualMachine/web-*", g))
		}
	}
	return problems
}

// subjectMatcher returns the matcher of the subject. It compiles a pattern without the anchors first: a pattern such as
// "a)|(b" is valid only between the anchors, and would there match more than whole subjects.
func (s Signer) subjectMatcher() (sigstore.SubjectAlternativeNameMatcher, error) {
	if s.SubjectRegexp == "" {
		return sigstore.NewSANMatcher(s.Subject, "")
	}
	if len(s.SubjectRegexp) > maxPattern {
		return sigstore.SubjectAlternativeNameMatcher{}, fmt.Errorf("subject_regexp: got %d bytes, want at most %d", len(s.SubjectRegexp), maxPattern)
	}
	alone, err := regexp.Compile(s.SubjectRegexp)
	if err != nil {
		return sigstore.SubjectAlternativeNameMatcher{}, fmt.Errorf("subject_regexp: %w", err)
	}
	if alone.MatchString("") {
		return sigstore.SubjectAlternativeNameMatcher{}, errors.New("subject_regexp: the pattern matches the empty text: write a pattern that matches only the intended subjects")
	}
	return sigstore.NewSANMatcher("", "^(?:"+s.SubjectRegexp+")$")
}

// trustedAt reports whether the signer is trusted at the given time.
func (m *matcher) trustedAt(at time.Time) bool {
	return !at.Before(m.From) && (m.Until.IsZero() || at.Before(m.Until))
}

// may reports whether the signer has the role.
func (m *matcher) may(role Role) bool { return slices.Contains(m.May, role) }

// mayChangePath reports whether a path is inside the signer's paths.
func (m *matcher) mayChangePath(changed string) bool {
	return scope.HasPath(m.Paths, changed)
}
