#!/usr/bin/env bash
# github.com/prometheus/alertmanager v0.35.0, its command amtool
#
# One would expect: `amtool check-config` finds a template that does not parse, since it is the check that CI runs
#   before a configuration is used.
# Instead: only the files below `templates:` are parsed. A text of a receiver with an action that is never
#   closed, or that names a template that does not exist, is a SUCCESS; the first alert for this receiver
#   finds the fault, and no notification is sent. `amtool template render` refuses the same text.
# Why it matters: the check is green and the alert is lost.
# Source: cli/check_config.go, CheckConfig: config.LoadFile, then template.FromGlobs(cfg.Templates).
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
GOBIN=$work go install github.com/prometheus/alertmanager/cmd/amtool@v0.35.0 >go.log 2>&1 || { cat go.log >&2; exit 2; }

config() { # prints a configuration whose receiver has the text as the title
  printf 'route: {receiver: phone}\nreceivers:\n- name: phone\n  pushover_configs:\n'
  printf -- "  - {user_key: a, token: b, title: '%s'}\n" "$1"
}
check() { # prints whether both commands accept the text
  config "$1" >config.yml
  checked=accepted rendered=accepted
  ./amtool check-config config.yml >check.log 2>&1 || checked=refused
  printf '{{ define "used" }}text{{ end }}\n' >texts.tmpl
  ./amtool template render --template.glob=texts.tmpl --template.text="$1" >render.log 2>&1 || rendered=refused
  printf '%s: check-config %s, template render %s\n' "$1" "$checked" "$rendered"
}
{
  check '{{ template "used" . }}'
  check '{{ .GroupLabels.alertname'
  check '{{ template "missing" . }}'
  check '{{ .GroupLabels | upper }}'
} >got
printf '{{ define "broken" }}{{ .GroupLabels.alertname\n' >broken.tmpl
config text >config.yml
echo 'templates: [broken.tmpl]' >>config.yml
if ./amtool check-config config.yml >check.log 2>&1; then echo 'the same in a file: accepted'; else echo 'the same in a file: refused'; fi >>got

cat >want <<'EOF'
{{ template "used" . }}: check-config accepted, template render accepted
{{ .GroupLabels.alertname: check-config accepted, template render refused
{{ template "missing" . }}: check-config accepted, template render refused
{{ .GroupLabels | upper }}: check-config accepted, template render refused
the same in a file: refused
EOF
go version -m amtool | awk '$1 == "mod" { print $2, $3 }'
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
