# shellcheck shell=bash
# What .ci/run and .ci/long share. They source it from the root of the repository.
set -euo pipefail
export GOTOOLCHAIN=local CGO_ENABLED=1
export GORACE=atexit_sleep_ms=0 # a program with the race detector otherwise sleeps for a second when it ends, and tests start thousands
work=$(mktemp -d)
trap 'end_lanes; chmod -R u+w "$work" && rm -rf "$work"' EXIT

# step begins a step, after it has noted how long the one before took.
step() {
  [ -z "${step:-}" ] || printf '%7ds  %s\n' $((SECONDS - begun)) "$step" >> "$work/steps"
  step=$* begun=$SECONDS
  printf '\n== %s (%ss)\n' "$*" "$SECONDS"
}

# lane runs a command with its steps beside other lanes. What it prints is in a file until join shows it. The lane is a process group of its own, so that all of it ends
# with the run.
lanes=()
lane() {
  set -m
  ( set +m
    step=''
    "$1"
    step "$1 done" ) < /dev/null > "$work/$1.lane" 2>&1 &
  lanes+=("$! $1")
  set +m
}

# join waits for all lanes and shows what each printed. It fails if one failed.
join() {
  local pid name failed=''
  for name in "${lanes[@]}"; do
    read -r pid name <<< "$name"
    wait "$pid" || failed+=" $name"
    cat "$work/$name.lane"
  done
  [ -z "$failed" ] || { printf '\nfailed lanes:%s\n' "$failed"; return 1; }
}

# end_lanes ends the lanes that still run.
end_lanes() {
  local name
  for name in "${lanes[@]}"; do kill -- "-${name% *}" 2> /dev/null || true; done
  wait
}

# times prints how long each step took, and the packages that took longest in each test run. It fails on no time: .ci/long has a budget of processor time.
# awk reads all lines: head ends early, and sort then fails with SIGPIPE now and then.
times() {
  printf 'seconds of each step:\n'
  cat "$work/steps"
  printf 'seconds of the packages that took longest, by test run:\n'
  for log in "$work"/*.json; do
    { grep -vE '"Test":' "$log" || true; } | sed -n 's/.*"Action":"pass","Package":"\([^"]*\)","Elapsed":\([0-9.]*\).*/\2 \1/p' | sort -rn |
      awk -v run="$(basename "$log" .json)" 'NR <= 12 {printf "%7d  %-14s %s\n", $1, run, $2}'
  done
}

# install_tools installs what the integration tests run. Debian has age, and no sops.
install_tools() {
  local package missing=()
  if ! command -v sops > /dev/null; then
    mkdir -p "$work/bin"
    go build -C tools/sops -o "$work/bin/sops" github.com/getsops/sops/v3/cmd/sops
    PATH=$work/bin:$PATH
  fi
  [ "$(id -u)" = 0 ] || return 0
  command -v npm > /dev/null || missing+=(npm)
  for package in age ansible-core etcd-server git gnupg rpm openssh-server openssh-client iproute2 postgresql redis-server prometheus systemd systemd-container mmdebstrap strace chromium fonts-dejavu-core openssl skopeo umoci nix-bin; do
    dpkg -s "$package" > /dev/null 2>&1 || missing+=("$package")
  done
  if [ ${#missing[@]} != 0 ]; then
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}" > /dev/null
  fi
  npm ci --prefix test/browser --ignore-scripts --no-audit --no-fund --loglevel=error > /dev/null
}

# count prints how many tests of a -json run passed and failed, and fails on a skipped one. Only the tests on the corpus of public
# commits may be skipped, where the corpus beside the checkout is absent.
count() {
  local passed failed skipped
  passed=$(grep -c '"Action":"pass".*"Test":' "$1" || true)
  failed=$(grep -c '"Action":"fail".*"Test":' "$1" || true)
  skipped=$(grep '"Action":"skip".*"Test":' "$1" | sed 's/.*"Package":"\([^"]*\)","Test":"\([^"]*\)".*/skipped: \1 \2/' || true)
  echo "$passed passed, $failed failed, $(grep -c . <<< "$skipped" || true) skipped"
  [ -z "$skipped" ] && return 0
  echo "$skipped"
  if [ -d ../shared ] || grep -vE ' Test(Corpus[A-Za-z]*|SignLooksLikeGitsign)$' <<< "$skipped"; then
    echo 'a skipped test is a failure here'
    return 1
  fi
}

# failures prints what the failed tests of a -json run wrote, and then their names. Of each it prints the lines that the test itself wrote, since the logs of
# programs come after them and are long, and then the last 80 lines.
failures() {
  local name failed output=$1.output
  grep '"Action":"build-output"' "$1" | text | tail -100 || true
  failed=$(sed -n 's/.*"Action":"fail","Package":"\([^"]*\)".*"Test":"\([^"]*\)".*/\1 \2/p' "$1" | sort -u)
  grep -A 40 -E '"Output":"(panic:|fatal error:|WARNING: DATA RACE)' "$1" | text | head -200 || true
  while read -r name; do
    [ -n "$name" ] || continue
    printf -- '-- %s\n' "$name"
    grep -F "\"Action\":\"output\",\"Package\":\"${name% *}\",\"Test\":\"${name#* }\"" "$1" | text > "$output" || true
    head -n -80 "$output" | grep -E '_test\.go:[0-9]+: ' | tail -40 || true
    tail -80 "$output"
  done <<< "$failed"
  printf 'failed: %s\n' "${failed//$'\n'/, }"
}

# text prints the output within lines of a -json run.
text() { sed 's/.*"Output":"\(.*\)"}$/\1/; s/\\n$//; s/\\t/\t/g; s/\\"/"/g'; }

# tests runs a go test command, shows what failed and counts.
tests() {
  local log=$work/$1.json status=0
  shift
  GOFLAGS="${GOFLAGS:-} -json" "$@" > "$log" || status=$?
  [ "$status" = 0 ] || failures "$log"
  count "$log" || status=1
  return "$status"
}

# fuzz runs every fuzz target for a number of inputs. A run that ends by time fails now and then as the time runs out. The targets are found
# in the source, because listing the tests of a package links them, and the tests of a package are built once for all its targets. Inputs that reach
# new code are kept in the given folder: each target first runs all that it has there.
fuzz() {
  local package dir files target targets=0
  while read -r package dir files; do
    # shellcheck disable=SC2086 # the names of files are words
    [ -n "$files" ] && files=$(cd "$dir" && sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' $files)
    [ -n "$files" ] || continue
    go test -c -fuzz . -vet=off -o "$work/fuzz.test" "$package"
    for target in $files; do
      echo "$package $target"
      (cd "$dir" && "$work/fuzz.test" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "$1" -test.fuzzminimizetime 10x \
        -test.fuzzcachedir "$2/$package") > "$work/fuzz.log" 2>&1 || { cat "$work/fuzz.log"; return 1; }
      targets=$((targets + 1))
    done
  done < <(go list -f '{{.ImportPath}} {{.Dir}} {{join .TestGoFiles " "}} {{join .XTestGoFiles " "}}' ./...)
  echo "$targets fuzz targets, $1 inputs each"
  [ "$targets" != 0 ]
}
