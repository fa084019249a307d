#!/usr/bin/env bash
# github.com/go-git/go-billy/v5 v5.9.2, package memfs; package osfs beside it
#
# One would expect: memfs does in memory what osfs does on a disk, so that code that is tested with one works with the other.
# Instead: Rename deletes every file whose path *begins* with the old name: after data was renamed to old, data-backup and
#   data.json are gone, and after log was renamed to log.1, so is log.2. A folder that is renamed to one with files
#   takes its place, where a disk refuses. With O_APPEND, a write after Seek(0) is at the beginning.
# Why it matters: in a repository or work tree in memory files disappear without an error, and tests in memory pass where
#   the disk refuses, or fail where it does not.
# Source: memfs/storage.go, Rename: strings.HasPrefix(path, from) without a separator; the path of a sibling relative to
#   the folder leads back to where it is, so move writes it there and then deletes it. memfs/memory.go, OpenFile: the
#   position is set to the end once.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
go mod init finding >go.log 2>&1
go get github.com/go-git/go-billy/v5@v5.9.2 >go.log 2>&1 || { cat go.log >&2; exit 2; }

cat >main.go <<'EOF'
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/memfs"
	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-billy/v5/util"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func write(fs billy.Filesystem, names ...string) {
	for _, name := range names {
		must(0, util.WriteFile(fs, name, []byte("text"), 0o600))
	}
}

func list(fs billy.Filesystem) (out []string) {
	must(0, util.Walk(fs, "/", func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			out = append(out, path)
		}
		return err
	}))
	return out
}

func show(name string, open func() billy.Filesystem) {
	fs := open()
	write(fs, "data/a", "data-backup/a", "data.json", "dat/a", "other/a")
	must(0, fs.Rename("data", "old"))
	fmt.Println(name, "after data was renamed to old:", list(fs))

	fs = open()
	write(fs, "log", "log.2", "log.3", "web")
	must(0, fs.Rename("log", "log.1"))
	fmt.Println(name, "after log was renamed to log.1:", list(fs))

	fs = open()
	write(fs, "new/a", "full/b")
	err := fs.Rename("new", "full")
	fmt.Println(name, "refuses to rename to a folder with files:", err != nil, list(fs))

	fs = open()
	write(fs, "log")
	file := must(fs.OpenFile("log", os.O_WRONLY|os.O_APPEND, 0))
	must(file.Seek(0, io.SeekStart))
	must(file.Write([]byte("MORE")))
	must(0, file.Close())
	fmt.Printf("%s appended after Seek(0): %s\n", name, must(util.ReadFile(fs, "log")))
}

func main() {
	show("osfs", func() billy.Filesystem { return osfs.New(must(os.MkdirTemp(".", "disk"))) })
	show("memfs", memfs.New)
}
EOF
go get . >go.log 2>&1 || { cat go.log >&2; exit 2; }
go run . >got 2>go.log || { cat go.log >&2; exit 2; }

cat >want <<'EOF'
osfs after data was renamed to old: [/dat/a /data-backup/a /data.json /old/a /other/a]
osfs after log was renamed to log.1: [/log.1 /log.2 /log.3 /web]
osfs refuses to rename to a folder with files: true [/full/b /new/a]
osfs appended after Seek(0): textMORE
memfs after data was renamed to old: [/dat/a /old/a /other/a]
memfs after log was renamed to log.1: [/log.1 /web]
memfs refuses to rename to a folder with files: false [/full/a]
memfs appended after Seek(0): MORE
EOF
go list -m github.com/go-git/go-billy/v5
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
