package verify

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"gitops-agent/gitsource"
)

// A History selects which commits between two accepted revisions must be signed.
type History string

// The history modes. The zero value means HistoryFirstParent.
const (
	HistoryFirstParent History = "first-parent" // every commit on the first-parent path; a signed merge also covers its side branch
	HistoryTip         History = "tip"          // only the tip, which covers everything since the last accepted revision
	HistoryAll         History = "all"          // every new commit, also on side branches
)

// A Binding selects what binds a commit to this target. A signature contains neither repository nor branch.
type Binding string

// The bindings. There is no default.
const (
	BindingTrailer     Binding = "trailer"     // the tip's message ends with Gitops-Target: <cluster>/<branch>
	BindingCertificate Binding = "certificate" // signers are workflows whose certificate names repository and ref
	BindingNone        Binding = "none"        // nothing: any branch with signed commits can become the target's branch
)

// A TimestampRule selects whether a timestamp authority must prove the time of a signature.
type TimestampRule string

// The timestamp rules. The zero value means TimestampOptional.
const (
	TimestampOptional TimestampRule = "optional" // the time of a Rekor v1 log is enough
	TimestampRequired TimestampRule = "required" // the commit needs a token of an authority in the trusted root
)

// Deny lists objects that are refused although every other check accepts them.
type Deny struct {
	Commits      []gitsource.ID
	Payloads     []string // SHA-256 of what a signature covers, 64 lower-case hex digits: a commit under every id
	Certificates []string // SHA-256 of the certificate's DER, 64 lower-case hex digits
	LogIndexes   []int64  // index of the transparency log entry
}

// Options are the settings of a Policy. They come from the agent's host, never from the repository.
type Options struct {
	TrustedRoot []byte   // content of trusted_root.json; required
	Signers     []Signer // at least one is required; the first match counts
	Branch      string   // the branch, for Revision.String and the binding; required
	Target      string   // <cluster>/<branch>, the required value of the trailer Gitops-Target; required with BindingTrailer
	Paths       []string // of the repository that the target reads; none are the whole repository
	Binding     Binding  // required
	History     History
	Timestamps  TimestampRule

	Anchor          gitsource.ID // a commit trusted by its id: the first revision must descend from it
	TrustOnFirstUse bool         // instead of Anchor: accept the first signed tip without a base
	NotBefore       time.Time    // no tip with an earlier proven time is accepted; the zero time disables this check
	Deny            Deny

	// Sandbox is set by programs that simulate everything. The policy then accepts only authorities with the SandboxMarker, and every other policy
	// accepts none with it. No config can set it.
	Sandbox bool
}

// validate reports every problem in o at once, each with the remedy. It returns the parsed trusted root and signers.
func (o Options) validate() (*trustedRoot, []*matcher, error) {
	var problems []error
	tr, err := o.parseRoot()
	problems = append(problems, err)
	signers, err := o.matchers()
	problems = append(problems, err, o.bindingProblem(), o.startProblem(), o.modeProblem(), o.denyProblem())
	if o.Branch == "" {
		problems = append(problems, errors.New("branch is required"))
	}
	return tr, signers, errors.Join(problems...)
}

func (o Options) parseRoot() (*trustedRoot, error) {
	if len(o.TrustedRoot) == 0 {
		return nil, errors.New("trusted root is required: set trust.trusted_root_file to a trusted_root.json that you obtained yourself")
	}
	tr, err := parseTrustedRoot(o.TrustedRoot)
	if err != nil {
		return tr, err
	}
	return tr, o.sandboxProblem(tr)
}

func (o Options) matchers() ([]*matcher, error) {
	if len(o.Signers) == 0 {
		return nil, errors.New("at least one signer is required: list in trust.signers who may sign")
	}
	var problems []error
	matchers := make([]*matcher, 0, len(o.Signers))
	for i, s := range o.Signers {
		m, err := newMatcher(s)
		if err != nil {
			problems = append(problems, fmt.Errorf("signer %d %q: %w", i+1, s.Name, err))
		}
		matchers = append(matchers, m)
	}
	return matchers, errors.Join(problems...)
}

func (o Options) bindingProblem() error {
	switch o.Binding {
	case BindingNone:
		return nil
	case BindingTrailer:
		if o.Target == "" || !strings.HasSuffix(o.Target, "/"+o.Branch) {
			return fmt.Errorf("target: got %q, want <cluster>/%s because the binding is trailer", o.Target, o.Branch)
		}
		return nil
	case BindingCertificate:
		return o.certificateProblem()
	default:
		return fmt.Errorf("binding: got %q: set trust.binding to what binds a commit to this target: trailer, certificate or none", o.Binding)
	}
}

// certificateProblem reports signers whose certificates could come from any branch. A signer without RoleChange needs no
// such binding, because the commits of that signer leave the tree unchanged.
func (o Options) certificateProblem() error {
	var problems []error
	for _, s := range o.Signers {
		m := &matcher{Signer: s}
		if m.may(RoleChange) && !s.Extensions.namesRepositoryAndRef() {
			problems = append(problems, fmt.Errorf("binding certificate: signer %q may change files, so its extensions must name repository and ref", s.Name))
		}
	}
	return errors.Join(problems...)
}

func (o Options) startProblem() error {
	switch {
	case o.Anchor == "" && !o.TrustOnFirstUse:
		return errors.New("no start of trust: set trust.anchor to a commit that you reviewed, or set trust.trust_on_first_use to true to accept the first signed tip")
	case o.Anchor != "" && o.TrustOnFirstUse:
		return errors.New("trust.anchor and trust.trust_on_first_use exclude each other: remove one")
	case o.Anchor != "":
		if _, err := gitsource.ParseID(string(o.Anchor)); err != nil {
			return fmt.Errorf("trust.anchor: %w: git rev-parse %s in a clone prints the full id", err, o.Anchor)
		}
	}
	return nil
}

func (o Options) modeProblem() error {
	var problems []error
	switch o.History {
	case "", HistoryFirstParent, HistoryTip, HistoryAll:
	default:
		problems = append(problems, fmt.Errorf("history: got %q: choose first-parent, tip or all", o.History))
	}
	switch o.Timestamps {
	case "", TimestampOptional, TimestampRequired:
	default:
		problems = append(problems, fmt.Errorf("timestamps: got %q: choose optional or required", o.Timestamps))
	}
	return errors.Join(problems...)
}

func (o Options) denyProblem() error {
	var problems []error
	for _, id := range o.Deny.Commits {
		if _, err := gitsource.ParseID(string(id)); err != nil {
			problems = append(problems, fmt.Errorf("deny: commit: %w", err))
		}
	}
	for _, payload := range o.Deny.Payloads {
		problems = append(problems, digestProblem("payload", payload))
	}
	for _, fingerprint := range o.Deny.Certificates {
		problems = append(problems, digestProblem("certificate", fingerprint))
	}
	for _, index := range o.Deny.LogIndexes {
		if index < 0 {
			problems = append(problems, fmt.Errorf("deny: log index %d is negative", index))
		}
	}
	return errors.Join(problems...)
}

// digestProblem returns an error if the text is not a SHA-256 as the audit prints it.
func digestProblem(what, text string) error {
	if raw, err := hex.DecodeString(text); err != nil || len(raw) != 32 || strings.ToLower(text) != text {
		return fmt.Errorf("deny: %s %q is not a SHA-256 in 64 lower-case hex digits", what, text)
	}
	return nil
}
