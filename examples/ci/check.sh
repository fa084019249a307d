#!/usr/bin/env bash
# Reports before a merge what the agent would report after it: whether the manifests of HEAD are valid, and whether every commit of HEAD
# since BASE is signed by an allowed signer. BASE and HEAD are commits of the repository in the working directory.
#
#   check.sh BASE HEAD
#
# The trusted root and the signers are read from BASE, because a proposal must not change its own trust: .gitops/trusted_root.json, and
# .gitops/signers with one line ISSUER=SUBJECT per signer. This check only helps reviewers. The agent trusts neither this check nor
# those files, only its own config.
set -euo pipefail

agent=${GITOPS_AGENT:-gitops-agent}
manifests=${GITOPS_MANIFESTS:-.}
base=$(git rev-parse --verify --end-of-options "$1^{commit}")
head=$(git rev-parse --verify --end-of-options "$2^{commit}")

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
mkdir "$work/tree"
# git archive would leave out files that the proposal marks with export-ignore, and the agent reads them.
export GIT_DIR
GIT_DIR=$(git rev-parse --absolute-git-dir) # a bare repository has no work tree, so it is named
GIT_INDEX_FILE="$work/index" git --work-tree="$work/tree" read-tree "$head"
GIT_INDEX_FILE="$work/index" git --work-tree="$work/tree" checkout-index --all
git show "$base:.gitops/trusted_root.json" > "$work/trusted_root.json"
git show "$base:.gitops/signers" > "$work/signers"

trust=(--trusted-root "$work/trusted_root.json")
while IFS= read -r signer; do
  if [[ -n $signer && $signer != \#* ]]; then trust+=(--signer "$signer"); fi
done < "$work/signers"

status=0
"$agent" validate "$work/tree/$manifests" || status=$?
"$agent" verify "${trust[@]}" --repo . --explain "$(git merge-base "$base" "$head")..$head" || status=$?
exit "$status"
