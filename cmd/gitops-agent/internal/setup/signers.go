package setup

import (
	"context"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/gitsource"
	"gitops-agent/internal/agent"
	"gitops-agent/internal/evidence"
	"gitops-agent/verify"
)

// decideSigners takes the signers of flags, or proposes the identity that signed the newest provably signed commit.
func (s *setup) decideSigners(ctx context.Context) error {
	s.heading("Signers")
	for _, role := range s.May {
		if !slices.Contains(verify.Roles(), verify.Role(role)) {
			return term.UsageErrorf("--may %q: choose from %s", role, verify.RoleNames())
		}
	}
	var given []agent.SignerConfig
	for _, text := range s.Signers {
		signer, err := parseSigner(text)
		if err != nil {
			return err
		}
		signer.May = rolesOf(signer, s.May)
		given = append(given, signer)
	}
	switch {
	case len(given) > 0:
		s.keepExtensions(given)
		s.config.Trust.Signers = given
		s.decisions["signers"] = "Given with --signer."
	case s.found:
	default:
		if err := s.deriveSigner(ctx); err != nil {
			return err
		}
	}
	for _, signer := range s.config.Trust.Signers {
		s.say("%s: %s of %s, may %s", signer.Name, signer.Subject+signer.SubjectRegexp, signer.Issuer, strings.Join(signer.May, ", "))
	}
	return nil
}

// keepExtensions copies what an existing config says about the same identity and a flag cannot: otherwise a second run would seem to change it.
func (s *setup) keepExtensions(given []agent.SignerConfig) {
	for i := range given {
		for _, known := range s.config.Trust.Signers {
			if known.Issuer == given[i].Issuer && known.Subject == given[i].Subject {
				may := known.May
				if len(s.May) > 0 {
					may = given[i].May
				}
				given[i] = known
				given[i].May = may
			}
		}
	}
}

// parseSigner reads ISSUER=SUBJECT, or NAME=ISSUER=SUBJECT. An issuer is a URL without an equals sign, and a subject contains none.
func parseSigner(text string) (agent.SignerConfig, error) {
	parts := strings.Split(text, "=")
	if len(parts) == 2 {
		parts = append([]string{""}, parts...)
	}
	if len(parts) != 3 || parts[1] == "" || parts[2] == "" || !strings.Contains(parts[1], "://") {
		return agent.SignerConfig{}, term.UsageErrorf("--signer %q: want ISSUER=SUBJECT such as https://github.com/login/oauth=alice@example.org, or NAME=ISSUER=SUBJECT", text)
	}
	if strings.Contains(parts[2], "*") {
		return agent.SignerConfig{}, term.UsageErrorf("--signer %q: a subject is compared exactly; a pattern is subject_regexp in the config", text)
	}
	signer := agent.SignerConfig{Name: parts[0], Issuer: parts[1], Subject: parts[2]}
	if signer.Name == "" {
		signer.Name = nameOf(signer.Subject)
	}
	return signer, nil
}

// nameOf proposes a name for a subject: the mailbox of an address, or the file of a workflow.
func nameOf(subject string) string {
	if !strings.Contains(subject, "://") {
		name, _, _ := strings.Cut(subject, "@")
		return name
	}
	file, _, _ := strings.Cut(subject, "@")
	base := path.Base(file)
	return strings.TrimSuffix(base, path.Ext(base))
}

// rolesOf returns the given roles or the proposed ones: a workflow merges what people approve.
func rolesOf(signer agent.SignerConfig, may []string) []string {
	switch {
	case len(may) > 0:
		return may
	case strings.Contains(signer.Subject, "://"):
		return []string{string(verify.RoleChange)}
	}
	return []string{string(verify.RoleChange), string(verify.RoleApprove)}
}

// maxSearched is how many commits from the tip are searched for a signature.
const maxSearched = 20

