#!/usr/bin/env bash
# dario.cat/mergo v1.0.2 (formerly github.com/imdario/mergo)
#
# One would expect: mergo.Merge with WithOverride lets what the source says win over what the target has.
# Instead: false, 0, "" and empty lists of the source win nothing in a struct: they count as not said, also behind a
#   pointer. In a map of texts an empty text does win. With WithOverwriteWithEmptyValue a source that does not mention a
#   field empties it, and a map is replaced whole: neither option keeps what is not mentioned and takes a false that is.
# Why it matters: a layer of configuration can switch something on and never off: `protection: false` above
#   `protection: true` has no effect and no error. The option WithoutDereference lets a pointer to false win.
# Source: merge.go, deepMerge and isEmptyValue.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
go mod init finding >go.log 2>&1
go get dario.cat/mergo@v1.0.2 >go.log 2>&1 || { cat go.log >&2; exit 2; }
cat >main.go <<'EOF'
package main

import (
	"fmt"

	"dario.cat/mergo"
)

type settings struct {
	Protection bool
	Cores      int
	Tags       []string
	Labels     map[string]string
	Backup     *bool
}

func main() {
	for _, c := range []struct {
		name    string
		options []func(*mergo.Config)
	}{
		{"WithOverride", []func(*mergo.Config){mergo.WithOverride}},
		{"WithOverride, WithoutDereference", []func(*mergo.Config){mergo.WithOverride, mergo.WithoutDereference}},
		{"WithOverwriteWithEmptyValue", []func(*mergo.Config){mergo.WithOverwriteWithEmptyValue}},
	} {
		yes, no := true, false
		target := settings{true, 4, []string{"prod"}, map[string]string{"team": "web", "site": "a"}, &yes}
		source := settings{Protection: false, Tags: []string{}, Labels: map[string]string{"team": ""}, Backup: &no}
		if err := mergo.Merge(&target, source, c.options...); err != nil {
			panic(err)
		}
		fmt.Printf("%s: Protection %t, Cores %d, Tags %q, Labels %q, *Backup %t\n", c.name, target.Protection, target.Cores, target.Tags, target.Labels, *target.Backup)
	}
}
EOF
go get . >go.log 2>&1 || { cat go.log >&2; exit 2; }
go run . >got 2>go.log || { cat go.log >&2; exit 2; }

cat >want <<'EOF'
WithOverride: Protection true, Cores 4, Tags ["prod"], Labels map["site":"a" "team":""], *Backup true
WithOverride, WithoutDereference: Protection true, Cores 4, Tags ["prod"], Labels map["site":"a" "team":""], *Backup false
WithOverwriteWithEmptyValue: Protection false, Cores 0, Tags [], Labels map["team":""], *Backup false
EOF
go list -m dario.cat/mergo
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
