package verify

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"gitops-agent/gitsource"
)

// A History says how much of what lies between two accepted revisions must be signed.
type History string

// The history modes. The zero value means HistoryFirstParent.
const (
	HistoryFirstParent History = "first-parent" // every commit on the first-parent path; a signed merge vouches for its side branch
	HistoryTip         History = "tip"          // the tip alone; it vouches for everything since the last accepted revision
	HistoryAll         History = "all"          // every commit that is new, on side branches too
)

// A Binding says what ties a commit to this target, since a signature says neither repository nor branch.
type Binding string

// The bindings. There is no default.
const (
	BindingTrailer     Binding = "trailer"     // the tip's message ends with Gitops-Target: <cluster>/<branch>
	BindingCertificate Binding = "certificate" // signers are workflows whose certificate names repository and ref
	BindingNone        Binding = "none"        // knowingly: any branch with signed commits can become the target's
)

// A TimestampRule says whether a timestamp authority must vouch for the time of a signature.
type TimestampRule string

// The timestamp rules. The zero value means TimestampOptional.
const (
	TimestampOptional TimestampRule = "optional" // a Rekor v1 log's own time suffices
	TimestampRequired TimestampRule = "required" // a token of an authority in the trusted root must be there
)

// Deny lists what is refused although everything else about it is right.
type Deny struct {
	Commits      []gitsource.ID
	Certificates []string // SHA-256 of the certificate's DER, 64 lower-case hex digits
	LogIndexes   []int64  // index of the transparency log entry
}

// Options are the trust that a Policy stands for. They come from the agent's host, never from the repository.
type Options struct {
	TrustedRoot []byte // content of trusted_root.json; required
	Signers     []Signer
	Branch      string // the branch, for Revision.String and the binding; required
	Target      string // <cluster>/<branch>, as the trailer Gitops-Target must say it; required with BindingTrailer
	Binding     Binding
	History     History
	Timestamps  TimestampRule

	Anchor          gitsource.ID // trusted by its id: the first revision must descend from it
	TrustOnFirstUse bool         // instead of Anchor: take the first signed tip as it comes
	NotBefore       time.Time    // no tip proven earlier is accepted; zero switches this off
	Deny            Deny
}

// validate reports every problem in o at once, each with the choice to make. What it needs to parse, it returns.
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
		return nil, errors.New("trusted root is required: name a trusted_root.json that you obtained yourself in trust.trusted_root_file")
	}
	return parseTrustedRoot(o.TrustedRoot)
}

func (o Options) matchers() ([]*matcher, error) {
	if len(o.Signers) == 0 {
		return nil, errors.New("at least one signer is required: name who may sign in trust.signers")
	}
	var problems []error
	matchers := make([]*matcher, 0, len(o.Signers))
	names := map[string]bool{}
	for i, s := range o.Signers {
		m, err := newMatcher(s)
		if err != nil {
			problems = append(problems, fmt.Errorf("signer %d %q: %w", i+1, s.Name, err))
		}
		if s.Name != "" && names[s.Name] {
			problems = append(problems, fmt.Errorf("signer %d %q: the name stands twice", i+1, s.Name))
		}
		names[s.Name] = true
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
			return fmt.Errorf("target: got %q, want <cluster>/%s for the trailer", o.Target, o.Branch)
		}
		return nil
	case BindingCertificate:
		return o.certificateProblem()
	default:
		return fmt.Errorf("binding: got %q: choose what ties a commit to this target, in trust.binding: trailer, certificate or none", o.Binding)
	}
}

// certificateProblem reports signers whose certificates could come from any branch. Those who cannot change the tree need
// no such tie: what they sign leaves the tree to commits of the others.
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
		return errors.New("no start of trust: set trust.anchor to a commit that you reviewed, or trust.trust_on_first_use: true to take the first signed tip")
	case o.Anchor != "" && o.TrustOnFirstUse:
		return errors.New("trust.anchor and trust.trust_on_first_use exclude each other: choose one")
	case o.Anchor != "":
		if _, err := gitsource.ParseID(string(o.Anchor)); err != nil {
			return fmt.Errorf("anchor: %w", err)
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
	for _, fingerprint := range o.Deny.Certificates {
		if raw, err := hex.DecodeString(fingerprint); err != nil || len(raw) != 32 || strings.ToLower(fingerprint) != fingerprint {
			problems = append(problems, fmt.Errorf("deny: certificate %q is not a SHA-256 in 64 lower-case hex digits", fingerprint))
		}
	}
	for _, index := range o.Deny.LogIndexes {
		if index < 0 {
			problems = append(problems, fmt.Errorf("deny: log index %d is negative", index))
		}
	}
	return errors.Join(problems...)
}
