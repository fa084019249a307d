#!/usr/bin/env bash
# go.etcd.io/etcd/client/v3 v3.7.3, package concurrency, with Debian's etcd 3.4.23 as the server
#
# One would expect: of two Mutex values with one prefix only one is locked at a time, and Unlock releases the lock of
#   its own value.
# Instead: the key of a lock is the prefix and the lease of the session. Two Mutex values of one session have one
#   key: both are locked, and the Unlock of either releases the lock of both, so that another process gets it
#   while the first still works. Two Election values of one session are both elected, the leader is the later, and
#   Resign of either ends both. Prefixes are folders, too: a lock "jobs" waits for a lock "jobs/backup" that is
#   held, but not the other way around.
# Why it matters: a program has one session and many goroutines as a rule, and the lock does not exclude
#   them from each other. Use a session for each holder, or a sync.Mutex within the process.
# Source: client/v3/concurrency/mutex.go, tryAcquire (myKey from prefix and lease; a key that exists is read and
#   counts as acquired) and waitDeletes; election.go, Campaign.
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
	"go.etcd.io/etcd/client/v3/concurrency"
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
	ours, theirs := must(concurrency.NewSession(client)), must(concurrency.NewSession(client))

	first, second := concurrency.NewMutex(ours, "lock"), concurrency.NewMutex(ours, "lock")
	other := concurrency.NewMutex(theirs, "lock")
	fmt.Println("first:", first.TryLock(ctx))
	fmt.Println("second of the same session:", second.TryLock(ctx))
	fmt.Println("other session:", other.TryLock(ctx))
	fmt.Println("second unlocks:", second.Unlock(ctx))
	fmt.Println("other session, while the first is locked:", other.TryLock(ctx))
	fmt.Println("first unlocks:", first.Unlock(ctx))

	one, two := concurrency.NewElection(ours, "election"), concurrency.NewElection(ours, "election")
	fmt.Println("elected:", one.Campaign(ctx, "one"), two.Campaign(ctx, "two"))
	fmt.Printf("leader: %s\n", must(one.Leader(ctx)).Kvs[0].Value)
	fmt.Println("two resigns:", two.Resign(ctx))
	fmt.Println("one proclaims:", one.Proclaim(ctx, "one"))

	outer, inner := concurrency.NewMutex(ours, "jobs"), concurrency.NewMutex(theirs, "jobs/backup")
	fmt.Println("jobs, then jobs/backup:", outer.TryLock(ctx), inner.TryLock(ctx))
	fmt.Println("unlocked:", outer.Unlock(ctx), inner.Unlock(ctx))
	fmt.Println("jobs/backup, then jobs:", inner.TryLock(ctx), outer.TryLock(ctx))
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
first: <nil>
second of the same session: <nil>
other session: mutex: Locked by another session
second unlocks: <nil>
other session, while the first is locked: <nil>
first unlocks: <nil>
elected: <nil> <nil>
leader: two
two resigns: <nil>
one proclaims: election: not leader
jobs, then jobs/backup: <nil> <nil>
unlocked: <nil> <nil>
jobs/backup, then jobs: <nil> mutex: Locked by another session
EOF
go list -m go.etcd.io/etcd/client/v3
etcd --version | sed -n 1p
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
