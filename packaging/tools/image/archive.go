package main

import (
	"archive/tar"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// writeArchive writes an index of images as an OCI layout in a tar file, with the name and the tag under which programs load it.
func writeArchive(file string, index v1.ImageIndex, version string, modified time.Time) error {
	folder, err := os.MkdirTemp("", "image")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	written, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	tag := strings.ReplaceAll(version, "~", "-") // a tag has no ~
	if err := written.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": tag,
		"io.containerd.image.name":          "docker.io/library/gitops-agent:" + tag,
	})); err != nil {
		return err
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := pack(out, folder, modified); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return out.Close()
}

// pack writes the files below a folder, in the order of their names.
func pack(out io.Writer, folder string, modified time.Time) error {
	archive := tar.NewWriter(out)
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == folder {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return archive.WriteHeader(&tar.Header{Name: name + "/", Typeflag: tar.TypeDir, Mode: 0o755, ModTime: modified, Format: tar.FormatPAX})
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), ModTime: modified, Format: tar.FormatPAX}); err != nil {
			return err
		}
		_, err = archive.Write(content)
		return err
	})
	if err != nil {
		return err
	}
	return archive.Close()
}
