package gooverlay

import (
	"io/fs"
	"path/filepath"
	"strings"
)

// NoteSources reads every folder of the module. The cache of go test depends on the folders that a test reads, and not on the
// programs that it runs. So after a change of the programs' source, go test runs these tests again.
func NoteSources(root string) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), ".") {
			return fs.SkipDir
		}
		return err
	})
}
