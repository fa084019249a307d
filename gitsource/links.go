package gitsource

import (
	"bytes"
	"context"
	"strconv"
)

// Links are what a walk through a history needs of a commit. They are read from untrusted bytes by a simple parser: use them to find commits, and
// decide about a commit only with package verify.
type Links struct {
	Parents   []ID
	Committed int64 // seconds since 1970, as the committer claims; 0 if the commit states no time
}

// Links returns the links of a commit, with the errors of Commit.
func (r *Repository) Links(ctx context.Context, id ID) (Links, error) {
	c, err := r.Commit(ctx, id)
	if err != nil {
		return Links{}, err
	}
	return Links{headerIDs(c.Raw, "parent"), committed(c.Raw)}, nil
}

// committed returns the time in the header committer, which ends in seconds and a zone.
func committed(raw []byte) int64 {
	header, _, _ := bytes.Cut(raw, []byte("\n\n"))
	_, line, _ := bytes.Cut(header, []byte("\ncommitter "))
	line, _, _ = bytes.Cut(line, []byte("\n"))
	fields := bytes.Fields(line)
	if len(fields) < 2 {
		return 0
	}
	at, err := strconv.ParseInt(string(fields[len(fields)-2]), 10, 64)
	if err != nil {
		return 0
	}
	return at
}
