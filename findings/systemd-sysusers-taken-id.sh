#!/usr/bin/env bash
# systemd-sysusers of Debian's systemd; tried with 252.39-1~deb12u2 (bookworm)
#
# One would expect: a line `u backup-agent 777` makes the user with the id 777, or fails if another user has it.
# Instead: the user is made with the next free system id, with exit status 0; one line on standard error says
#   "Suggested user ID 777 ... already used". The number is a wish.
# Why it matters: a fixed id is written down because files on a share or in a container's mount belong to that
#   number. On a machine where it was taken, the service starts and reads nothing. Check with
#   `id -u` after the installation, or make the user with useradd -u, which fails.
# Source: src/sysusers/sysusers.c, add_user: log_info and an id from the range.
set -euo pipefail
command -v systemd-sysusers >/dev/null || { echo 'needs systemd-sysusers (Debian package systemd)' >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

mkdir -p root/etc root/usr/lib/sysusers.d
printf '%s\n' 'root:x:0:0::/root:/bin/sh' 'other:x:777:777::/:/bin/sh' >root/etc/passwd
printf '%s\n' 'root:x:0:' 'other:x:777:' >root/etc/group
printf '%s\n' 'u backup-agent 777 "wants an id that is taken"' 'u free-agent 778 "wants a free one"' >root/usr/lib/sysusers.d/probe.conf
status=0
systemd-sysusers --root="$work/root" >sysusers.log 2>&1 || status=$?
{
  echo "exit status: $status"
  awk -F: '$1 == "free-agent" { print $1, $3 }' root/etc/passwd
  awk -F: '$1 == "backup-agent" { print $1, ($3 == 777 ? "777" : "another id") }' root/etc/passwd
  grep -c 'Suggested user ID 777 for backup-agent already used' sysusers.log
} >got

cat >want <<'EOF'
exit status: 0
free-agent 778
backup-agent another id
1
EOF
systemd-sysusers --version | sed -n 1p
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
