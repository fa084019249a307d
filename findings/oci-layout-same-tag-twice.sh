#!/usr/bin/env bash
# github.com/google/go-containerregistry v0.22.1, package layout; Debian's skopeo and umoci
#   (tried with skopeo 1.9.3+ds1-1+b10 and umoci 0.4.7+ds-3+b7, bookworm)
#
# One would expect: appending an image under the tag of an earlier one to an OCI layout replaces it, or that every
#   reader takes the later one.
# Instead: AppendImage adds a second entry with the same org.opencontainers.image.ref.name. skopeo takes the
#   first, so the old image, without a word; umoci says that the tag is ambiguous.
#   ReplaceImage with match.Name is what replaces.
# Why it matters: a second build into the same folder publishes the first one again.
# Source: pkg/v1/layout/write.go, AppendImage, AppendDescriptor.
set -euo pipefail
for tool in skopeo umoci; do command -v "$tool" >/dev/null || { echo "needs $tool (Debian package $tool)" >&2; exit 2; }; done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
go mod init finding >go.log 2>&1
go get github.com/google/go-containerregistry@v0.22.1 >go.log 2>&1 || { cat go.log >&2; exit 2; }

cat >main.go <<'EOF'
package main

import (
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/match"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// image returns an image without layers whose author is the word.
func image(word string) v1.Image {
	oci := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	config := must(oci.ConfigFile()).DeepCopy()
	config.Author = word
	return must(mutate.ConfigFile(oci, config))
}

func main() {
	tag := layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": "stable"})
	path := must(layout.Write(os.Args[1], empty.Index))
	for _, word := range []string{"first", "second"} {
		var err error
		if os.Args[2] == "append" {
			err = path.AppendImage(image(word), tag)
		} else {
			err = path.ReplaceImage(image(word), match.Name("stable"), tag)
		}
		must(0, err)
	}
}
EOF
go get . >go.log 2>&1 || { cat go.log >&2; exit 2; }
for how in append replace; do
  go run . "$how" "$how" 2>go.log || { cat go.log >&2; exit 2; }
  author=$(skopeo inspect --config --raw "oci:$how:stable" | sed 's/.*"author":"\([a-z]*\)".*/\1/')
  umoci=reads
  umoci stat --image "$how:stable" >umoci.log 2>&1 || umoci="says $(grep -o 'tag is ambiguous: stable' umoci.log)"
  echo "$how: skopeo gets the $author image, umoci $umoci"
done >got

cat >want <<'EOF'
append: skopeo gets the first image, umoci says tag is ambiguous: stable
replace: skopeo gets the second image, umoci reads
EOF
go list -m github.com/google/go-containerregistry
skopeo --version
umoci --version
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