// deriveSigner proposes the identity behind the newest commit whose signature proves it.
func (s *setup) deriveSigner(ctx context.Context) error {
	verdict, err := s.newestProven(ctx)
	if errors.As(err, new(*verify.RejectedError)) && !s.Yes && s.Dialogue != nil {
		s.say("%v", err)
		return s.askSigner(ctx)
	}
	if err != nil {
		return err
	}
	signer := agent.SignerConfig{
		Name: nameOf(verdict.Subject), Issuer: verdict.Issuer, Subject: verdict.Subject, Extensions: agent.ExtensionsConfig(verdict.Run()),
	}
	if err := checkIdentity(signer); err != nil {
		return err
	}
	s.say("commit   %s %q", verdict.Object, verdict.Title)
	s.say("subject  %s", verdict.Subject)
	s.say("issuer   %s", verdict.Issuer)
	s.say("proven   %s by %s, index %d", verdict.ProvenTime.UTC().Format(time.RFC3339), verdict.Log, verdict.LogIndex)
	for _, e := range extensionsOf(signer.Extensions) {
		s.say("claim    %s: %s", e.name, e.value)
	}
	if err := s.trust(ctx, fmt.Sprintf("signer '%s=%s'", signer.Issuer, signer.Subject), "May this identity change the cluster by signed commits?"); err != nil {
		return err
	}
	if signer.Name, err = s.answer(ctx, "signer", "", "", "Name of this person or workflow", signer.Name); err != nil {
		return err
	}
	roles, err := s.answer(ctx, "may ROLES", strings.Join(s.May, ","), "", "Roles ("+verify.RoleNames()+")", strings.Join(rolesOf(signer, nil), ", "))
	if err != nil {
		return err
	}
	signer.May = strings.FieldsFunc(roles, func(r rune) bool { return r == ',' || r == ' ' })
	s.config.Trust.Signers = []agent.SignerConfig{signer}
	s.decisions["signers"] = "Derived from a commit of the branch whose signature was verified with the trusted root, and confirmed. Add other people here."
	return nil
}

// askSigner asks for a signer where the branch has no signature to derive one from.
func (s *setup) askSigner(ctx context.Context) error {
	text, err := s.answer(ctx, "signer ISSUER=SUBJECT", "", "", "Who may sign, as ISSUER=SUBJECT, such as https://github.com/login/oauth=alice@example.org", "")
	if err != nil {
		return err
	}
	signer, err := parseSigner(text)
	if err != nil {
		return err
	}
	signer.May = rolesOf(signer, s.May)
	s.config.Trust.Signers = []agent.SignerConfig{signer}
	s.decisions["signers"] = "Typed in: the branch had no signature to derive a signer from. Add other people here."
	return nil
}

// newestProven returns the verdict on the newest commit along first parents whose signature proves an identity.
func (s *setup) newestProven(ctx context.Context) (verify.Verdict, error) {
	r, err := s.fetched(ctx)
	if err != nil {
		return verify.Verdict{}, err
	}
	root, err := s.root()
	if err != nil {
		return verify.Verdict{}, err
	}
	identifier, err := verify.NewIdentifier(root)
	if err != nil {
		return verify.Verdict{}, err
	}
	identifier = identifier.WithEvidence(evidence.NewFinder(r.source, nil).Sources(r.head.Notes)...)
	repo := r.source.Repository()
	var first error
	id := r.head.Commit
	for range maxSearched {
		v := identifier.Audit(ctx, repo, id)
		if v.Err == nil {
			return v, nil
		}
		if first == nil {
			first = v.Err
		}
		next, err := repo.Resolve(ctx, string(id)+"~1")
		if err != nil {
			break
		}
		id = next
	}
	return verify.Verdict{}, term.WithHint(fmt.Errorf("no signer found: no signature of the newest %d commits proves who signed; the newest: %w", maxSearched, first),
		"name one with --signer ISSUER=SUBJECT, such as https://github.com/login/oauth=alice@example.org; docs/signing.md sets signing up")
}

