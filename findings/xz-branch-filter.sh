#!/usr/bin/env bash
# github.com/ulikunitz/xz v0.5.17; xz of Debian's xz-utils, tried with 5.4.1-1 (bookworm)
#
# One would expect: a reader of .xz files reads what xz writes, or at least says which part of the format it lacks.
# Instead: a file with a second filter before LZMA2, which xz --x86, --arm64 or --delta writes and every xz reads, is
#   refused with "unsupported filter count". The filters are in the format's specification since its first version.
# Why it matters: disk images and kernels are packed with such a filter, because machine code becomes smaller. An
#   importer of images that is tested with plain files refuses them, and the message names no filter.
# Source: ulikunitz/xz reader.go and format.go, which accept one filter, LZMA2; The .xz File Format 1.2.1, 5.3.
set -euo pipefail
command -v xz >/dev/null || { echo 'needs xz: apt-get install xz-utils' >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
go mod init finding >go.log 2>&1
go get github.com/ulikunitz/xz@v0.5.17 >go.log 2>&1 || { cat go.log >&2; exit 2; }

cat >main.go <<'EOF'
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/ulikunitz/xz"
)

func main() {
	for _, name := range os.Args[1:] {
		f, err := os.Open(name)
		if err != nil {
			panic(err)
		}
		n := int64(0)
		r, err := xz.NewReader(f)
		if err == nil {
			n, err = io.Copy(io.Discard, r)
		}
		fmt.Printf("%s: %d bytes, %v\n", name, n, err)
	}
}
EOF
head -c 100000 "$(command -v xz)" >image || true
size=$(wc -c <image)
xz -c image >plain.xz
xz --threads=2 --block-size=20000 -c image >blocks.xz
xz --x86 --lzma2 -c image >x86.xz
xz --delta=dist=4 --lzma2 -c image >delta.xz
for f in *.xz; do [ "$(xz -dc "$f" | wc -c)" = "$size" ] || exit 2; done
go run . plain.xz blocks.xz x86.xz delta.xz >got 2>go.log || { cat go.log >&2; exit 2; }

cat >want <<EOF
plain.xz: $size bytes, <nil>
blocks.xz: $size bytes, <nil>
x86.xz: 0 bytes, xz: unsupported filter count
delta.xz: 0 bytes, xz: unsupported filter count
EOF
go list -m github.com/ulikunitz/xz
xz --version | head -1
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
