#!/usr/bin/env bash
# docker-registry (distribution) of Debian; tried with 2.8.2+ds1-1 (bookworm)
#
# One would expect: the digest in the reply to `HEAD /v2/NAME/manifests/TAG` is the digest of what was pushed, and a
#   manifest is found by its digest, or by a tag, also without an Accept header, or with `*/*`, as of curl.
# Instead: of a tag with Docker's media types, the reply without a fitting Accept header is another document (signed
#   schema 1), made at that moment, whose digest is not found a moment later; of a list it is that of its linux/amd64 image. A manifest
#   or index with OCI's media types is 404 MANIFEST_UNKNOWN, also by its digest.
# Why it matters: who resolves a tag by a plain HEAD pins a digest that cannot be pulled and is not what others verify, and
#   a mirror of OCI images seems empty. Send all four media types.
# Source: distribution 2.8, registry/handlers/manifests.go, GetManifest.
set -euo pipefail
command -v apt-get >/dev/null || { echo 'needs apt-get (Debian)' >&2; exit 2; }
command -v python3 >/dev/null || { echo 'needs python3' >&2; exit 2; }
work=$(mktemp -d)
registry=
trap '[ -z "$registry" ] || kill "$registry" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work"
apt-get download docker-registry >apt.log 2>&1 || { cat apt.log >&2; exit 2; }
for package in ./*.deb; do dpkg-deb --show "$package"; dpkg-deb -x "$package" root; done

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >config.yml <<EOF
version: 0.1
log: {level: error}
storage: {filesystem: {rootdirectory: $work/data}}
http: {addr: "127.0.0.1:$port"}
EOF
root/usr/bin/docker-registry serve config.yml >registry.log 2>&1 &
registry=$!

cat >main.py <<'EOF'
import gzip
import hashlib
import json
import sys
import time
import urllib.error
import urllib.request

base = 'http://127.0.0.1:' + sys.argv[1]


def call(method, path, body=None, **headers):
    request = urllib.request.Request(path if path.startswith('http') else base + path, body, headers, method=method)
    try:
        with urllib.request.urlopen(request) as reply:
            return reply.status, reply.headers, reply.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def digest(body):
    return 'sha256:' + hashlib.sha256(body).hexdigest()


for _ in range(100):
    try:
        call('GET', '/v2/')
        break
    except urllib.error.URLError:
        time.sleep(0.1)
else:
    sys.exit(2)


def blob(body, kind):
    _, headers, _ = call('POST', '/v2/web/blobs/uploads/', b'')
    status, _, _ = call('PUT', headers['Location'] + '&digest=' + digest(body), body, **{'Content-Type': 'application/octet-stream'})
    assert status == 201, status
    return {'mediaType': kind, 'digest': digest(body), 'size': len(body)}


def push(tag, kind, **document):
    body = json.dumps({'schemaVersion': 2, 'mediaType': kind, **document}).encode()
    status, _, _ = call('PUT', '/v2/web/manifests/' + tag, body, **{'Content-Type': kind})
    assert status == 201, status
    return {'mediaType': kind, 'digest': digest(body), 'size': len(body), 'platform': {'os': 'linux', 'architecture': 'amd64'}}


OCI, DOCKER = 'application/vnd.oci.image.', 'application/vnd.docker.'
layer = b'\0' * 1024  # an empty tar archive
config = json.dumps({'architecture': 'amd64', 'os': 'linux', 'config': {}, 'history': [{'created_by': 'a'}],
                     'rootfs': {'type': 'layers', 'diff_ids': [digest(layer)]}}).encode()
packed = gzip.compress(layer, mtime=0)
pushed = {
    'oci': push('oci', OCI + 'manifest.v1+json', config=blob(config, OCI + 'config.v1+json'),
                layers=[blob(packed, OCI + 'layer.v1.tar+gzip')]),
    'docker': push('docker', DOCKER + 'distribution.manifest.v2+json', config=blob(config, DOCKER + 'container.image.v1+json'),
                   layers=[blob(packed, DOCKER + 'image.rootfs.diff.tar.gzip')]),
}
pushed['index'] = push('index', OCI + 'index.v1+json', manifests=[pushed['oci']])
pushed['list'] = push('list', DOCKER + 'distribution.manifest.list.v2+json', manifests=[pushed['docker']])
every = ', '.join(document['mediaType'] for document in pushed.values())
for tag, document in pushed.items():
    for by, name in ('tag', tag), ('digest', document['digest']):
        for accepts, headers in ('nothing', {}), ('anything', {'Accept': '*/*'}), ('all four types', {'Accept': every}):
            status, reply, _ = call('HEAD', '/v2/web/manifests/' + name, **headers)
            told = reply['Docker-Content-Digest']
            if status != 200:
                what = 'not found'
            elif told == document['digest']:
                what = 'the digest that was pushed'
            else:
                kind = reply['Content-Type'].removeprefix(DOCKER + 'distribution.')
                status, _, _ = call('GET', '/v2/web/manifests/' + told, Accept=every)
                what = f'another digest, of a {kind}, by which GET answers {status}'
            print(f'{tag} by {by}, accepting {accepts}: {what}')
EOF
python3 main.py "$port" >got 2>run.log || { cat run.log registry.log >&2; exit 2; }

cat >want <<'EOF'
oci by tag, accepting nothing: not found
oci by tag, accepting anything: not found
oci by tag, accepting all four types: the digest that was pushed
oci by digest, accepting nothing: not found
oci by digest, accepting anything: not found
oci by digest, accepting all four types: the digest that was pushed
docker by tag, accepting nothing: another digest, of a manifest.v1+prettyjws, by which GET answers 404
docker by tag, accepting anything: another digest, of a manifest.v1+prettyjws, by which GET answers 404
docker by tag, accepting all four types: the digest that was pushed
docker by digest, accepting nothing: the digest that was pushed
docker by digest, accepting anything: the digest that was pushed
docker by digest, accepting all four types: the digest that was pushed
index by tag, accepting nothing: not found
index by tag, accepting anything: not found
index by tag, accepting all four types: the digest that was pushed
index by digest, accepting nothing: not found
index by digest, accepting anything: not found
index by digest, accepting all four types: the digest that was pushed
list by tag, accepting nothing: another digest, of a manifest.v1+prettyjws, by which GET answers 404
list by tag, accepting anything: another digest, of a manifest.v1+prettyjws, by which GET answers 404
list by tag, accepting all four types: the digest that was pushed
list by digest, accepting nothing: the digest that was pushed
list by digest, accepting anything: the digest that was pushed
list by digest, accepting all four types: the digest that was pushed
EOF
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
