#!/usr/bin/env bash
# github.com/go-git/go-git/v5 v5.19.3, with git beside it (tried with 2.39.5)
#
# One would expect: ResolveRevision prefers a branch or a tag to an abbreviated commit id, as git does, which looks
#   for an abbreviation only if no ref has the name.
# Instead: a name of hexadecimal digits, of any length, is looked up as an abbreviation first. A branch 12, a tag
#   2026 or a tag cafe means its own commit only as long as no commit's id begins with these digits. git also wants
#   four digits for an abbreviation.
# Why it matters: with branches or tags named by numbers, years or tickets a tool reads another commit than git, from
#   the day on which a commit with such an id is made: for a name of two digits, one in 256 is.
#   Give the full name: refs/tags/2026.
# Source: repository.go, ResolveRevision (resolveHashPrefix before expand_ref, "the priority that git would"); git:
#   object-name.c, get_oid_1 (get_oid_basic before get_short_oid), MINIMUM_ABBREV.
set -euo pipefail
command -v git >/dev/null || { echo 'needs git' >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME=$work GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.com GIT_AUTHOR_DATE='2026-01-01T00:00:00Z'
export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.com GIT_COMMITTER_DATE='2026-01-01T00:00:00Z'
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
go mod init finding >go.log 2>&1
go get github.com/go-git/go-git/v5@v5.19.3 >go.log 2>&1 || { cat go.log >&2; exit 2; }

# The ids are the same in every run, since names and times are.
git init -q -b main repository
for subject in $(seq 1 20); do git -C repository commit -q --allow-empty -m "$subject"; done
short=$(git -C repository rev-parse main~5)
git -C repository branch "${short:0:2}" main~10
git -C repository tag "${short:0:4}" main~11
git -C repository tag ffff main~12
digit=$(git -C repository rev-parse main~3)
digit=${digit:0:1}
git -C repository tag "$digit" main~14
cat >main.go <<'EOF'
package main

import (
	"fmt"
	"os"

	git "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
)

func main() {
	repository, err := git.PlainOpen("repository")
	if err != nil {
		panic(err)
	}
	for _, name := range os.Args[1:] {
		id, err := repository.ResolveRevision(plumbing.Revision(name))
		if err != nil {
			fmt.Printf("%s: go-git says %v\n", name, err)
			continue
		}
		commit, err := repository.CommitObject(*id)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: go-git reads commit %s\n", name, commit.Message[:len(commit.Message)-1])
	}
}
EOF
go get . >go.log 2>&1 || { cat go.log >&2; exit 2; }
names=("$digit" "${short:0:2}" "${short:0:4}" "refs/tags/${short:0:4}" ffff "${short:0:3}")
{
  echo "a commit is $short"
  for name in "${names[@]}"; do
    if subject=$(git -C repository log -1 --format=%s "$name" -- 2>/dev/null); then echo "$name: git reads commit $subject"; else echo "$name: git knows none"; fi
  done
  go run . "${names[@]}" 2>go.log || { cat go.log >&2; exit 2; }
} >got

cat >want <<'EOF'
a commit is 18066a38a9ddd02b83a4f0421e0a8a27722f6c55
5: git reads commit 6
18: git reads commit 10
1806: git reads commit 9
refs/tags/1806: git reads commit 9
ffff: git reads commit 8
180: git knows none
5: go-git reads commit 17
18: go-git reads commit 15
1806: go-git reads commit 15
refs/tags/1806: go-git reads commit 9
ffff: go-git reads commit 8
180: go-git reads commit 15
EOF
go list -m github.com/go-git/go-git/v5
git --version
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
