#!/usr/bin/env bash
# qemu-img of Debian's qemu-utils; tried with 1:7.2+dfsg-7+deb12u18+b3 (bookworm)
#
# One would expect: a second internal snapshot of an image with the name of the first is refused, as libvirt, LVM
#   and ZFS do.
# Instead: it is made, with exit status 0 and no warning. The name then means the *older* one: going back to
#   the snapshot restores the older state, and deleting it deletes the older.
# Why it matters: a nightly job that makes a snapshot under a fixed name and believes in having last night's
#   state goes back to the state of the first night. Delete first, or look the name up.
# Source: qemu-img.c, img_snapshot; block/qcow2-snapshot.c, qcow2_snapshot_create makes a new id and does not look
#   at names; block/snapshot.c, bdrv_snapshot_find returns the first match.
set -euo pipefail
command -v apt-get >/dev/null || { echo 'needs apt-get (Debian)' >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get download qemu-utils liburing2 libaio1 >apt.log 2>&1 || { cat apt.log >&2; exit 2; }
for package in ./*.deb; do dpkg-deb -x "$package" root; done
libraries=$(find "$work/root" -type f -name '*.so*' -printf '%h\n' | sort -u | tr '\n' ':')
img() { LD_LIBRARY_PATH=$libraries root/usr/bin/qemu-img "$@"; }
io() { LD_LIBRARY_PATH=$libraries root/usr/bin/qemu-io "$@"; }
holds() { # prints with which of the bytes 1, 2 and 3 the image begins
  for byte in 1 2 3; do
    io -c "read -P $byte 0 64k" "$1" >io.log 2>&1
    grep -q 'Pattern verification failed' io.log || echo "$byte"
  done
}

{
  img create -q -f qcow2 disk 1M
  io -c 'write -q -P 1 0 64k' disk
  img snapshot -c nightly disk
  io -c 'write -q -P 2 0 64k' disk
  status=0
  img snapshot -c nightly disk || status=$?
  echo "second snapshot of the same name: exit status $status"
  io -c 'write -q -P 3 0 64k' disk
  echo "names: $(img snapshot -l disk | awk '$2 == "nightly"' | wc -l)"
  img snapshot -a nightly disk
  echo "state after going back: $(holds disk)"
  img snapshot -d nightly disk
  img snapshot -a nightly disk
  echo "state after deleting one and going back: $(holds disk)"
} >got

cat >want <<'EOF'
second snapshot of the same name: exit status 0
names: 2
state after going back: 1
state after deleting one and going back: 2
EOF
dpkg-deb --show qemu-utils_*.deb
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
