package attest

// StatementType is the type of every statement. Source: in-toto Attestation Framework, Statement v1.
const StatementType = "https://in-toto.io/Statement/v1"

// Statement says something about subjects. Predicate is what it says, in the form that PredicateType names.
type Statement[P any] struct {
	Type          string     `json:"_type"`
	Subject       []Resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     P          `json:"predicate"`
}

// NewStatement returns a statement about subjects.
func NewStatement[P any](subject []Resource, predicateType string, predicate P) Statement[P] {
	return Statement[P]{StatementType, subject, predicateType, predicate}
}

// Resource is a resource descriptor: a subject, or something that a predicate names. Digests are hexadecimal, by algorithm.
type Resource struct {
	Name        string            `json:"name,omitempty"`
	URI         string            `json:"uri,omitempty"`
	Digest      map[string]string `json:"digest"`
	Annotations map[string]any    `json:"annotations,omitempty"`
}

// Algorithms of digests of git objects. Source: in-toto Attestation Framework, DigestSet.
const (
	GitCommit = "gitCommit"
	GitTag    = "gitTag"
)
