package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
)

// writeIndexes writes the lists of packages of each architecture below a suite, and returns the file Release, which lists them with their checksums.
func writeIndexes(suite string, packages []debianPackage, date time.Time) (release []byte, err error) {
	lists := map[string]*strings.Builder{}
	var archs []string
	for _, p := range packages {
		if lists[p.arch] == nil {
			lists[p.arch] = &strings.Builder{}
			archs = append(archs, p.arch)
		}
		lists[p.arch].WriteString(p.paragraph() + "\n")
	}
	slices.Sort(archs)
	var sums strings.Builder
	for _, arch := range archs {
		text := []byte(lists[arch].String())
		zipped, err := compressed(text)
		if err != nil {
			return nil, err
		}
		folder := "main/binary-" + arch
		if err := os.MkdirAll(filepath.Join(suite, filepath.FromSlash(folder)), 0o755); err != nil {
			return nil, err
		}
		for name, content := range map[string][]byte{"Packages": text, "Packages.gz": zipped} {
			if err := os.WriteFile(filepath.Join(suite, filepath.FromSlash(folder), name), content, 0o644); err != nil {
				return nil, err
			}
		}
		fmt.Fprintf(&sums, " %x %d %s/Packages\n", sha256.Sum256(text), len(text), folder)
		fmt.Fprintf(&sums, " %x %d %s/Packages.gz\n", sha256.Sum256(zipped), len(zipped), folder)
	}
	return fmt.Appendf(nil, "Origin: gitops-agent\nLabel: gitops-agent\nSuite: stable\nCodename: stable\nDate: %s\nArchitectures: %s\nComponents: main\nSHA256:\n%s",
		date.Format("Mon, 02 Jan 2006 15:04:05 UTC"), strings.Join(archs, " "), sums.String()), nil
}

func compressed(text []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// sign writes InRelease, the signed form of Release that apt reads first.
func sign(suite string, release []byte, keyFile string) error {
	file, err := os.Open(keyFile)
	if err != nil {
		return err
	}
	defer file.Close()
	keys, err := openpgp.ReadArmoredKeyRing(file)
	if err != nil {
		return fmt.Errorf("read %s: %w", keyFile, err)
	}
	key, found := keys[0].SigningKey(time.Now())
	if !found || key.PrivateKey == nil || key.PrivateKey.Encrypted {
		return fmt.Errorf("%s: got no secret key that may sign now and has no passphrase", keyFile)
	}
	var signed bytes.Buffer
	w, err := clearsign.Encode(&signed, key.PrivateKey, nil)
	if err != nil {
		return err
	}
	if _, err := w.Write(release); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(suite, "InRelease"), signed.Bytes(), 0o644)
}
