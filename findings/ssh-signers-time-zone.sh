#!/usr/bin/env bash
# ssh-keygen of Debian's openssh-client and git; tried with 1:9.2p1-2+deb12u10 and 2.39.5 (bookworm)
#
# One would expect: valid-before="20260101" of an allowed signers file is a moment, so that a signature is valid for
#   everyone who has the file or for nobody; and git log shows an expired key with %G? = X.
# Instead: a date without a Z at its end is in the time zone of the process that verifies, so the same commit and the
#   same file are good in one zone and not in another, for up to a day. git passes the committer's time as a local
#   time, too, and shows U, as for a key that is in no file, and no signer. With a Z all agree.
# Why it matters: CI runs in UTC and the person at the screen does not: a commit of the last evening before a key is
#   replaced is good in CI and untrusted at home, or the other way around.
# Source: ssh-keygen(1), ALLOWED SIGNERS: "in the current system time zone unless suffixed with a Z character"; misc.c,
#   parse_absolute_time; git: gpg-interface.c, verify_ssh_signed_buffer (verify_date_mode.local).
set -euo pipefail
for tool in ssh-keygen git; do command -v "$tool" >/dev/null || { echo "needs $tool" >&2; exit 2; }; done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME=$work GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.com GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.com
ssh-keygen -q -t ed25519 -N '' -C '' -f key
git init -q -b main repository
git config --global gpg.format ssh
git config --global user.signingKey "$work/key"
git config --global gpg.ssh.allowedSignersFile "$work/signers"
GIT_COMMITTER_DATE='2025-12-31T12:30:00Z' git -C repository commit -q -S --allow-empty -m 'at noon of the last day'
GIT_COMMITTER_DATE='2026-01-01T02:00:00Z' git -C repository commit -q -S --allow-empty -m 'two hours late'

# The zones have POSIX's form, so that no files of zones are needed: their signs are the other way around.
for before in 20260101 20260101Z; do
  printf 'a@example.com valid-before="%s" %s\n' "$before" "$(cat key.pub)" >signers
  for zone in UTC0 NZDT-13 PST8; do
    TZ=$zone git -C repository log --reverse --format="before $before, $zone: %G? %GS, %s"
    echo 'text' >text
    rm -f text.sig
    ssh-keygen -q -Y sign -f key -n file text 2>sign.log
    verdict=refused
    TZ=$zone ssh-keygen -Y verify -f signers -I a@example.com -n file -s text.sig -Overify-time=20260101020000Z <text >verify.log 2>&1 && verdict=good
    echo "before $before, $zone: ssh-keygen at two hours late: $verdict"
  done
done >got

cat >want <<'EOF'
before 20260101, UTC0: G a@example.com, at noon of the last day
before 20260101, UTC0: U , two hours late
before 20260101, UTC0: ssh-keygen at two hours late: refused
before 20260101, NZDT-13: U , at noon of the last day
before 20260101, NZDT-13: U , two hours late
before 20260101, NZDT-13: ssh-keygen at two hours late: refused
before 20260101, PST8: G a@example.com, at noon of the last day
before 20260101, PST8: G a@example.com, two hours late
before 20260101, PST8: ssh-keygen at two hours late: good
before 20260101Z, UTC0: G a@example.com, at noon of the last day
before 20260101Z, UTC0: U , two hours late
before 20260101Z, UTC0: ssh-keygen at two hours late: refused
before 20260101Z, NZDT-13: G a@example.com, at noon of the last day
before 20260101Z, NZDT-13: U , two hours late
before 20260101Z, NZDT-13: ssh-keygen at two hours late: refused
before 20260101Z, PST8: G a@example.com, at noon of the last day
before 20260101Z, PST8: U , two hours late
before 20260101Z, PST8: ssh-keygen at two hours late: refused
EOF
ssh -V 2>&1
git --version
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
