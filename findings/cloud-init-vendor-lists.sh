#!/usr/bin/env bash
# cloud-init of Debian; tried with 22.4.2-1+deb12u4 (bookworm)
#
# One would expect: vendor data adds to user data: where both have a list (users, packages, commands) both are done, or
#   else `merge_how` with `append`, in one or in both, joins them.
# Instead: mappings are joined key by key, but of two lists only that of the user data is left, whole. merge_how joins the
#   parts of user data with each other, and the parts of vendor data, but not the one with the other.
# Why it matters: the seed of Proxmox VE always has `users: [default]` and `package_upgrade`, so the users of a vendor
#   file (cicustom vendor=) are never made; and commands of vendor data do not run in guests whose user data has
#   commands. Nothing is logged. Use keys that the user data lacks, such as packages or bootcmd.
# Source: cloudinit/helpers.py, ConfigMerger._get_instance_configs; cloudinit/mergers/__init__.py, dict_extract_mergers
#   takes merge_how out of each part, so that util.mergemanydict finds none and keeps what came first.
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

# The user data has the keys that Proxmox VE writes, and a command.
cat >user.yaml <<'EOF'
#cloud-config
hostname: web
manage_etc_hosts: true
user: admin
chpasswd:
  expire: False
users:
  - default
package_upgrade: true
runcmd:
  - echo user
EOF
cat >vendor.yaml <<'EOF'
#cloud-config
chpasswd:
  list: 'ops:secret'
users:
  - default
  - name: ops
package_upgrade: false
packages:
  - qemu-guest-agent
runcmd:
  - echo vendor
EOF
cat >merge.yaml <<'EOF'
merge_how:
  - name: list
    settings: [append]
  - name: dict
    settings: [no_replace, recurse_list]
EOF
cat >main.py <<'EOF'
import json
import sys

from cloudinit import handlers, helpers
from cloudinit.handlers import cloud_config

paths = helpers.Paths({"cloud_dir": "cloud", "run_dir": "run"})
for key, name in (("cloud_config", sys.argv[1]), ("vendor_cloud_config", sys.argv[2])):
    part = cloud_config.CloudConfigPartHandler(paths, cloud_key=key)
    part.cloud_fn = paths.get_ipath_cur(key)
    part.handle_part(None, handlers.CONTENT_START, None, None, None, None)
    part.handle_part(None, "text/cloud-config", name, open(name).read(), None, {})
    part.handle_part(None, handlers.CONTENT_END, None, None, None, None)
merged = helpers.ConfigMerger(paths).cfg
for key in ("chpasswd", "users", "package_upgrade", "packages", "runcmd"):
    print("  " + key + ":", json.dumps(merged.get(key)))
EOF
mkdir -p cloud/instance
cat user.yaml merge.yaml >user-merge.yaml
cat vendor.yaml merge.yaml >vendor-merge.yaml
run() { /usr/bin/python3 main.py "$@" 2>python.log || { cat python.log >&2; exit 2; }; }
{
  echo 'plain:'
  run user.yaml vendor.yaml
  echo 'merge_how in the user data:'
  run user-merge.yaml vendor.yaml
  echo 'merge_how in the vendor data:'
  run user.yaml vendor-merge.yaml
  echo 'merge_how in both:'
  run user-merge.yaml vendor-merge.yaml
} >got

cat >want <<'EOF'
plain:
  chpasswd: {"expire": false, "list": "ops:secret"}
  users: ["default"]
  package_upgrade: true
  packages: ["qemu-guest-agent"]
  runcmd: ["echo user"]
merge_how in the user data:
  chpasswd: {"expire": false, "list": "ops:secret"}
  users: ["default"]
  package_upgrade: true
  packages: ["qemu-guest-agent"]
  runcmd: ["echo user"]
merge_how in the vendor data:
  chpasswd: {"expire": false, "list": "ops:secret"}
  users: ["default"]
  package_upgrade: true
  packages: ["qemu-guest-agent"]
  runcmd: ["echo user"]
merge_how in both:
  chpasswd: {"expire": false, "list": "ops:secret"}
  users: ["default"]
  package_upgrade: true
  packages: ["qemu-guest-agent"]
  runcmd: ["echo user"]
EOF
dpkg-deb --show cloud-init_*.deb
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
