#!/usr/bin/env bash
# ansible-core of Debian; tried with 2.14.18-0+deb12u2 (bookworm)
#
# One would expect: the variables below `_meta.hostvars` of an inventory script belong to the host of that name, also if
#   a group has the same name. Ansible warns of that ("Found both group and host with same name") and goes on.
# Instead: they become variables of the group. So every member of the group gets those that it does not set itself,
#   ansible_host included, and the host has them only if it is a member.
# Why it matters: with a group for the tag `db` beside a machine `db`, a play for the machine `replica` runs on the address of
#   `db`. Give the groups of an inventory a prefix that no host name has, such as `tag_`.
# Source: ansible/inventory/data.py, InventoryData.set_variable looks for a group first; plugins/inventory/script.py.
set -euo pipefail
command -v apt-get >/dev/null || { echo 'needs apt-get (Debian)' >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for package in ansible-core python3-{cffi-backend,cryptography,jinja2,markupsafe,packaging,resolvelib,yaml}; do
  apt-get download "$package" >apt.log 2>&1 || { cat apt.log >&2; exit 2; }
done
for package in ./*.deb; do dpkg-deb -x "$package" root; done
export PYTHONPATH=$work/root/usr/lib/python3/dist-packages PYTHONDONTWRITEBYTECODE=1 HOME=$work ANSIBLE_NOCOLOR=1
ansible() { /usr/bin/python3 root/usr/bin/ansible "$@" 2>/dev/null; }

inventory() { # the name of the group
  cat >"$1.json" <<EOF
{
  "_meta": {"hostvars": {
    "db": {"ansible_host": "192.0.2.10", "zone": "north"},
    "replica": {"zone": "south"}
  }},
  "all": {"children": ["$1"]},
  "$1": {"hosts": ["db", "replica"]}
}
EOF
  printf '#!/bin/sh\ncat %s/%s.json\n' "$work" "$1" >"$1.sh"
  chmod +x "$1.sh"
}

for group in tag_db db; do
  inventory "$group"
  for host in db replica; do
    echo "group $group, host $host: $(ansible "$host" -i "./$group.sh" -m debug -o \
      -a 'msg="{{ ansible_host | default(inventory_hostname) }} in {{ zone | default("no zone") }}"' | sed -n 's/.*"msg": "\(.*\)"}/\1/p')"
  done
done >got

cat >want <<'EOF'
group tag_db, host db: 192.0.2.10 in north
group tag_db, host replica: replica in south
group db, host db: 192.0.2.10 in north
group db, host replica: 192.0.2.10 in south
EOF
dpkg-deb --show ansible-core_*.deb
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
