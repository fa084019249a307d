// Apt writes the indexes of an APT repository from the Debian packages in its folder pool, also of earlier releases, and signs them with a key, so that hosts get upgrades by apt.
//
// Usage: apt [-key FILE] FOLDER
//
// Except for the signature, the result depends on the packages and on SOURCE_DATE_EPOCH alone. Without a key it writes no signature, and removes that of an earlier run, because apt refuses an index that its
// signature does not cover.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

func main() {
	keyFile := flag.String("key", "", "file with an armored OpenPGP secret key without a passphrase")
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *keyFile); err != nil {
		fmt.Fprintln(os.Stderr, "apt:", err)
		os.Exit(1)
	}
}

func run(folder, keyFile string) error {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return errors.New("SOURCE_DATE_EPOCH has to be the time of the commit in seconds")
	}
	date := time.Unix(seconds, 0).UTC()
	packages, err := readPool(folder)
	if err != nil {
		return err
	}
	suite := filepath.Join(folder, "dists", "stable")
	release, err := writeIndexes(suite, packages, date)
	if err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(suite, "InRelease")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(filepath.Join(suite, "Release"), release, 0o644); err != nil {
		return err
	}
	if keyFile == "" {
		return nil
	}
	return sign(suite, release, keyFile)
}
