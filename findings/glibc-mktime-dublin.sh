#!/usr/bin/env bash
# Debian's tzdata 2026f with glibc 2.36
#
# One would expect: of a time that the clocks skip when they go forward, mktime with tm_isdst = -1 makes a later one, as
#   in Berlin and New York, where 02:30 becomes 03:30.
# Instead: in Europe/Dublin it makes an earlier one: 01:30 becomes 00:30. The time zone database calls the Irish winter
#   daylight saving time with a negative offset.
# Why it matters: a loop that sets the hour that it wants and normalises, until the clock shows it, makes no progress
#   there. Calendar events of Proxmox (proxmox-time 2.1.1, compute_next_event) are such a loop with an end: for a backup job at
#   01:30 on a node in Dublin it finds no next time from the last Sunday in March on, and the job does not run again.
# Source: glibc time/mktime.c, __mktime_internal; tzdata europe, Eire ("negative DST").
set -euo pipefail
for tool in apt-get dpkg-deb perl; do command -v "$tool" >/dev/null || { echo "needs $tool" >&2; exit 2; }; done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get download tzdata >apt.log 2>&1 || { cat apt.log >&2; exit 2; }
dpkg-deb -x tzdata_*.deb tzdata
export TZDIR=$work/tzdata/usr/share/zoneinfo

cat >gap.pl <<'EOP'
use strict; use warnings; use POSIX qw(mktime strftime);
my ($year, $month, $day, $hour, $minute) = @ARGV;
my $at = mktime(0, $minute, $hour, $day, $month - 1, $year - 1900, 0, 0, -1);
printf "%-17s %02d:%02d is skipped: mktime makes %s\n", $ENV{TZ}, $hour, $minute, strftime("%H:%M", localtime($at));
# As compute_next_event: the hour is put right, and what mktime makes of it is looked at again.
my @t = localtime(mktime(0, 0, 0, $day, $month - 1, $year - 1900, 0, 0, -1));
my $rounds = 0;
while ($t[2] != $hour && ++$rounds <= 1000) {
  if ($t[2] < $hour) { @t[0, 1, 2] = (0, 0, $hour) } else { @t[0, 1, 2] = (0, 0, 0); $t[3]++ }
  @t = localtime(mktime(@t[0 .. 5], 0, 0, -1));
}
print $rounds > 1000 ? "  the hour is never reached\n" : strftime("  the hour is reached on %F\n", @t);
EOP
{
  TZ=Europe/Berlin perl gap.pl 2027 3 28 2 30
  TZ=America/New_York perl gap.pl 2027 3 14 2 30
  TZ=Europe/Dublin perl gap.pl 2027 3 28 1 30
} >got

cat >want <<'EOF2'
Europe/Berlin     02:30 is skipped: mktime makes 03:30
  the hour is reached on 2027-03-29
America/New_York  02:30 is skipped: mktime makes 03:30
  the hour is reached on 2027-03-15
Europe/Dublin     01:30 is skipped: mktime makes 00:30
  the hour is never reached
EOF2
echo "tzdata $(dpkg-deb -f tzdata_*.deb Version), $(getconf GNU_LIBC_VERSION)"
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
