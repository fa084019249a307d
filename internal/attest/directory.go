package attest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"gitops-agent/gitsource"
	"gitops-agent/internal/durable"
)

// Directory keeps statements as files: <cluster>/<commit>.json. Several agents can share it.
type Directory struct{ Path string }

// fileMode lets everybody read statements: they are made to be handed over.
const fileMode = 0o644

// fileName matches a name that is safe as one part of a path.
var fileName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$`) })

// Check returns an error if the directory cannot be written. It leaves nothing behind.
func (d Directory) Check() error {
	file, err := os.CreateTemp(d.Path, ".check-*")
	if err != nil {
		return fmt.Errorf("write statements: %w", err)
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// has reports whether there is a statement of a cluster about a commit.
func (d Directory) has(cluster string, commit gitsource.ID) (bool, error) {
	_, err := os.Stat(d.file(cluster, commit))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// write stores a statement. After a crash there is either nothing or all of it.
func (d Directory) write(cluster string, commit gitsource.ID, envelope []byte) error {
	if !fileName().MatchString(cluster) {
		return fmt.Errorf("write statement: the cluster name %q is no name of a folder", cluster)
	}
	file := d.file(cluster, commit)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // statements are made to be handed over
		return fmt.Errorf("write statement: %w", err)
	}
	if err := durable.Write(file, envelope, fileMode); err != nil {
		return fmt.Errorf("write statement: %w", err)
	}
	return nil
}

func (d Directory) file(cluster string, commit gitsource.ID) string {
	return filepath.Join(d.Path, cluster, string(commit)+".json")
}

// maxClusters bounds the folders that are read.
const maxClusters = 10_000

// Open returns the envelopes of a directory.
func (d Directory) Open() (Source, error) {
	folder, err := os.Open(d.Path)
	if err != nil {
		return nil, fmt.Errorf("read statements: %w", err)
	}
	defer func() { _ = folder.Close() }()
	entries, err := folder.ReadDir(maxClusters)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read statements: %w", err)
	}
	var clusters []string
	for _, e := range entries {
		if e.IsDir() && fileName().MatchString(e.Name()) {
			clusters = append(clusters, e.Name())
		}
	}
	return folders{d, clusters}, nil
}

// folders are the folders of a Directory as they were when it was opened.
type folders struct {
	Directory

	clusters []string // by name
}

func (f folders) envelopes(_ context.Context, commit gitsource.ID) ([]envelope, error) {
	var found []envelope
	for _, cluster := range f.clusters {
		where := f.file(cluster, commit)
		text, err := readBounded(where)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read statement: %w", err)
		}
		found = append(found, envelope{where, text})
	}
	return found, nil
}

// readBounded reads a regular file up to one byte more than an envelope may have.
func readBounded(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	file, err := os.Open(path) //nolint:gosec // the operator chooses the path
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, maxEnvelope+1))
}
