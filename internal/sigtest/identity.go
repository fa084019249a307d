package sigtest

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"strings"
)

// Identity is the person or workflow that a certificate names.
type Identity struct {
	// Subject becomes the subject alternative name: a URI if it contains "://", else an e-mail address.
	Subject string
	// Issuer is the OIDC issuer that authenticated the subject. It is written in both the old and the present form.
	Issuer string
	// Extensions are the claims of a workflow; a person has none.
	Extensions Extensions
}

// Extensions are the claims about a workflow run that Fulcio copies into a certificate. An empty field leaves its extension out. The
// numbers are the last arc below 1.3.6.1.4.1.57264.1.
//
// Source: Fulcio, docs/oid-info.md.
type Extensions struct {
	BuildSignerURI                      string // .9
	BuildSignerDigest                   string // .10
	RunnerEnvironment                   string // .11
	SourceRepositoryURI                 string // .12
	SourceRepositoryDigest              string // .13
	SourceRepositoryRef                 string // .14
	SourceRepositoryIdentifier          string // .15
	SourceRepositoryOwnerURI            string // .16
	SourceRepositoryOwnerIdentifier     string // .17
	BuildConfigURI                      string // .18
	BuildConfigDigest                   string // .19
	BuildTrigger                        string // .20
	RunInvocationURI                    string // .21
	SourceRepositoryVisibilityAtSigning string // .22
}

// GitHubIssuer is the OIDC issuer of GitHub Actions.
const GitHubIssuer = "https://token.actions.githubusercontent.com"

// GitHubWorkflow returns the identity of a run of a workflow on GitHub: repository as "owner/name", workflow as the file name below
// .github/workflows, ref as "refs/heads/main". Identifiers, digests and run number are plausible constants; change the fields of the
// result for other claims.
func GitHubWorkflow(repository, workflow, ref string) Identity {
	const digest = "9f0b2b5b4f3f4d4c8a1e0d8c2a7b6e5d4c3b2a19"
	owner, _, _ := strings.Cut(repository, "/")
	uri := "https://github.com/" + repository
	config := fmt.Sprintf("%s/.github/workflows/%s@%s", uri, workflow, ref)
	return Identity{
		Subject: config,
		Issuer:  GitHubIssuer,
		Extensions: Extensions{
			BuildSignerURI:                      config,
			BuildSignerDigest:                   digest,
			RunnerEnvironment:                   "github-hosted",
			SourceRepositoryURI:                 uri,
			SourceRepositoryDigest:              digest,
			SourceRepositoryRef:                 ref,
			SourceRepositoryIdentifier:          "414510697",
			SourceRepositoryOwnerURI:            "https://github.com/" + owner,
			SourceRepositoryOwnerIdentifier:     "87436699",
			BuildConfigURI:                      config,
			BuildConfigDigest:                   digest,
			BuildTrigger:                        "push",
			RunInvocationURI:                    uri + "/actions/runs/23400596033/attempts/1",
			SourceRepositoryVisibilityAtSigning: "private",
		},
	}
}

// Names of certificate extensions.
var (
	oidFulcio  = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1}
	oidAltName = asn1.ObjectIdentifier{2, 5, 29, 17}
)

// extensions returns the subject alternative name and the claims as certificate extensions, in Fulcio's order.
func (id Identity) extensions() ([]pkix.Extension, error) {
	altName, err := id.altName()
	if err != nil {
		return nil, err
	}
	out := []pkix.Extension{altName, {Id: fulcioOID(1), Value: []byte(id.Issuer)}}
	e := id.Extensions
	for i, claim := range []string{
		id.Issuer, e.BuildSignerURI, e.BuildSignerDigest, e.RunnerEnvironment, e.SourceRepositoryURI, e.SourceRepositoryDigest,
		e.SourceRepositoryRef, e.SourceRepositoryIdentifier, e.SourceRepositoryOwnerURI, e.SourceRepositoryOwnerIdentifier,
		e.BuildConfigURI, e.BuildConfigDigest, e.BuildTrigger, e.RunInvocationURI, e.SourceRepositoryVisibilityAtSigning,
	} {
		if claim == "" {
			continue
		}
		value, err := asn1.MarshalWithParams(claim, "utf8")
		if err != nil {
			return nil, fmt.Errorf("encode claim %q: %w", claim, err)
		}
		out = append(out, pkix.Extension{Id: fulcioOID(8 + i), Value: value}) // the present form of the issuer is .8
	}
	return out, nil
}

// altName returns the subject alternative name, critical because the subject itself is empty (RFC 5280, 4.2.1.6).
func (id Identity) altName() (pkix.Extension, error) {
	const email, uri = 1, 6
	name := asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: email, Bytes: []byte(id.Subject)}
	if strings.Contains(id.Subject, "://") {
		name.Tag = uri
	}
	value, err := asn1.Marshal([]asn1.RawValue{name})
	if err != nil {
		return pkix.Extension{}, fmt.Errorf("encode subject %q: %w", id.Subject, err)
	}
	return pkix.Extension{Id: oidAltName, Critical: true, Value: value}, nil
}

func fulcioOID(arc int) asn1.ObjectIdentifier {
	return append(oidFulcio[:len(oidFulcio):len(oidFulcio)], arc)
}
