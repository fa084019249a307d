#!/usr/bin/env bash
# git of Debian; tried with 2.39.5
#
# One would expect: `git interpret-trailers --parse` and the format %(trailers) of `git log` find the same trailers in the
#   message of a commit.
# Instead: interpret-trailers takes its input for a mail: a line that begins with three dashes ends the message, so that it
#   finds those before this line, and git log those at the end. A blank before the colon, or none behind it, is a trailer
#   for both; a paragraph in which one line of four is a trailer counts if one of these is of git's own kinds
#   (Signed-off-by, cherry picked from), and not otherwise.
# Why it matters: a check in a hook and the tool that acts on the commit read different trailers of it. The option
#   --no-divider makes interpret-trailers read what a commit has.
# Source: trailer.c, find_end_of_log_message and find_trailer_start; pretty.c sets no_divider.
set -euo pipefail
command -v git >/dev/null || { echo 'needs git' >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME=$work GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
git init -q repo
cd repo
line() { paste -sd'|' | sed 's/|$//; s/^$/none/'; }
look() { # MESSAGE
  printf '%b' "$1" >message
  git commit -q --allow-empty --cleanup=verbatim -F message
  {
    echo "message: $1"
    echo "  interpret-trailers: $(git interpret-trailers --parse <message | line)"
    echo "  with --no-divider:  $(git interpret-trailers --parse --no-divider <message | line)"
    echo "  git log:            $(git log -1 '--format=%(trailers:only,unfold)' | line)"
  } >>../got
}
look 'subject\n\nDeploy: staging\n\n---\nnotes\n\nDeploy: production\n'
look 'subject\n\nDeploy : staging\nRegion:eu\n'
look 'subject\n\nDeploy: staging\none\ntwo\nthree\n'
look 'subject\n\nSigned-off-by: a <a@example.org>\none\ntwo\nthree\n'

cd ..
cat >want <<'EOF'
message: subject\n\nDeploy: staging\n\n---\nnotes\n\nDeploy: production\n
  interpret-trailers: Deploy: staging
  with --no-divider:  Deploy: production
  git log:            Deploy: production
message: subject\n\nDeploy : staging\nRegion:eu\n
  interpret-trailers: Deploy: staging|Region: eu
  with --no-divider:  Deploy: staging|Region: eu
  git log:            Deploy: staging|Region: eu
message: subject\n\nDeploy: staging\none\ntwo\nthree\n
  interpret-trailers: none
  with --no-divider:  none
  git log:            none
message: subject\n\nSigned-off-by: a <a@example.org>\none\ntwo\nthree\n
  interpret-trailers: Signed-off-by: a <a@example.org>
  with --no-divider:  Signed-off-by: a <a@example.org>
  git log:            Signed-off-by: a <a@example.org>
EOF
git --version
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
