package verify

import (
	"slices"
	"time"

	"gitops-agent/gitsource"
)

// A Revision is a state of the source that may change the cluster. Only Policy.Check makes one; the zero value is not
// valid. A copy shares nothing that could be changed.
type Revision struct {
	commit, tree gitsource.ID
	branch       string
	provenTime   time.Time
	signer       Identity
	commits      []SignedCommit
}

// An Identity is who signed: the name of the signer in the policy, and what the certificate says.
type Identity struct {
	Signer, Issuer, Subject string
}

// A SignedCommit is one commit of an accepted range. Every field comes from bytes that the signature covers, or from
// what proves the signature.
type SignedCommit struct {
	ID, Tree gitsource.ID
	// Before is the tree that this commit's changes are measured against: that of its first parent, with HistoryTip that
	// of the last accepted revision, with Sealed that of the commit before those, and the empty tree ("") where nothing
	// before it is trusted.
	Before  gitsource.ID
	Parents []gitsource.ID

	Subject, Issuer string // of the certificate
	Signer          string // name in the policy
	Roles           []Role
	Guests          []string // that the signer may change; none stands for the whole source

	ProvenTime    time.Time
	PayloadDigest [32]byte // SHA-256 of what the signature covers
	Orders        []Order
	Ignored       string // why a commit that seems to give orders, or to seal, does not; otherwise empty

	// Sealed are the commits since the base, along first parents and oldest first, that this one vouches for. Their own
	// signatures were not looked at, and what they order does not count.
	Sealed []gitsource.ID
}

// Commit is the tip that was accepted.
func (r Revision) Commit() gitsource.ID { return r.commit }

// Tree is the tip's tree.
func (r Revision) Tree() gitsource.ID { return r.tree }

// Branch is the branch of the policy that accepted the revision.
func (r Revision) Branch() string { return r.branch }

// ProvenTime is when the tip was signed, as the log or a timestamp authority proves; never what the commit claims.
func (r Revision) ProvenTime() time.Time { return r.provenTime }

// Signer is who signed the tip.
func (r Revision) Signer() Identity { return r.signer }

// Commits are the verified commits since the base, oldest first, along first parents. The list is empty when the tip is
// the base or the anchor itself, or was named by allow-rewrite; with HistoryTip it has the tip alone.
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

// Valid says whether r came from a check; the zero value did not.
func (r Revision) Valid() bool { return r.commit != "" }

// String is the revision as people read it, such as main@sha1:3f2a1c9…, with all 40 digits.
func (r Revision) String() string {
	if !r.Valid() {
		return "no revision"
	}
	return r.branch + "@sha1:" + string(r.commit)
}
