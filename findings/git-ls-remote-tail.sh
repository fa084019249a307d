#!/usr/bin/env bash
# git of Debian; tried with 2.39.5 (bookworm)
#
# One would expect: `git ls-remote --heads URL main` prints the branch main, so that the first word of its output
#   is the commit.
# Instead: a name matches the tail of a ref, at each slash: feature/main and release/2/main are printed, too,
#   and before refs/heads/main, since refs are sorted. With --exit-code a name is found that is only such a tail.
#   Only a full name (refs/heads/main) means one ref, and even that matches refs/heads/refs/heads/main.
# Why it matters: `git ls-remote URL main | head -n 1` in a pipeline deploys the branch of another person as soon
#   as one is named something/main. Ask for refs/heads/main, and compare the second column.
# Source: builtin/ls-remote.c, tail_match: the pattern is matched as "*/PATTERN" against "/REF".
set -euo pipefail
command -v git >/dev/null || { echo 'needs git' >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME=$work GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.com GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.com
git init -q -b main server
for word in first second third; do git -C server commit -q --allow-empty -m "$word"; done
git -C server branch feature/main main~1
git -C server branch release/2/main main~2
git -C server branch domain main~1

ask() { # prints the subjects and names of the refs that match
  echo "$*:"
  git ls-remote "$@" | while read -r id name; do echo "  $name $(git -C server log -1 --format=%s "$id")"; done
}
{
  ask --heads server main
  ask --heads server refs/heads/main
  ask --heads server heads/main
  git -C server branch -q -m main trunk
  status=0
  git ls-remote --exit-code --heads server main >ls.log || status=$?
  echo "exit status for main after its deletion: $status, $(wc -l <ls.log) refs"
  status=0
  git ls-remote --exit-code --heads server refs/heads/main >ls.log || status=$?
  echo "exit status for refs/heads/main: $status"
} >got

cat >want <<'EOF'
--heads server main:
  refs/heads/feature/main second
  refs/heads/main third
  refs/heads/release/2/main first
--heads server refs/heads/main:
  refs/heads/main third
--heads server heads/main:
  refs/heads/main third
exit status for main after its deletion: 0, 2 refs
exit status for refs/heads/main: 2
EOF
git --version
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
