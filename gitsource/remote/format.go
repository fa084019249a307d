package remote

// A FormatError means that a repository has a format that this package and gitsource do not read. Another name or other credentials do not help.
type FormatError struct {
	Reason string
	Remedy string
}

func (e *FormatError) Error() string { return e.Reason }

// SHA256Remedy is the remedy for a repository whose ids are SHA-256. No tool rewrites it with the same ids and signatures.
const SHA256Remedy = "name a repository with SHA-1: git init --object-format=sha1, and sign the commits in it"
