// Package scope decides what lies within the paths and the guests of a signer. Package verify uses it for the files of a commit, and the packages that do not
// import verify for what the commit wants.
package scope

import (
	"path"
	"slices"
	"strings"
)

// HasPath reports whether a file is one of some paths, or lies below one of them. No paths are the whole repository.
func HasPath(paths []string, file string) bool {
	return len(paths) == 0 || slices.ContainsFunc(paths, func(p string) bool { return file == p || strings.HasPrefix(file, p+"/") })
}

// IsWithin reports whether a file or a folder lies in a folder or is the folder. The folder "." is the whole repository.
func IsWithin(file, folder string) bool {
	return folder == "." || HasPath([]string{folder}, file)
}

// MatchesAny reports whether a label, "VirtualMachine/web-1", or the name of a source matches one of the patterns of a signer.
func MatchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return err == nil && ok
	})
}
