#!/usr/bin/env bash
# golang.org/x/crypto v0.58.0, package ssh/knownhosts, and github.com/skeema/knownhosts v1.3.1, which go-git uses;
#   ssh of Debian beside them, tried with 1:9.2p1-2+deb12u10 (bookworm)
#
# One would expect: a known_hosts file with which `ssh -p 2222 host` works is enough for a Go program that connects to
#   the same port.
# Instead: if ssh finds no line for [host]:2222 it looks for one without a port, and accepts its key. The Go packages
#   say "key is unknown". Their patterns differ, too: "*" without a port is port 22 in x/crypto, while skeema's takes
#   such a pattern for every port; and a port that is a star is a pattern for ssh alone.
# Why it matters: the operator checks with ssh or git, which work, and the program with the same file does not. Write
#   [host]:2222, as `ssh-keyscan -p 2222 host` does.
# Source: sshconnect.c, check_host_key: "checking without port identifier"; knownhosts.go, hostPattern.match
#   (port is compared, 22 if there is none); skeema: knownhosts.go, NewDB (isWild).
set -euo pipefail
command -v ssh >/dev/null || { echo 'needs ssh (Debian package openssh-client)' >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
go mod init finding >go.log 2>&1
go get golang.org/x/crypto@v0.58.0 github.com/skeema/knownhosts@v1.3.1 >go.log 2>&1 || { cat go.log >&2; exit 2; }

cat >main.go <<'EOF'
package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"

	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// serve answers each connection with a handshake that ends when the client has accepted the host's key.
func serve(listener net.Listener, key ssh.Signer) {
	config := &ssh.ServerConfig{PublicKeyCallback: func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) {
		return nil, errors.New("none")
	}}
	config.AddHostKey(key)
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer connection.Close()
			ssh.NewServerConn(connection, config)
		}()
	}
}

func main() {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	signer := must(ssh.NewSignerFromKey(private))
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	go serve(listener, signer)
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	key := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey())))
	for _, host := range []string{"[localhost]:PORT", "localhost", "[localhost]:22", "local*", "[local*]:PORT", "[localhost]:*", "hashed localhost"} {
		name := strings.ReplaceAll(host, "PORT", port)
		if host == "hashed localhost" {
			name = xknownhosts.HashHostname("localhost")
		}
		must(0, os.WriteFile("known_hosts", []byte(name+" "+key+"\n"), 0o600))
		// No key of a user is offered, so a client that accepts the host ends with "Permission denied".
		out, _ := exec.Command("ssh", "-F", "none", "-p", port, "-o", "UserKnownHostsFile=known_hosts", "-o", "GlobalKnownHostsFile=none",
			"-o", "StrictHostKeyChecking=yes", "-o", "BatchMode=yes", "-o", "IdentityFile=none", "-o", "IdentityAgent=none", "localhost", "true").CombinedOutput()
		verdict := "unknown"
		if strings.Contains(string(out), "Permission denied") {
			verdict = "accepted"
		}
		fmt.Printf("%s: ssh %s, x/crypto %s, skeema %s\n", host, verdict,
			check(must(xknownhosts.New("known_hosts")), port, listener, signer), check(must(knownhosts.NewDB("known_hosts")).HostKeyCallback(), port, listener, signer))
	}
}

func check(accepts ssh.HostKeyCallback, port string, listener net.Listener, signer ssh.Signer) string {
	if err := accepts("localhost:"+port, listener.Addr(), signer.PublicKey()); err != nil {
		return strings.TrimPrefix(err.Error(), "knownhosts: key is ")
	}
	return "accepted"
}
EOF
go get . >go.log 2>&1 || { cat go.log >&2; exit 2; }
go run . >got 2>go.log || { cat go.log >&2; exit 2; }

cat >want <<'EOF'
[localhost]:PORT: ssh accepted, x/crypto accepted, skeema accepted
localhost: ssh accepted, x/crypto unknown, skeema unknown
[localhost]:22: ssh unknown, x/crypto unknown, skeema unknown
local*: ssh accepted, x/crypto unknown, skeema accepted
[local*]:PORT: ssh accepted, x/crypto accepted, skeema accepted
[localhost]:*: ssh accepted, x/crypto unknown, skeema unknown
hashed localhost: ssh accepted, x/crypto unknown, skeema unknown
EOF
go list -m golang.org/x/crypto github.com/skeema/knownhosts
ssh -V 2>&1
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
