package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/blakesmith/ar"
)

// debianPackage is a package in the pool.
type debianPackage struct {
	arch, control string // control is its paragraph of fields
	path          string // below the repository, with slashes
	size          int64
	sum           [sha256.Size]byte
}

// paragraph returns the paragraph of the package in an index.
func (p debianPackage) paragraph() string {
	return fmt.Sprintf("%s\nFilename: %s\nSize: %d\nSHA256: %x\n", strings.TrimRight(p.control, "\n"), p.path, p.size, p.sum)
}

// readPool returns the packages below pool, in the order of their paths.
func readPool(folder string) ([]debianPackage, error) {
	var list []debianPackage
	err := filepath.WalkDir(filepath.Join(folder, "pool"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".deb" {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		control, err := readControl(content)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		below, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		p := debianPackage{control: control, path: filepath.ToSlash(below), size: int64(len(content)), sum: sha256.Sum256(content)}
		for line := range strings.Lines(control) {
			if arch, found := strings.CutPrefix(line, "Architecture: "); found {
				p.arch = strings.TrimSpace(arch)
			}
		}
		if p.arch == "" {
			return fmt.Errorf("%s: got no architecture", path)
		}
		list = append(list, p)
		return nil
	})
	if err == nil && len(list) == 0 {
		err = errors.New("got no package below pool")
	}
	return list, err
}

// readControl returns the file control of a package: deb(5) is an ar archive with a member control.tar.gz.
func readControl(content []byte) (string, error) {
	members := ar.NewReader(bytes.NewReader(content))
	for {
		header, err := members.Next()
		if err != nil {
			return "", fmt.Errorf("find control.tar.gz: %w", err)
		}
		if strings.TrimSuffix(header.Name, "/") != "control.tar.gz" {
			continue
		}
		unzipped, err := gzip.NewReader(members)
		if err != nil {
			return "", err
		}
		files := tar.NewReader(unzipped)
		for {
			file, err := files.Next()
			if err != nil {
				return "", fmt.Errorf("find control: %w", err)
			}
			if filepath.Clean(file.Name) == "control" {
				text, err := io.ReadAll(files)
				return string(text), err
			}
		}
	}
}
