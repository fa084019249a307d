#!/usr/bin/env bash
# github.com/spf13/viper v1.21.0
#
# One would expect: the keys of a mapping in a config file arrive as they are written, as labels and environment variables
#   need it.
# Instead: every key becomes lower case, also those of nested mappings of the user. A key with dots is one key in
#   GetStringMapString, and nested mappings in AllSettings and in a file that viper writes.
# Why it matters: a program that passes labels, headers or variables from its config on passes other names on, and
#   writing a config changes it. Two keys that differ in case are one, and which value wins is not stated.
#   viper.NewWithOptions(viper.KeyDelimiter("\x00")) helps with the dots; nothing helps with the case.
# Source: util.go, insensitiviseMap; viper.go, AllSettings.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
go mod init finding >go.log 2>&1
go get github.com/spf13/viper@v1.21.0 >go.log 2>&1 || { cat go.log >&2; exit 2; }
cat >config.yaml <<'EOF'
labels:
  app.kubernetes.io/name: web
environment:
  HTTP_PROXY: http://proxy
  Path: /opt
EOF
cat >main.go <<'EOF'
package main

import (
	"fmt"
	"os"

	"github.com/spf13/viper"
)

func main() {
	v := viper.New()
	v.SetConfigFile("config.yaml")
	if err := v.ReadInConfig(); err != nil {
		panic(err)
	}
	fmt.Println("labels:", v.GetStringMapString("labels"))
	fmt.Println("environment:", v.GetStringMapString("environment"))
	fmt.Println("all:", v.AllSettings())
	if err := v.WriteConfigAs("written.yaml"); err != nil {
		panic(err)
	}
	text, err := os.ReadFile("written.yaml")
	if err != nil {
		panic(err)
	}
	fmt.Printf("written:\n%s", text)
}
EOF
go get . >go.log 2>&1 || { cat go.log >&2; exit 2; }
go run . >got 2>go.log || { cat go.log >&2; exit 2; }

cat >want <<'EOF'
labels: map[app.kubernetes.io/name:web]
environment: map[http_proxy:http://proxy path:/opt]
all: map[environment:map[http_proxy:http://proxy path:/opt] labels:map[app:map[kubernetes:map[io/name:web]]]]
written:
environment:
    http_proxy: http://proxy
    path: /opt
labels:
    app:
        kubernetes:
            io/name: web
EOF
go list -m github.com/spf13/viper
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
