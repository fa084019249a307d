#!/usr/bin/env bash
# gopkg.in/yaml.v3 v3.0.1; go.yaml.in/yaml/v3 v3.0.6 beside it
#
# One would expect: yaml.Unmarshal gives back every text that yaml.Marshal wrote.
# Instead: a text of several lines is written as a block, and the block of a text that begins with a line break
#   lacks this line break: it comes back without, and no function returns an error. A text whose first line is a tab
#   is written as a block that the same library cannot read. go.yaml.in/yaml/v3 has mended the first, not the second.
# Why it matters: the text of a script, a key or a note changes when a program reads a file and writes it
#   again, and only texts with an empty first line do.
# Source: emitterc.go, yaml_emitter_write_literal_scalar: nothing ends the line of the indicator but the first line
#   break of the text itself, or the indentation before a first line that is not empty. v3.0.6 of go.yaml.in calls
#   yaml_emitter_process_line_comment_linebreak there.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
go mod init finding >go.log 2>&1
go get gopkg.in/yaml.v3@v3.0.1 go.yaml.in/yaml/v3@v3.0.6 >go.log 2>&1 || { cat go.log >&2; exit 2; }

cat >main.go <<'EOF'
package main

import (
	"fmt"

	next "go.yaml.in/yaml/v3"
	yaml "gopkg.in/yaml.v3"
)

// verdict writes a text with one library and reads it with the same.
func verdict(text string, marshal func(any) ([]byte, error), unmarshal func([]byte, any) error) string {
	data, err := marshal(map[string]string{"key": text})
	if err != nil {
		return err.Error()
	}
	var read map[string]string
	if err := unmarshal(data, &read); err != nil {
		return fmt.Sprintf("%q: %v", data, err)
	}
	if read["key"] != text {
		return fmt.Sprintf("%q: %q", data, read["key"])
	}
	return "the same"
}

func main() {
	for _, text := range []string{"a\nb\n", " a\nb\n", "\na\n", "\n\na\n", "\n a\n", "\n#!/bin/sh\n", "\n", "\t\na\n"} {
		fmt.Printf("%q\n  gopkg.in:   %s\n  go.yaml.in: %s\n", text,
			verdict(text, yaml.Marshal, func(data []byte, into any) error { return yaml.Unmarshal(data, into) }),
			verdict(text, next.Marshal, func(data []byte, into any) error { return next.Unmarshal(data, into) }))
	}
}
EOF
go get . >go.log 2>&1 || { cat go.log >&2; exit 2; }
go run . >got 2>go.log || { cat go.log >&2; exit 2; }

cat >want <<'EOF'
"a\nb\n"
  gopkg.in:   the same
  go.yaml.in: the same
" a\nb\n"
  gopkg.in:   the same
  go.yaml.in: the same
"\na\n"
  gopkg.in:   "key: |4\n    a\n": "a\n"
  go.yaml.in: the same
"\n\na\n"
  gopkg.in:   "key: |4\n\n    a\n": "\na\n"
  go.yaml.in: the same
"\n a\n"
  gopkg.in:   "key: |4\n     a\n": " a\n"
  go.yaml.in: the same
"\n#!/bin/sh\n"
  gopkg.in:   "key: |4\n    #!/bin/sh\n": "#!/bin/sh\n"
  go.yaml.in: the same
"\n"
  gopkg.in:   "key: |4+\n": ""
  go.yaml.in: the same
"\t\na\n"
  gopkg.in:   "key: |\n    \t\n    a\n": yaml: line 2: found a tab character where an indentation space is expected
  go.yaml.in: "key: |\n    \t\n    a\n": yaml: line 2: found a tab character where an indentation space is expected
EOF
go list -m gopkg.in/yaml.v3 go.yaml.in/yaml/v3
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
