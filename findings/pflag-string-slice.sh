#!/usr/bin/env bash
# github.com/spf13/pflag v1.0.10 (cobra)
#
# One would expect: a flag of the kind StringSlice takes a text as one item, or splits it at commas, each text alike.
# Instead: the value is one record of CSV. A quotation mark within an item is an error, quotation marks around an item
#   disappear, a line break ends the record and the rest is lost, and an empty value is no item. StringToString has a
#   rule of its own: with one equals sign the text is one item with its commas, with two it is CSV.
# Why it matters: `--label team="web"` from a generated command or a pasted JSON is refused, and an address or an
#   expression with a comma becomes two. StringArray takes each text as it is.
# Source: string_slice.go, readAsCSV; string_to_string.go, Set (strings.Count(val, "=")).
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
go mod init finding >go.log 2>&1
go get github.com/spf13/pflag@v1.0.10 >go.log 2>&1 || { cat go.log >&2; exit 2; }
cat >main.go <<'EOF'
package main

import (
	"fmt"
	"io"

	"github.com/spf13/pflag"
)

func main() {
	for _, text := range []string{`a,b`, `"a,b"`, `say "a"`, "a\nb", ``} {
		flags := pflag.NewFlagSet("finding", pflag.ContinueOnError)
		flags.SetOutput(io.Discard)
		slice := flags.StringSlice("slice", []string{"default"}, "")
		array := flags.StringArray("array", nil, "")
		failed := flags.Parse([]string{"--slice", text}) != nil
		if err := flags.Parse([]string{"--array", text}); err != nil {
			panic(err)
		}
		fmt.Printf("%q: slice %q, refused %t; array %q\n", text, *slice, failed, *array)
	}
	for _, text := range []string{`a=1,2`, `a=1,b=2`, `a=1,2,b=3`} {
		flags := pflag.NewFlagSet("finding", pflag.ContinueOnError)
		flags.SetOutput(io.Discard)
		pairs := flags.StringToString("pairs", nil, "")
		failed := flags.Parse([]string{"--pairs", text}) != nil
		fmt.Printf("%q: pairs %q, refused %t\n", text, *pairs, failed)
	}
}
EOF
go get . >go.log 2>&1 || { cat go.log >&2; exit 2; }
go run . >got 2>go.log || { cat go.log >&2; exit 2; }

cat >want <<'EOF'
"a,b": slice ["a" "b"], refused false; array ["a,b"]
"\"a,b\"": slice ["a,b"], refused false; array ["\"a,b\""]
"say \"a\"": slice ["default"], refused true; array ["say \"a\""]
"a\nb": slice ["a"], refused false; array ["a\nb"]
"": slice [], refused false; array [""]
"a=1,2": pairs map["a":"1,2"], refused false
"a=1,b=2": pairs map["a":"1" "b":"2"], refused false
"a=1,2,b=3": pairs map[], refused true
EOF
go list -m github.com/spf13/pflag
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
