package verify

import (
	"slices"
	"time"

	"gitops-agent/gitsource"
)

// A Revision is a state of the source that may change the cluster. Only Policy.Check makes a valid Revision; the zero
// value is not valid. A Revision is immutable.
type Revision struct {
	commit, tree gitsource.ID
	branch       string
	provenTime   time.Time
	signer       Identity
	commits      []SignedCommit
	evidence     []byte
	promoted     []string // see Promotion
	unchanged    bool     // see IsUnchanged
}

// An Identity states who signed: the name of the signer in the policy, and issuer and subject of the certificate.
type Identity struct {
	Signer, Issuer, Subject string
}

// A SignedCommit is one commit of an accepted range. Every field comes from bytes that the signature covers, or from the
// proof of the signature.
type SignedCommit struct {
	ID, Tree gitsource.ID
	// Before is the tree that the changes of this commit are compared with. It is the tree of the first parent; with
	// HistoryTip, the tree of the last accepted revision; if the commit seals others, the tree of the commit before them;
	// and the empty tree ("") if no earlier commit is trusted.
	Before  gitsource.ID
	Parents []gitsource.ID

	Subject, Issuer string   // of the certificate
	Signer          string   // name in the policy
	Entry           string   // of the signer, Signer.Entry
	Roles           []Role   // of the signer
	Guests          []string // guests that the signer may change; empty means the whole source
	Paths           []string // folders and files that the signer may change; empty means the whole source

	ProvenTime    time.Time
	PayloadDigest [32]byte // SHA-256 of the bytes that the signature covers
	Orders        []Order
	Ignored       string // why a commit whose message mentions an order or a seal has none; otherwise empty
	Mention       string // the line of the message that mentions an order, "" if none does

	// Sealed are the commits since the base that this commit seals, along first parents, oldest first. Their own
	// signatures were not verified, and their orders do not count.
	Sealed []gitsource.ID

	// Elsewhere is true if the commit names targets and this one is not among them, Here if it names this one. Without BindingTrailer every commit is Here.
	// What a commit changed Elsewhere comes into force only with a later commit that is Here, by a signer who may make the same change. Check compares the paths,
	// and the caller has to compare the guests.
	Elsewhere, Here bool

	promoted []string // values of the trailers Gitops-Promoted; nil if the commit is for other clusters
}

// MayChangePath reports whether the signer may change a file.
func (c SignedCommit) MayChangePath(path string) bool {
	m := matcher{Signer: Signer{Paths: c.Paths}}
	return m.mayChangePath(path)
}

// Commit returns the tip that was accepted.
func (r Revision) Commit() gitsource.ID { return r.commit }

// Tree returns the tree of the tip.
func (r Revision) Tree() gitsource.ID { return r.tree }

// Branch returns the branch of the policy that accepted the revision.
func (r Revision) Branch() string { return r.branch }

// ProvenTime returns when the tip was signed. The time is proven by a log or a timestamp authority, not read from the commit.
func (r Revision) ProvenTime() time.Time { return r.provenTime }

// Signer returns who signed the tip.
func (r Revision) Signer() Identity { return r.signer }

// Evidence returns the bundle that proved the tip, nil if the signature of the tip contains its log entry.
func (r Revision) Evidence() []byte { return slices.Clone(r.evidence) }

// Commits returns copies of the verified commits since the base, oldest first, along first parents. The list is empty if
// the tip is the base or the anchor, or was allowed by allow-rewrite. With HistoryTip the list has only the tip.
func (r Revision) Commits() []SignedCommit {
	commits := slices.Clone(r.commits)
	for i := range commits {
		commits[i].Parents = slices.Clone(commits[i].Parents)
		commits[i].Roles = slices.Clone(commits[i].Roles)
		commits[i].Guests = slices.Clone(commits[i].Guests)
		commits[i].Orders = slices.Clone(commits[i].Orders)
		commits[i].Sealed = slices.Clone(commits[i].Sealed)
	}
	return commits
}

// Valid reports whether r came from Policy.Check. The zero value did not.
func (r Revision) Valid() bool { return r.commit != "" }

// String returns the revision as branch and full commit id, such as main@sha1:3f2a1c9… with all 40 digits.
func (r Revision) String() string {
	if !r.Valid() {
		return "no revision"
	}
	return r.branch + "@sha1:" + string(r.commit)
}
