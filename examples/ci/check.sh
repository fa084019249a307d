#!/usr/bin/env bash
# Says before a merge what the agent would say after it: whether the manifests of HEAD are good, and whether every commit that it
# brings in since BASE is signed by somebody who may sign. Both are commits of the repository in the working directory.
#
#   check.sh BASE HEAD
#
# Whom to believe is read from BASE, since a proposal must not bring its own judges: .gitops/trusted_root.json, and
# .gitops/signers with a line ISSUER=SUBJECT each. This is a courtesy to reviewers. The agent believes neither this check nor
# those files, but its own config.
set -euo pipefail

agent=${GITOPS_AGENT:-gitops-agent}
manifests=${GITOPS_MANIFESTS:-.}
base=$(git rev-parse --verify --end-of-options "$1^{commit}")
head=$(git rev-parse --verify --end-of-options "$2^{commit}")

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
mkdir "$work/tree"
git archive --format=tar "$head" | tar -x -C "$work/tree"
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
