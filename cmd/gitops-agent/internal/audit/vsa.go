package audit

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/gitsource"
	"gitops-agent/internal/agent"
	"gitops-agent/internal/attest"
)

// The part of an in-toto statement with a verification summary that an audit needs. The statement is not signed.
//
// Source: in-toto Attestation Framework, Statement v1; SLSA, Verification Summary Attestation v1.

const (
	summaryType = "https://slsa.dev/verification_summary/v1"
	slsaVersion = "1.1"
	policyURI   = "urn:gitops-agent:trust-policy"

	resultPassed, resultFailed = "PASSED", "FAILED"
)

// The levels of a passed audit. They are this program's own: none of them is a level of SLSA.
const (
	levelObject      = "GITOPS_AGENT_OBJECT"       // the named commit, or tag with its commit
	levelFirstParent = "GITOPS_AGENT_FIRST_PARENT" // every commit of the range along first parents; side branches were not audited
	levelAll         = "GITOPS_AGENT_ALL_COMMITS"  // every commit of the range, also of side branches
	levelFailed      = "FAILED"
)

type vsaPredicate struct {
	Verifier           vsaVerifier     `json:"verifier"`
	TimeVerified       time.Time       `json:"timeVerified"`
	ResourceURI        string          `json:"resourceUri"`
	Policy             attest.Resource `json:"policy"`
	VerificationResult string          `json:"verificationResult"`
	VerifiedLevels     []string        `json:"verifiedLevels"`
	SlsaVersion        string          `json:"slsaVersion"`
}

type vsaVerifier struct {
	ID      string            `json:"id"`
	Version map[string]string `json:"version,omitempty"`
}

// A Verifier is who vouches for a verification summary, and for what.
type Verifier struct {
	ID       string // a URI
	Resource string // URI of the repository; "" derives it from the remote that was audited
	Version  string // of this program
	Time     time.Time
}

// Check returns an error if the verifier does not say who verified.
func (by Verifier) Check() error {
	if !isURI(by.ID) {
		return term.UsageErrorf("-o vsa needs --verifier-id: a URI that says who verified, such as https://example.org/audits")
	}
	return nil
}

// WriteVSA prints a verification summary of the audit as an unsigned in-toto statement.
func (r Result) WriteVSA(out io.Writer, by Verifier) error {
	resource := cmp.Or(by.Resource, r.resource)
	switch {
	case !isURI(resource):
		return term.UsageErrorf("-o vsa needs --resource-uri for this repository, such as git+https://example.org/homelab.git")
	case len(r.subject) == 0 || len(r.document.all) == 0:
		return fmt.Errorf("%s has no commit to state anything about", r.document.Revision)
	}
	d := r.document
	subject := r.subject
	subject[0].Annotations = map[string]any{
		"revision": d.Revision, "accepted": d.Accepted, "refused": d.Refused, "sealed": d.Sealed, "sideBranchCommitsNotAudited": d.NotAudited.SideBranches,
	}
	predicate := vsaPredicate{
		Verifier: vsaVerifier{by.ID, map[string]string{"gitops-agent": by.Version}}, TimeVerified: by.Time.UTC().Truncate(time.Second), ResourceURI: resource,
		Policy:             attest.Resource{URI: policyURI, Digest: map[string]string{"sha256": hex.EncodeToString(r.policy[:])}},
		VerificationResult: resultPassed, VerifiedLevels: []string{r.level()}, SlsaVersion: slsaVersion,
	}
	if r.Err() != nil {
		predicate.VerificationResult, predicate.VerifiedLevels = resultFailed, []string{levelFailed}
	}
	return term.WriteJSON(out, attest.NewStatement(subject, summaryType, predicate))
}

// level returns what a passed audit covers.
func (r Result) level() string {
	switch {
	case !r.isRange:
		return levelObject
	case r.document.NotAudited.SideBranches > 0 || r.document.NotAudited.More:
		return levelFirstParent
	default:
		return levelAll
	}
}

// vsaSubject returns what a summary is about: the tip of a range, or the commit and the tag that a revision names.
func vsaSubject(chosen selection) []attest.Resource {
	named := func(name, algorithm string, id gitsource.ID) attest.Resource {
		return attest.Resource{Name: name, Digest: map[string]string{algorithm: string(id)}}
	}
	var subject []attest.Resource
	if chosen.tip != "" {
		return append(subject, named("commit", attest.GitCommit, chosen.tip))
	}
	for _, id := range chosen.commits {
		subject = append(subject, named("commit", attest.GitCommit, id))
	}
	if chosen.tag != "" {
		subject = append(subject, named(cmp.Or(chosen.ref, "tag"), attest.GitTag, chosen.tag))
	}
	return subject
}

// shortRemote matches the short form of ssh.
var shortRemote = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([A-Za-z0-9._-]+@[^/:]+):(.+)$`) })

// resourceOf returns the URI of the repository of an audit: that of --repo, or of the first remote of the config. It returns "" for a directory, whose
// path says nothing on another machine.
func resourceOf(where string, config agent.Config) string {
	switch {
	case where == "" && len(config.Source.Remotes) > 0:
		where = config.Source.Remotes[0].URL
	case !isRemote(where):
		return ""
	}
	if m := shortRemote().FindStringSubmatch(where); m != nil && !strings.Contains(where, "://") {
		where = "ssh://" + m[1] + "/" + strings.TrimPrefix(m[2], "/")
	}
	return "git+" + where
}

func isURI(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme != ""
}
