#!/usr/bin/env bash
# Go's compress/gzip (go 1.26.8), klauspost/compress v1.20.4; gzip of Debian, tried with 1.12-1 (bookworm)
#
# One would expect: a file that gzip -t calls good is read to its end without an error.
# Instead: if zeros follow the last member, which gzip skips without a word, both readers return the whole content
#   and then "invalid header". A reader that compares the checksum of the content finds it right, and fails all the same.
# Why it matters: a compressed disk image that lay on a block device, a tape or in a padded archive has such zeros.
#   gunzip and Proxmox's own download read it, an importer in Go refuses it after the last byte.
# Source: compress/gzip gunzip.go, Reader.Read reads another header until the file ends; gzip's manual, "Using gzip on
#   tapes".
set -euo pipefail
command -v gzip >/dev/null || { echo 'needs gzip' >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
go mod init finding >go.log 2>&1
go get github.com/klauspost/compress@v1.20.4 >go.log 2>&1 || { cat go.log >&2; exit 2; }

cat >main.go <<'EOF'
package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"

	faster "github.com/klauspost/compress/gzip"
)

func main() {
	for _, name := range os.Args[1:] {
		for library, open := range map[string]func(io.Reader) (io.Reader, error){
			"compress/gzip": func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
			"klauspost":     func(r io.Reader) (io.Reader, error) { return faster.NewReader(r) },
		} {
			f, err := os.Open(name)
			if err != nil {
				panic(err)
			}
			r, err := open(f)
			if err != nil {
				panic(err)
			}
			n, err := io.Copy(io.Discard, r)
			fmt.Printf("%s, %s: %d bytes, %v\n", name, library, n, err)
		}
	}
}
EOF
head -c 100000 /dev/zero >image
gzip -nc image >plain.gz
{ cat plain.gz; head -c 512 /dev/zero; } >padded.gz
{
  go run . plain.gz padded.gz | sort
  for f in padded.gz plain.gz; do
    status=0
    gzip -t "$f" 2>warning || status=$?
    echo "$f, gzip -t: exit status $status, $(wc -c <warning) bytes of warnings"
  done
} >got 2>go.log || { cat go.log >&2; exit 2; }

cat >want <<'EOF'
padded.gz, compress/gzip: 100000 bytes, gzip: invalid header
padded.gz, klauspost: 100000 bytes, gzip: invalid header
plain.gz, compress/gzip: 100000 bytes, <nil>
plain.gz, klauspost: 100000 bytes, <nil>
padded.gz, gzip -t: exit status 0, 0 bytes of warnings
plain.gz, gzip -t: exit status 0, 0 bytes of warnings
EOF
go list -m github.com/klauspost/compress
gzip --version | head -1
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
