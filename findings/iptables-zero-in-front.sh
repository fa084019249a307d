#!/usr/bin/env bash
# iptables and nftables of Debian, tried with 1.8.9-2 and 1.0.6-2+deb12u2 (bookworm)
#
# One would expect: a port, an address or a prefix with a zero in front is the decimal number, as in most configuration, or an error.
# Instead: in iptables it is octal: port 010 is 8, a range 010:020 is 8 to 16, 192.0.2.010 is 192.0.2.8, /010 is /8, and 0x10 is 16.
#   Port 08 is an error. In nft, 010 and 08 are both port 8.
# Why it matters: a rule for port 010 opens port 8; and a tool that reads it as 10 compares the wrong rule, such as a program in
#   Rust or Go in front of the packet filter. Leave out the zeros.
# Source: iptables, libxtables/xtables.c, xtables_strtoui with base 0, and inet_aton for addresses; nftables, src/datatype.c,
#   integer_type_parse and inet_service_type_parse.
set -euo pipefail
command -v apt-get >/dev/null || { echo 'needs apt-get (Debian)' >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for package in iptables libxtables12 libip4tc2 libip6tc2 libnetfilter-conntrack3 libnfnetlink0 libnftnl11 libmnl0 nftables libnftables1; do
  apt-get download "$package" >apt.log 2>&1 || { cat apt.log >&2; exit 2; }
done
for package in ./*.deb; do dpkg-deb -x "$package" root; done
libraries=$(dirname "$(find root/usr/lib -name 'libxtables.so.*' | head -1)")
export LD_LIBRARY_PATH=$work/$libraries XTABLES_LIBDIR=$work/$libraries/xtables

translated() { # what iptables understands, in the words of nft; it loads no rule
  local said
  said=$(root/usr/sbin/xtables-nft-multi iptables-translate -A INPUT "$@" -j ACCEPT 2>&1 | head -1) || true
  said=${said#*add rule ip filter INPUT }
  printf 'iptables %s: %s\n' "$*" "${said% counter accept*}"
}
checked() { # what nft would load of a rule for a port, in network byte order
  printf 'add table t\nadd chain t c { type filter hook input priority 0; }\nadd rule t c tcp dport %s accept\n' "$1" >rules.nft
  printf 'nft tcp dport %s: %s\n' "$1" "$(root/usr/sbin/nft -c --debug=netlink -f rules.nft 2>&1 | sed -n 's/.*cmp eq reg 1 \(0x[0-9a-f]*\).*/\1/p' | tail -1)"
}
{
  translated -p tcp --dport 10
  translated -p tcp --dport 010
  translated -p tcp --dport 0x10
  translated -p tcp --dport 08
  translated -p tcp --dport 010:020
  translated -s 192.0.2.010/32
  translated -s 192.0.2.0/010
  checked 8
  checked 08
  checked 010
  checked 10
} >got

cat >want <<'EOF'
iptables -p tcp --dport 10: tcp dport 10
iptables -p tcp --dport 010: tcp dport 8
iptables -p tcp --dport 0x10: tcp dport 16
iptables -p tcp --dport 08: iptables-translate v1.8.9 (nf_tables): invalid port/service `08' specified
iptables -p tcp --dport 010:020: tcp dport 8-16
iptables -s 192.0.2.010/32: ip saddr 192.0.2.8
iptables -s 192.0.2.0/010: ip saddr 192.0.0.0/8
nft tcp dport 8: 0x00000800
nft tcp dport 08: 0x00000800
nft tcp dport 010: 0x00000800
nft tcp dport 10: 0x00000a00
EOF
dpkg-deb --show iptables_*.deb
dpkg-deb --show nftables_*.deb
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
