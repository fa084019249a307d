package verify

import (
	"fmt"
	"strings"

	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"
)

// A ClaimError is the details of a refusal for wrong-identity of a certificate whose issuer and subject are those of a signer, while other claims in it
// are not.
type ClaimError struct {
	Signer string  // name in the policy
	Claims []Claim // those that differ, in the order of the config's fields
}

// A Claim is a claim of the issuer that differs from what a signer requires.
type Claim struct {
	Name      string // as in trust.signers.extensions
	Got, Want string // Got is empty if the certificate does not have the claim
}

func (e *ClaimError) Error() string {
	var list []string
	for _, c := range e.Claims {
		list = append(list, fmt.Sprintf("got %s %q, want %q", c.Name, c.Got, c.Want))
	}
	return fmt.Sprintf("issuer and subject are those of signer %q, and its extensions are not: %s", e.Signer, strings.Join(list, "; "))
}

// differing returns the claims that e requires and that the certificate does not have. Its order and names are those of the config.
func (e Extensions) differing(got certificate.Extensions) []Claim {
	var differ []Claim
	for _, c := range []Claim{
		{"source_repository_uri", got.SourceRepositoryURI, e.SourceRepositoryURI},
		{"source_repository_ref", got.SourceRepositoryRef, e.SourceRepositoryRef},
		{"build_signer_uri", got.BuildSignerURI, e.BuildSignerURI},
		{"runner_environment", got.RunnerEnvironment, e.RunnerEnvironment},
		{"source_repository_identifier", got.SourceRepositoryIdentifier, e.SourceRepositoryIdentifier},
		{"source_repository_owner_uri", got.SourceRepositoryOwnerURI, e.SourceRepositoryOwnerURI},
		{"source_repository_owner_identifier", got.SourceRepositoryOwnerIdentifier, e.SourceRepositoryOwnerIdentifier},
		{"build_config_uri", got.BuildConfigURI, e.BuildConfigURI},
		{"build_trigger", got.BuildTrigger, e.BuildTrigger},
	} {
		if c.Want != "" && c.Got != c.Want {
			differ = append(differ, c)
		}
	}
	return differ
}

// wrongIdentity returns the refusal of a certificate that is no signer's. It names the claims that differ if only these prevent that it is.
func (p *Policy) wrongIdentity(got certificate.Summary) error {
	for _, s := range p.signers {
		differ := s.Extensions.differing(got.Extensions)
		if len(differ) > 0 && s.identity.SubjectAlternativeName.Verify(got) == nil && s.identity.Issuer.Verify(got) == nil {
			return refusal(ReasonWrongIdentity, &ClaimError{Signer: s.Name, Claims: differ})
		}
	}
	return refuse(ReasonWrongIdentity, "got subject %q of issuer %q", got.SubjectAlternativeName, got.Issuer)
}
