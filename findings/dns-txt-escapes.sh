#!/usr/bin/env bash
# github.com/miekg/dns v1.1.73
#
# One would expect: the texts of dns.TXT.Txt are the texts of the record, since Pack and Unpack are there for the form on
#   the wire and String and NewRR for the form in zone files.
# Instead: Txt has the form of zone files without the quotes. A text that is assigned is unescaped when it is packed: a
#   backslash disappears, and \065 becomes A. A text that is read is escaped: é is \195\169, a line break \010.
#   Only ASCII without quotes and backslashes is the same on both sides.
# Why it matters: a value with a backslash (a path, a regular expression, JSON) that a program publishes arrives as
#   another one, without an error, and a comparison with what a resolver gives fails for every é. net.LookupTXT and
#   dig +short give other texts for the same record.
# Source: msg_helpers.go, packTxtString (escapes by dddToByte and nextByte) and unpackString (escapeByte).
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
go mod init finding >go.log 2>&1
go get github.com/miekg/dns@v1.1.73 >go.log 2>&1 || { cat go.log >&2; exit 2; }

cat >main.go <<'EOF'
package main

import (
	"context"
	"fmt"
	"net"

	"github.com/miekg/dns"
)

func main() {
	var text string
	dns.HandleFunc(".", func(w dns.ResponseWriter, request *dns.Msg) {
		reply := new(dns.Msg)
		reply.SetReply(request)
		reply.Answer = []dns.RR{&dns.TXT{Hdr: dns.RR_Header{Name: request.Question[0].Name, Rrtype: dns.TypeTXT, Class: dns.ClassINET}, Txt: []string{text}}}
		if err := w.WriteMsg(reply); err != nil {
			panic(err)
		}
	})
	listener, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	server := &dns.Server{PacketConn: listener}
	go server.ActivateAndServe()
	address := listener.LocalAddr().String()
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", address)
	}}
	for _, text = range []string{`plain; text`, `C:\temp`, `^\d+\.example$`, `{"a":"b\\c"}`, `x\065y`, "é", "two\nlines"} {
		asked, err := resolver.LookupTXT(context.Background(), "example.com.")
		if err != nil {
			panic(err)
		}
		// Go's own resolver gives the bytes as they are.
		query := new(dns.Msg)
		query.SetQuestion("example.com.", dns.TypeTXT)
		reply, err := dns.Exchange(query, address)
		if err != nil {
			panic(err)
		}
		fmt.Printf("assigned %q: on the wire %q, read %q\n", text, asked, reply.Answer[0].(*dns.TXT).Txt)
	}
}
EOF
go get . >go.log 2>&1 || { cat go.log >&2; exit 2; }
go run . >got 2>go.log || { cat go.log >&2; exit 2; }

cat >want <<'EOF'
assigned "plain; text": on the wire ["plain; text"], read ["plain; text"]
assigned "C:\\temp": on the wire ["C:temp"], read ["C:temp"]
assigned "^\\d+\\.example$": on the wire ["^d+.example$"], read ["^d+.example$"]
assigned "{\"a\":\"b\\\\c\"}": on the wire ["{\"a\":\"b\\c\"}"], read ["{\\\"a\\\":\\\"b\\\\c\\\"}"]
assigned "x\\065y": on the wire ["xAy"], read ["xAy"]
assigned "é": on the wire ["é"], read ["\\195\\169"]
assigned "two\nlines": on the wire ["two\nlines"], read ["two\\010lines"]
EOF
go list -m github.com/miekg/dns
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
