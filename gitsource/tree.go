package gitsource

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A TreeError is a path of a tree that is refused, with the reason for people. Path is relative to the root and may contain
// any bytes; Error quotes it.
type TreeError struct{ Path, Reason string }

func (e *TreeError) Error() string { return fmt.Sprintf("tree path %q: %s", e.Path, e.Reason) }

// IsUnfit reports whether what a tree contains is the reason of an error, a *TreeError or ErrTooLarge: another attempt with the same tree fails in the same way.
func IsUnfit(err error) bool {
	return errors.As(err, new(*TreeError)) || errors.Is(err, ErrTooLarge)
}

// The modes that git writes. Other modes are refused, such as the group-writable 100664 of git's first year.
const (
	modeDir        = "40000"
	modeFile       = "100644"
	modeExecutable = "100755"
	modeSymlink    = "120000"
	modeSubmodule  = "160000"
)

// An entry is one entry of a tree object: a mode as written, a name, and the object that it names.
type entry struct {
	mode, name string
	id         ID
}

func (e entry) isDir() bool { return e.mode == modeDir }

// sortName returns the name by which git sorts: a directory name ends in a slash.
func (e entry) sortName() string {
	if e.isDir() {
		return e.name + "/"
	}
	return e.name
}

// parseTree reads a tree object. An accepted tree serialises to the same bytes: modes have one spelling, names are not empty
// and have no slash, and entries are in git's order without duplicates. parseTree does not check modes and names further. It returns ErrTooLarge for more
// than maxEntries entries, before they take memory.
func parseTree(raw []byte) ([]entry, error) {
	var entries []entry
	seen := make(map[string]bool)
	for len(raw) > 0 {
		if len(entries) == maxEntries {
			return nil, fmt.Errorf("more than %d entries: %w", maxEntries, ErrTooLarge)
		}
		e, rest, err := parseEntry(raw)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", len(entries)+1, err)
		}
		if n := len(entries); n > 0 && entries[n-1].sortName() >= e.sortName() {
			return nil, fmt.Errorf("entry %d: %q is out of order", n+1, e.name)
		}
		if seen[e.name] {
			return nil, fmt.Errorf("entry %d: %q occurs twice", len(entries)+1, e.name)
		}
		seen[e.name] = true
		entries, raw = append(entries, e), rest
	}
	return entries, nil
}

func parseEntry(raw []byte) (entry, []byte, error) {
	mode, rest, ok := bytes.Cut(raw, []byte{' '})
	if !ok {
		return entry{}, nil, errors.New("mode is missing")
	}
	switch string(mode) {
	case modeDir, modeFile, modeExecutable, modeSymlink, modeSubmodule:
	default:
		return entry{}, nil, fmt.Errorf("git does not write the mode %.12q", mode)
	}
	name, rest, ok := bytes.Cut(rest, []byte{0})
	if !ok || len(rest) < 20 {
		return entry{}, nil, errors.New("entry is truncated")
	}
	if len(name) == 0 || bytes.IndexByte(name, '/') >= 0 {
		return entry{}, nil, fmt.Errorf("name %q is empty or contains a slash", name)
	}
	return entry{string(mode), string(name), ID(hex.EncodeToString(rest[:20]))}, rest[20:], nil
}

// nameProblem returns why a name is refused that has a special meaning in file systems or in git, or "".
func nameProblem(name string) string {
	if name == "." || name == ".." || strings.EqualFold(name, ".git") {
		return "the name is reserved"
	}
	return ""
}

// fileProblem returns why an entry under the wanted paths is refused, or "".
func fileProblem(e entry) string {
	if p := nameProblem(e.name); p != "" {
		return p
	}
	switch {
	case !utf8.ValidString(e.name):
		return "the name is not UTF-8"
	case strings.ContainsRune(e.name, '\\'):
		return "the name contains a backslash"
	case e.mode == modeSymlink:
		return "symbolic links are not accepted"
	case e.mode == modeSubmodule:
		return "submodules are not accepted"
	}
	return ""
}
