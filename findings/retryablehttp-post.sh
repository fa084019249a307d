#!/usr/bin/env bash
# github.com/hashicorp/go-retryablehttp v0.7.8
#
# One would expect: a library that repeats HTTP requests repeats those that may be sent twice (GET, PUT, DELETE), as Go's own
#   client does, and gives the last reply to its caller.
# Instead: a POST is sent five times, too, if the answer is a 5xx or the connection ends before it. The caller gets no
#   reply and an error that has neither the status nor the server's text.
# Why it matters: each of the five may have had its effect before the error: five machines, five payments. The reason that
#   the server gave is lost. CheckRetry decides by request, and ErrorHandler = PassthroughErrorHandler keeps the reply.
# Source: client.go, DefaultRetryPolicy does not look at the method; Client.Do, "giving up after".
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
go mod init finding >go.log 2>&1
go get github.com/hashicorp/go-retryablehttp@v0.7.8 >go.log 2>&1 || { cat go.log >&2; exit 2; }
cat >main.go <<'EOF'
package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

func main() {
	got := 0
	hangUp := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got++
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			panic(err)
		}
		if hangUp {
			connection, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				panic(err)
			}
			connection.Close()
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
		io.WriteString(w, "the machine was made, its name was not saved")
	}))
	client := retryablehttp.NewClient()
	client.Logger, client.RetryWaitMin, client.RetryWaitMax = nil, time.Millisecond, time.Millisecond
	post := func(what string) {
		got = 0
		reply, err := client.Post(server.URL, "text/plain", strings.NewReader("create"))
		text := strings.ReplaceAll(strings.ReplaceAll(fmt.Sprint(err), server.URL, "URL"), strings.TrimPrefix(server.URL, "http://"), "HOST")
		fmt.Printf("%s: %d requests, a reply: %t\n  %.60s\n", what, got, reply != nil, text)
	}
	post("status 500")
	hangUp = true
	post("no reply")
	hangUp, client.ErrorHandler = false, retryablehttp.PassthroughErrorHandler
	post("status 500 with PassthroughErrorHandler")
}
EOF
go get . >go.log 2>&1 || { cat go.log >&2; exit 2; }
go run . >got 2>go.log || { cat go.log >&2; exit 2; }

cat >want <<'EOF'
status 500: 5 requests, a reply: false
  POST URL giving up after 5 attempt(s)
no reply: 5 requests, a reply: false
  POST URL giving up after 5 attempt(s): Post "URL": EOF
status 500 with PassthroughErrorHandler: 5 requests, a reply: true
  <nil>
EOF
go list -m github.com/hashicorp/go-retryablehttp
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
