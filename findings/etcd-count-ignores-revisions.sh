#!/usr/bin/env bash
# go.etcd.io/etcd/client/v3 v3.7.3, with Debian's etcd 3.4.23 as the server
#
# One would expect: a Get with WithMinModRev counts the keys that changed since the revision, and
#   WithCountOnly gives it without sending them.
# Instead: Count has all keys of the range. The bounds of revisions are applied afterwards, to the keys
#   alone; with WithCountOnly there are none, so that the bounds do nothing.
# Why it matters: "did anything change since revision n?" asked with WithCountOnly is always answered with the size
#   of the range, and a loop that reads until it has `Count` keys never ends.
# Source: server/etcdserver/txn/range.go (3.4: etcdserver/apply.go, Range): pruneKVs after the range, Count from it.
set -euo pipefail
command -v etcd >/dev/null || { echo 'needs etcd (Debian package etcd-server)' >&2; exit 2; }
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; [ -z "$server" ] || wait "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
go mod init finding >go.log 2>&1
go get go.etcd.io/etcd/client/v3@v3.7.3 >go.log 2>&1 || { cat go.log >&2; exit 2; }

cat >main.go <<'EOF'
package main

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	client := must(clientv3.New(clientv3.Config{Endpoints: []string{"unix://client:1"}, DialTimeout: time.Minute}))
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for _, key := range []string{"job/1", "job/2", "job/3", "job/4"} {
		must(client.Put(ctx, key, "new"))
	}
	since := must(client.Put(ctx, "job/2", "changed")).Header.Revision
	bound := clientv3.WithMinModRev(since)
	reply := must(client.Get(ctx, "job/", clientv3.WithPrefix(), bound))
	fmt.Println("one of four keys changed: keys", len(reply.Kvs), "count", reply.Count, "more", reply.More)
	reply = must(client.Get(ctx, "job/", clientv3.WithPrefix(), bound, clientv3.WithCountOnly()))
	fmt.Println("count only:", reply.Count)
	reply = must(client.Get(ctx, "job/", clientv3.WithPrefix(), clientv3.WithMinModRev(since+1), clientv3.WithCountOnly()))
	fmt.Println("count only, none changed:", reply.Count)
}
EOF
go get . >go.log 2>&1 || { cat go.log >&2; exit 2; }
go build -o probe . 2>go.log || { cat go.log >&2; exit 2; }
etcd --data-dir data --listen-client-urls unix://client:1 --advertise-client-urls unix://client:1 \
  --listen-peer-urls unix://peer:1 --initial-advertise-peer-urls unix://peer:1 \
  --initial-cluster default=unix://peer:1 >etcd.log 2>&1 &
server=$!
./probe >got 2>go.log || { cat go.log etcd.log >&2; exit 2; }

cat >want <<'EOF'
one of four keys changed: keys 1 count 4 more false
count only: 4
count only, none changed: 4
EOF
go list -m go.etcd.io/etcd/client/v3
etcd --version | sed -n 1p
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
