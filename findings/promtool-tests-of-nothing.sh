#!/usr/bin/env bash
# promtool of Debian's prometheus; tried with 2.42.0+ds-5+deb12u1 (bookworm)
#
# One would expect: a test of an alert that no rule has fails, and a rule file that does not exist is an error.
# Instead: `alertname` is only a filter. A name that no rule has, with an empty `exp_alerts`, is a SUCCESS, and so is an
#   expression over a series that no rule records, without `exp_samples`. A pattern of `rule_files` that finds no
#   file is a warning, and the run ends with 0. A test without `eval_time` is asked at the time 0, where nothing
#   fires.
# Why it matters: tests that an alert stays silent go on being green after the alert was renamed or its file moved. Have
#   one test in each file in which the alert fires.
# Source: cmd/promtool/unittest.go, ruleUnitTest (resolveAndGlobFilepaths: "WARNING: no file match pattern") and
#   tgroup.test (got alerts are looked up by name).
set -euo pipefail
command -v apt-get >/dev/null || { echo 'needs apt-get (Debian)' >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get download prometheus >apt.log 2>&1 || { cat apt.log >&2; exit 2; }
dpkg-deb -x prometheus_*.deb root
promtool=root/usr/bin/promtool

cat >rules.yml <<'EOF'
groups:
- name: hosts
  rules:
  - alert: HostDown
    expr: up == 0
    for: 5m
EOF
run() { # NAME RULE-FILES TEST: prints the exit status and the warning
  printf 'rule_files: [%s]\ntests:\n- interval: 1m\n  input_series: [{series: up, values: 0x20}]\n  %s\n' "$2" "$3" >tests.yml
  status=0
  "$promtool" test rules tests.yml >test.log 2>&1 || status=$?
  echo "$1: exit status $status$(grep -o ' *WARNING.*' test.log || true)"
}
{
  run 'the alert fires, and none is expected' rules.yml 'alert_rule_test: [{eval_time: 10m, alertname: HostDown, exp_alerts: []}]'
  run 'another name' rules.yml 'alert_rule_test: [{eval_time: 10m, alertname: HostIsDown, exp_alerts: []}]'
  run 'no eval_time' rules.yml 'alert_rule_test: [{alertname: HostDown, exp_alerts: []}]'
  run 'a series that no rule records' rules.yml 'promql_expr_test: [{eval_time: 10m, expr: "hosts:down > 0", exp_samples: []}]'
  run 'no such file' 'alerts/*.yml' 'alert_rule_test: [{eval_time: 10m, alertname: HostDown, exp_alerts: []}]'
  run 'no such file, without a pattern' 'rule.yml' 'alert_rule_test: [{eval_time: 10m, alertname: HostDown, exp_alerts: []}]'
} >got

cat >want <<'EOF'
the alert fires, and none is expected: exit status 1
another name: exit status 0
no eval_time: exit status 0
a series that no rule records: exit status 0
no such file: exit status 0  WARNING: no file match pattern alerts/*.yml
no such file, without a pattern: exit status 0  WARNING: no file match pattern rule.yml
EOF
dpkg-deb --show prometheus_*.deb
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
