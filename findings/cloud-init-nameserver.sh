#!/usr/bin/env bash
# cloud-init of Debian; tried with 22.4.2-1+deb12u4 (bookworm)
#
# One would expect: an entry `type: nameserver` of a network configuration of version 1, which names no interface and
#   is what Proxmox VE writes into a NoCloud seed, sets these name servers in every guest that cloud-init
#   configures; and `ipv6_slaac` beside dhcp4 means the router's announcements everywhere.
# Instead: it depends on the guest's renderer. networkd gives the servers to every interface, netplan to those with
#   a static address only, so to none of a guest with DHCP; the renderer for NetworkManager drops them.
#   `ipv6_slaac` becomes `dhcp6: true` for netplan, `inet6 auto` for ifupdown and nothing for networkd.
# Why it matters: the same seed gives a guest with the wanted resolver on one distribution and one with the
#   network's on another, and nothing is logged.
# Source: cloudinit/net/netplan.py, Renderer._render_content and _extract_addresses; cloudinit/net/network_manager.py
#   (reads the servers of an interface only); cloudinit/net/networkd.py.
set -euo pipefail
command -v apt-get >/dev/null || { echo 'needs apt-get (Debian)' >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for package in cloud-init python3-{attr,certifi,chardet,charset-normalizer,configobj,idna,jinja2,json-pointer,jsonpatch,jsonschema,markupsafe,netifaces,oauthlib,pyrsistent,requests,serial,six,urllib3,yaml}; do
  apt-get download "$package" >apt.log 2>&1 || { cat apt.log >&2; exit 2; }
done
for package in ./*.deb; do dpkg-deb -x "$package" root; done
export PYTHONPATH=$work/root/usr/lib/python3/dist-packages PYTHONDONTWRITEBYTECODE=1

cat >network.yaml <<'EOF'
version: 1
config:
- type: physical
  name: eth0
  mac_address: 'bc:24:11:00:00:01'
  subnets:
  - type: static
    address: 192.0.2.5
    netmask: 255.255.255.0
- type: physical
  name: eth1
  mac_address: 'bc:24:11:00:00:02'
  subnets:
  - type: dhcp4
  - type: ipv6_slaac
- type: nameserver
  address: [192.0.2.53]
EOF
for renderer in netplan networkd network-manager eni; do
  /usr/bin/python3 -m cloudinit.cmd.main devel net-convert --network-data network.yaml --kind yaml \
    --distro debian --output-kind "$renderer" --directory "out-$renderer" >convert.log 2>&1 || { cat convert.log >&2; exit 2; }
done
# part prints the lines of one interface in netplan's file.
part() { awk -v name="        $1:" '/^        [a-z]/ { on = ($0 == name) } on' out-netplan/etc/netplan/*.yaml; }
has() { if grep -q "$@"; then echo yes; else echo no; fi; }
{
  echo "netplan: server for the static interface $(has 192.0.2.53 <(part eth0)), for the one with DHCP $(has 192.0.2.53 <(part eth1)), dhcp6 $(has 'dhcp6: true' <(part eth1))"
  networkd=out-networkd/etc/systemd/network
  echo "networkd: server for the static interface $(has DNS=192.0.2.53 $networkd/*eth0*), for the one with DHCP $(has DNS=192.0.2.53 $networkd/*eth1*), a word about IPv6 $(has -iE 'ipv6|DHCP=yes' $networkd/*eth1*)"
  echo "network-manager: server anywhere $(has -r 192.0.2.53 out-network-manager)"
  echo "eni: server anywhere $(has -r 192.0.2.53 out-eni), inet6 auto $(has -r 'eth1 inet6 auto' out-eni)"
} >got

cat >want <<'EOF'
netplan: server for the static interface yes, for the one with DHCP no, dhcp6 yes
networkd: server for the static interface yes, for the one with DHCP yes, a word about IPv6 no
network-manager: server anywhere no
eni: server anywhere yes, inet6 auto yes
EOF
dpkg-deb --show cloud-init_*.deb
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
