#!/usr/bin/env bash
# python3-proxmoxer of Debian, tried with 1.2.0-2 (bookworm), on which Ansible's modules for Proxmox VE stand
#
# One would expect: the timeout of ProxmoxAPI (5 s without one) is that of its requests, and a reply that is not JSON is an error.
# Instead: only the request for a ticket has the timeout. All others wait without an end, so with a token the setting has no effect
#   at all. A page of a proxy with status 200 is a dictionary with the key "errors", the type that the configuration of a guest has, too.
# Why it matters: a node that takes connections and does not answer holds a job for ever, and a login page is a guest without disks.
# Source: core.py, ProxmoxResource._request passes no timeout to the session; backends/https.py, ProxmoxHttpSession.request has None, and
#   JsonSerializer.loads.
set -euo pipefail
command -v apt-get >/dev/null || { echo 'needs apt-get (Debian)' >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for package in python3-{proxmoxer,requests,urllib3,six,chardet,idna,certifi}; do
  apt-get download "$package" >apt.log 2>&1 || { cat apt.log >&2; exit 2; }
done
for package in ./*.deb; do dpkg-deb -x "$package" root; done
export PYTHONPATH=$work/root/usr/lib/python3/dist-packages PYTHONDONTWRITEBYTECODE=1

cat >try.py <<'EOF'
import requests
from proxmoxer import ProxmoxAPI

reply = b""


def send(self, request, **options):  # in place of the network
    path = request.url.split("/api2/json/")[1]
    print(f"  {request.method} {path}: timeout {options['timeout']}")
    response = requests.Response()
    response.status_code, response.reason, response._content = 200, "OK", reply
    response.request, response.url, response.raw = request, request.url, None
    return response


requests.adapters.HTTPAdapter.send = send

print("user and password, timeout 7:")
reply = b'{"data": {"ticket": "PVE:a", "CSRFPreventionToken": "b"}}'
api = ProxmoxAPI("pve1.example.org", user="root@pam", password="secret", verify_ssl=False, timeout=7)
reply = b'{"data": {"memory": "2048"}}'
print(" ", api.nodes("pve1").qemu(100).config.get())
print("token, timeout 7:")
api = ProxmoxAPI("pve1.example.org", user="root@pam", token_name="a", token_value="b", verify_ssl=False, timeout=7)
print(" ", api.nodes("pve1").qemu(100).config.get())
print("a page of a proxy:")
reply = b"<html>Please log in</html>"
print(" ", api.nodes("pve1").qemu(100).config.get())
EOF
/usr/bin/python3 try.py >got

cat >want <<'EOF'
user and password, timeout 7:
  POST access/ticket: timeout 7
  GET nodes/pve1/qemu/100/config: timeout None
  {'memory': '2048'}
token, timeout 7:
  GET nodes/pve1/qemu/100/config: timeout None
  {'memory': '2048'}
a page of a proxy:
  GET nodes/pve1/qemu/100/config: timeout None
  {'errors': b'<html>Please log in</html>'}
EOF
dpkg-deb --show python3-proxmoxer_*.deb
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
