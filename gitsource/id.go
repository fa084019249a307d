package gitsource

import (
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
)

// An ID names a git object: the SHA-1 of its header and content as 40 lower-case hex digits. The zero value names no object.
// Some functions document that it stands for the empty tree.
type ID string

// ParseID returns s as an ID. It accepts only full ids. Repository.Resolve reads names and abbreviations.
func ParseID(s string) (ID, error) {
	if len(s) == 64 && isLowerHex(s) {
		return "", fmt.Errorf("parse object id %q: SHA-256 repositories are not supported", s)
	}
	if len(s) != 40 || !isLowerHex(s) {
		return "", fmt.Errorf("parse object id %q: want 40 lower-case hex digits", s)
	}
	return ID(s), nil
}

func isLowerHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func (id ID) hash() plumbing.Hash { return plumbing.NewHash(string(id)) }
