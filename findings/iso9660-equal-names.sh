#!/usr/bin/env bash
# github.com/kdomanski/iso9660 v0.4.0; isoinfo of Debian's genisoimage (tried with 9:1.1.11-3.4, bookworm)
#
# One would expect: each file that AddFile takes without an error is in the image under its name, or its error says that
#   the name is too long, or taken.
# Instead: names are written in lower case, cut to 28 characters of which up to 8 are the extension, with underscores for
#   further dots, and without Rock Ridge or Joliet. Of two files whose names become equal the earlier one is lost, without an error.
# Why it matters: a seed for two machines (`controlplane-of-rack-1-node-a.yaml` and `-b.yaml`) has one file, and
#   `app.tar.gz` is `app_tar.gz`. `user-data` and `meta-data` arrive under their names, so a first test passes.
# Source: image_writer.go, AddFile and mangleFileName.
set -euo pipefail
command -v apt-get >/dev/null || { echo 'needs apt-get (Debian)' >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get download genisoimage >apt.log 2>&1 || { cat apt.log >&2; exit 2; }
for package in ./*.deb; do dpkg-deb --show "$package"; dpkg-deb -x "$package" root; done
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
go mod init finding >go.log 2>&1
go get github.com/kdomanski/iso9660@v0.4.0 >go.log 2>&1 || { cat go.log >&2; exit 2; }

cat >main.go <<'EOF'
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/kdomanski/iso9660"
)

func main() {
	writer, err := iso9660.NewWriter()
	if err != nil {
		panic(err)
	}
	for _, name := range []string{
		"user-data", "meta-data", "controlplane-of-rack-1-node-a.yaml", "controlplane-of-rack-1-node-b.yaml", "README", "readme", "app.tar.gz",
	} {
		if err := writer.AddFile(strings.NewReader("of "+name), name); err != nil {
			fmt.Println(name, err)
		}
	}
	file, err := os.Create("seed.iso")
	if err != nil {
		panic(err)
	}
	fmt.Println("written:", writer.WriteTo(file, "cidata"), file.Close(), writer.Cleanup())
}
EOF
go run . >got 2>go.log || { cat go.log >&2; exit 2; }
isoinfo=root/usr/bin/isoinfo
"$isoinfo" -d -i seed.iso | grep -E 'Volume id|Joliet|Rock Ridge' >>got
"$isoinfo" -f -R -i seed.iso | sort | while read -r name; do echo "$name: $("$isoinfo" -R -i seed.iso -x "$name")"; done >>got

cat >want <<'EOF'
written: <nil> <nil> <nil>
Volume id: cidata
NO Joliet present
NO Rock Ridge present
/app_tar.gz;1: of app.tar.gz
/controlplane-of-rack-1-.yaml;1: of controlplane-of-rack-1-node-b.yaml
/meta-data;1: of meta-data
/readme;1: of readme
/user-data;1: of user-data
EOF
go list -m github.com/kdomanski/iso9660
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
