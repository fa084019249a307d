package subject

import (
	"path"
	"path/filepath"
	"strings"
)

// repositoryPrefix returns what the paths of a directory's files begin with in the repository: the folder of source.paths with which the directory ends. The journal
// and the policies name files by these paths. Without source.paths the directory is the whole repository. So it is if the folders of source.paths are in it; otherwise
// it is a copy of the only folder under another name.
func repositoryPrefix(dir string, sourcePaths []string) string {
	if absolute, err := filepath.Abs(dir); err == nil {
		dir = absolute
	}
	prefix := ""
	for _, p := range sourcePaths {
		p = path.Clean(p)
		switch {
		case p == ".":
			return ""
		case strings.HasSuffix(filepath.ToSlash(dir), "/"+p) && len(p) > len(prefix):
			prefix = p
		case len(sourcePaths) == 1 && !exists(filepath.Join(dir, filepath.FromSlash(p))):
			prefix = p
		}
	}
	return prefix
}
