package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// entry is a file, or a directory without content.
type entry struct {
	mode      int64
	directory bool
	content   []byte
}

// newLayer makes the layer of a COPY instruction. The program stands for what the build stage compiles.
func newLayer(c copied, folder, program string, modified time.Time) (v1.Layer, error) {
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	made := map[string]bool{"/": true}
	for _, source := range c.sources {
		e, err := read(c.fromBuild, source, folder, program)
		if err != nil {
			return nil, err
		}
		target := c.target
		if strings.HasSuffix(target, "/") {
			target += path.Base(source)
		}
		if err := parents(archive, path.Dir(target), made, modified); err != nil {
			return nil, err
		}
		header := &tar.Header{Name: name(target, e.directory), Mode: e.mode, Uid: c.uid, Gid: c.gid, Size: int64(len(e.content)), ModTime: modified, Format: tar.FormatPAX}
		if e.directory {
			header.Typeflag = tar.TypeDir
		}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(e.content); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(out.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}

// parents writes the missing directories above a file. They belong to root.
func parents(archive *tar.Writer, folder string, made map[string]bool, modified time.Time) error {
	if made[folder] {
		return nil
	}
	if err := parents(archive, path.Dir(folder), made, modified); err != nil {
		return err
	}
	made[folder] = true
	return archive.WriteHeader(&tar.Header{Name: name(folder, true), Typeflag: tar.TypeDir, Mode: 0o755, ModTime: modified, Format: tar.FormatPAX})
}

func name(target string, directory bool) string {
	target = strings.TrimPrefix(path.Clean(target), "/")
	if directory {
		target += "/"
	}
	return target
}

// read returns what a COPY instruction copies: a file of the folder, or one that the build stage makes.
func read(fromBuild bool, source, folder, program string) (entry, error) {
	if !fromBuild {
		content, err := os.ReadFile(filepath.Join(folder, source))
		return entry{mode: 0o644, content: content}, err
	}
	switch source {
	case "/out/gitops-agent":
		content, err := os.ReadFile(program)
		return entry{mode: 0o755, content: content}, err
	case "/out/state":
		return entry{mode: 0o700, directory: true}, nil
	case "/etc/ssl/certs/ca-certificates.crt":
		return entry{mode: 0o644, content: authorities()}, nil
	default:
		return entry{}, fmt.Errorf("the build stage has no file %s", source)
	}
}

// authorities returns the certificate authorities of Mozilla's root program in PEM. The module that contains them has a fixed version, so the image does not depend
// on the machine that builds it. Authorities that Mozilla trusts with restrictions are left out, because a file cannot express restrictions.
func authorities() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return out.Bytes()
}
