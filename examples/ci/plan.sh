#!/usr/bin/env bash
# Plans a proposal against the cluster, and keeps the plan as one comment in the pull request.
#
#   plan.sh BASE HEAD
#
# BASE and HEAD are commits of the repository in the working directory. What is planned is the merge of both, as it would be after the merge; if they
# conflict, HEAD alone. The config is read from BASE, because a proposal must not choose where the tokens are sent: .gitops/plan.yaml, with
# "token_file: token". PROXMOX_TOKEN has that token, user@realm!name=secret, which may only read (the role PVEAuditor). GITOPS_AGENT_TOKEN may name the
# token with which the agent writes, without its secret, so that its privileges are checked.
# GITOPS_COMMENT names the comment: choose a name for each cluster if one repository has several.
set -euo pipefail

agent=${GITOPS_AGENT:-gitops-agent}
manifests=${GITOPS_MANIFESTS:-.}
base=$(git rev-parse --verify --end-of-options "$1^{commit}")
head=$(git rev-parse --verify --end-of-options "$2^{commit}")

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT

# tree COMMIT-OR-TREE DIRECTORY: git archive would leave out files that the proposal marks with export-ignore.
export GIT_DIR
GIT_DIR=$(git rev-parse --absolute-git-dir) # a bare repository has no work tree, so it is named
tree() {
  GIT_INDEX_FILE="$work/index" git --work-tree="$2" read-tree "$1"
  GIT_INDEX_FILE="$work/index" git --work-tree="$2" checkout-index --all --force
}
merged=$(git merge-tree --write-tree "$base" "$head") || {
  echo "the proposal conflicts with the target branch: it is planned without it" >&2
  merged=$head
}
mkdir "$work/base" "$work/head"
tree "$base" "$work/base"
tree "$merged" "$work/head"
cp -- "$work/base/.gitops/plan.yaml" "$work/config.yaml"
(umask 077 && printf '%s\n' "$PROXMOX_TOKEN" > "$work/token")

status=0
plan=(plan --config config.yaml --dir "$work/head/$manifests" --base "$work/base/$manifests" --commit "$head")
if [[ -n ${GITOPS_AGENT_TOKEN:-} ]]; then plan+=(--agent-token "$GITOPS_AGENT_TOKEN"); fi
(cd "$work" && "$agent" "${plan[@]}" -o markdown) > "$work/plan.md" || status=$?
cat "$work/plan.md"
"$agent" comment --name "${GITOPS_COMMENT:-plan}" "$work/plan.md"
exit "$status"
