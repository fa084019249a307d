#!/usr/bin/env bash
# github.com/goreleaser/nfpm/v2 v2.45.2, and dpkg
#
# One would expect: a package made from a commit after v1.2.3, with the version that `git describe` gives
#   (1.2.3-4-gabcdef0: four commits after the tag), is newer than 1.2.3.
# Instead: what follows the hyphen is a pre-release by semantic versioning, and nfpm writes it with a tilde. dpkg
#   sorts 1.2.3~4-gabcdef0 before 1.2.3, so that the later build is the older package.
# Why it matters: apt keeps the release and never offers the later build; a forced installation is undone by
#   the next upgrade. Write 1.2.3+4.gabcdef0, or set `version_schema: none`. Note that 2026.01.02 becomes
#   2026.1.2 as well.
# Source: nfpm.go, WithDefaults (semver.NewVersion), deb/deb.go writes "~" and the pre-release.
set -euo pipefail
command -v dpkg-deb >/dev/null || { echo 'needs dpkg' >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
GOBIN=$work go install github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2 >go.log 2>&1 || { cat go.log >&2; exit 2; }

for version in 1.2.3 1.2.3-rc.1 1.2.3-4-gabcdef0 1.2.3+4.gabcdef0 2026.01.02; do
  printf 'name: probe\narch: amd64\nmaintainer: A <a@example.org>\ndescription: probe\nversion: "%s"\n' "$version" >nfpm.yaml
  ./nfpm package --packager deb --target probe.deb >nfpm.log 2>&1 || { cat nfpm.log >&2; exit 2; }
  written=$(dpkg-deb --field probe.deb Version)
  order='not older than 1.2.3'
  if dpkg --compare-versions "$written" lt 1.2.3; then order='older than 1.2.3'; fi
  echo "$version: $written, $order"
done >got

cat >want <<'EOF'
1.2.3: 1.2.3, not older than 1.2.3
1.2.3-rc.1: 1.2.3~rc.1, older than 1.2.3
1.2.3-4-gabcdef0: 1.2.3~4-gabcdef0, older than 1.2.3
1.2.3+4.gabcdef0: 1.2.3+4.gabcdef0, not older than 1.2.3
2026.01.02: 2026.1.2, not older than 1.2.3
EOF
go version -m nfpm | awk '$1 == "mod" { print $2, $3 }'
dpkg --version | sed -n 1p
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
