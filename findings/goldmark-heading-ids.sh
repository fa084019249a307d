#!/usr/bin/env bash
# github.com/yuin/goldmark v1.8.7, and npm's github-slugger 2.0.0 for what a forge makes of the same heading
#
# One would expect: WithAutoHeadingID makes the ids that forges make, so that links to headings work in both.
# Instead: the id is made from the heading's *source*: the address of a link is part of it. An underscore becomes
#   a hyphen, letters outside ASCII are dropped, and a heading without ASCII letters is "heading".
# Why it matters: links to headings that a forge resolves lead nowhere in the built pages.
#   Headings in another script are told apart by their order alone: heading, heading-1. Give such headings an id of their own, `# Name {#id}`.
# Source: parser/atx_heading.go, generateAutoHeadingID (the line of the source); parser/parser.go, ids.Generate.
set -euo pipefail
command -v npm >/dev/null || { echo 'needs npm and node' >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
go mod init finding >go.log 2>&1
go get github.com/yuin/goldmark@v1.8.7 >go.log 2>&1 || { cat go.log >&2; exit 2; }
npm install --prefix . --no-audit --no-fund --ignore-scripts github-slugger@2.0.0 >npm.log 2>&1 || { cat npm.log >&2; exit 2; }

cat >main.go <<'EOF'
package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/parser"
)

func main() {
	markdown := goldmark.New(goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	for _, heading := range os.Args[1:] {
		var page bytes.Buffer
		if err := markdown.Convert([]byte("# "+heading), &page); err != nil {
			panic(err)
		}
		fmt.Println(regexp.MustCompile(`id="([^"]*)"`).FindStringSubmatch(page.String())[1])
	}
}
EOF
cat >slug.mjs <<'EOF'
import { slug } from 'github-slugger'
for (const text of process.argv.slice(2)) console.log(slug(text))
EOF
paste -d ' ' \
  <(printf '%s\n' plain link underscore umlaut script) \
  <(go run . 'Two words' 'See [the page](guide.md)' 'key max_workers' 'Größe' '日本') \
  <(node slug.mjs 'Two words' 'See the page' 'key max_workers' 'Größe' '日本') >got

cat >want <<'EOF'
plain two-words two-words
link see-the-pageguidemd see-the-page
underscore key-max-workers key-max_workers
umlaut gre größe
script heading 日本
EOF
go list -m github.com/yuin/goldmark
echo 'heading, id of goldmark, id of github-slugger 2.0.0:'
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
