#!/usr/bin/env bash
# go.etcd.io/etcd/client/v3 v3.7.3, against Debian's etcd-server (tried with 3.4.23) and go.etcd.io/etcd/server/v3 v3.7.3
#
# One would expect: a client with a user name and a password asks for another token when a request is refused because its
#   token has ended, also with an older server; its documentation promises work with every server of version 3.
# Instead: the client sends the old token with the request for a new one. A server of release 3.4 refuses this request for
#   the same reason, and the client repeats it until the context ends: no request of this client succeeds again. A new
#   client with the same password works, and so does this one with a newer server.
# Why it matters: tokens end after five minutes without use (a cut network, a paused machine) and when a password
#   changes. The program then has to be restarted, and its errors say only that the deadline was exceeded.
# Source: client.go, getToken and dial (the token is a credential of the connection); retry_interceptor.go; etcd 3.4,
#   etcdserver/v3_server.go, processInternalRaftRequestOnce asks for the token of every request.
set -euo pipefail
command -v etcd >/dev/null || { echo 'needs etcd (Debian package etcd-server)' >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
mkdir server client
(
  cd server
  go mod init server
  cat >main.go <<'EOF'
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
EOF
  go get go.etcd.io/etcd/server/v3@v3.7.3 && go mod tidy && go build -o ../etcd-3.7 .
) >go.log 2>&1 || { cat go.log >&2; exit 2; }

cd client
go mod init finding >go.log 2>&1
go get go.etcd.io/etcd/client/v3@v3.7.3 >go.log 2>&1 || { cat go.log >&2; exit 2; }
cat >main.go <<'EOF'
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

func address() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

func main() {
	at, peer := address(), address()
	server := exec.Command(os.Args[1], "--data-dir", os.Args[2], "--listen-client-urls", at, "--advertise-client-urls", at, "--listen-peer-urls", peer,
		"--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer, "--auth-token-ttl", "2")
	if err := server.Start(); err != nil {
		panic(err)
	}
	defer server.Process.Kill()
	ctx := context.Background()
	connect := func(password string) *clientv3.Client {
		config := clientv3.Config{Endpoints: []string{at}, DialTimeout: time.Minute, Logger: zap.NewNop()}
		if password != "" {
			config.Username, config.Password = "root", password
		}
		c, err := clientv3.New(config)
		if err != nil {
			panic(err)
		}
		return c
	}
	get := func(who string, c *clientv3.Client) {
		limited, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		_, err := c.Get(limited, "key")
		switch {
		case err == nil:
			fmt.Printf("  %s: an answer\n", who)
		case errors.Is(err, context.DeadlineExceeded):
			fmt.Printf("  %s: none in five seconds\n", who)
		default:
			fmt.Printf("  %s: %v\n", who, err)
		}
	}
	setup := connect("")
	for {
		if _, err := setup.Get(ctx, "key"); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	_, err1 := setup.UserAdd(ctx, "root", "secret")
	_, err2 := setup.RoleAdd(ctx, "root")
	_, err3 := setup.UserGrantRole(ctx, "root", "root")
	_, err4 := setup.AuthEnable(ctx)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		panic(err)
	}
	client := connect("secret")
	get("a client", client)
	time.Sleep(5 * time.Second) // the token lives for two seconds
	get("after its token has ended", client)
	get("and once more", client)
	get("a new client", connect("secret"))
}
EOF
{ go get . && go build -o ../finding .; } >go.log 2>&1 || { cat go.log >&2; exit 2; }
cd ..
{
  echo 'server of Debian, release 3.4:'
  ./finding etcd "$work/data-3.4" 2>run.log || { cat run.log >&2; exit 2; }
  echo 'server 3.7.3:'
  ./finding ./etcd-3.7 "$work/data-3.7" 2>run.log || { cat run.log >&2; exit 2; }
} >got

cat >want <<'EOF'
server of Debian, release 3.4:
  a client: an answer
  after its token has ended: none in five seconds
  and once more: none in five seconds
  a new client: an answer
server 3.7.3:
  a client: an answer
  after its token has ended: an answer
  and once more: an answer
  a new client: an answer
EOF
(cd client && go list -m go.etcd.io/etcd/client/v3)
etcd --version | sed -n 1p
./etcd-3.7 --version | sed -n 1p
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