// root returns the trusted root that was decided.
func (s *setup) root() ([]byte, error) {
	for _, f := range s.files {
		if f.path == s.config.Trust.TrustedRootFile {
			return f.content, nil
		}
	}
	return agent.ReadBounded(s.config.Trust.TrustedRootFile)
}

// checkIdentity refuses a certificate with characters that a person cannot compare.
func checkIdentity(signer agent.SignerConfig) error {
	texts := []string{signer.Issuer, signer.Subject}
	for _, e := range extensionsOf(signer.Extensions) {
		texts = append(texts, e.value)
	}
	for _, text := range texts {
		if err := term.CheckAnswer(text); err != nil {
			return fmt.Errorf("the certificate of the newest signed commit: %w", err)
		}
	}
	return nil
}

// extensionsOf returns the extensions that are set, with their names in the config.
func extensionsOf(e agent.ExtensionsConfig) []field {
	var list []field
	value := reflect.ValueOf(e)
	for i := range value.NumField() {
		if text := value.Field(i).String(); text != "" {
			list = append(list, field{value.Type().Field(i).Tag.Get("yaml"), text})
		}
	}
	return list
}

// decideBinding proposes certificate where every signer who may change files is a workflow of one branch, and trailer otherwise.
func (s *setup) decideBinding(ctx context.Context) error {
	proposal := string(verify.BindingCertificate)
	for _, signer := range s.config.Trust.Signers {
		e := signer.Extensions
		if slices.Contains(signer.May, string(verify.RoleChange)) && (e.SourceRepositoryRef == "" || e.SourceRepositoryURI == "" && e.SourceRepositoryIdentifier == "") {
			proposal = string(verify.BindingTrailer)
		}
	}
	var err error
	s.config.Trust.Binding, err = s.answer(ctx, "binding trailer|certificate|none", s.Binding, s.config.Trust.Binding, "What binds a commit to this cluster and branch: trailer, certificate or none", proposal)
	if err != nil {
		return err
	}
	s.decisions["binding"] = map[string]string{
		string(verify.BindingTrailer):     fmt.Sprintf("The message of the newest commit names this target: Gitops-Target: %s/%s. The git hook examples/hooks/prepare-commit-msg adds it.", s.config.Cluster.Name, s.config.Source.Branch),
		string(verify.BindingCertificate): "The certificates of the workflows name repository and branch.",
		string(verify.BindingNone):        "Chosen knowingly: any branch with signed commits could be used as this one.",
	}[s.config.Trust.Binding]
	s.say("binding: %s", s.config.Trust.Binding)
	return nil
}

// decideAnchor proposes the tip of the branch.
func (s *setup) decideAnchor(ctx context.Context) error {
	s.heading("Anchor")
	anchor, given := s.config.Trust.Anchor, s.Anchor
	if given == AnchorTip && anchor != "" {
		given = "" // the tip of the first run
	}
	switch {
	case given != "" && given != AnchorTip:
		id, err := gitsource.ParseID(given)
		if err != nil {
			return term.UsageErrorf("--anchor %q: want the full id of a commit, or %s", given, AnchorTip)
		}
		anchor = string(id)
		s.decisions["anchor"] = "Given with --anchor."
	case given == "" && anchor != "", s.config.Trust.TrustOnFirstUse:
	default:
		r, err := s.fetched(ctx)
		if err != nil {
			return err
		}
		anchor = string(r.head.Commit)
		s.decisions["anchor"] = "The tip of the branch when this file was written. It says nothing about later commits: each of them must be signed."
		s.say("the tip of %s is %s", s.config.Source.Branch, anchor)
		if given == "" {
			s.say("Read what it contains: everything in the history up to it is trusted.")
			if err := s.trust(ctx, "anchor "+anchor, "Have you reviewed this commit and its files?"); err != nil {
				return err
			}
		}
	}
	s.config.Trust.Anchor = anchor
	s.say("every accepted revision descends from %s", anchor)
	return nil
}
