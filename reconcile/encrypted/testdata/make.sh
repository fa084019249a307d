#!/usr/bin/env bash
# usage: make.sh DIR
# Makes the fixtures in an empty folder with age 1.1.1 or later and sops 3.13.3. The keys and passwords are of these tests alone.
# It does not make pq.txt (age-keygen -pq) and pq.sops.yaml, which need age 1.3.
set -euo pipefail
cd "$1"
age-keygen -o identity.txt 2> /dev/null
age-keygen -o other.txt 2> /dev/null
to=$(age-keygen -y identity.txt) other=$(age-keygen -y other.txt)
printf 'correct horse\n' | age -r "$to" -o web.age
printf 'correct horse\n' | age -a -r "$other" -r "$to" -o web.armored.age
printf 'correct horse\n' | age -r "$other" -o other.age
head -c 5000 /dev/zero | tr '\0' x | age -r "$to" -o long.age
cat > plain.yaml << 'YAML'
# a comment
web:
    password: correct horse # another comment
    number: 12
    huge: 1.5e+30
    enabled: true
    empty: ""
    none: null
    quoted: "012"
    day: 2024-02-03T04:05:06Z
    list:
        # a comment in a list
        - one
        - 2
        - nested: three
    note_unencrypted: anybody may read this
    count_unencrypted: 0x10
    merge_unencrypted: "<<"
    merges_unencrypted: [one, <<]
db:
    password: battery staple
public:
    since: 2024-02-03
    ratio: 0.25
    on: true
YAML
encrypt() { local to=$1 out=$2; shift 2; sops encrypt --age "$to" --input-type yaml --output-type yaml "$@" plain.yaml > "$out"; }
encrypt "$to" suffix.sops.yaml
encrypt "$other,$to" two.sops.yaml
encrypt "$other" other.sops.yaml
encrypt "$to" regex.sops.yaml --encrypted-regex '^(password|list)$'
encrypt "$to" unregex.sops.yaml --unencrypted-regex '^public$'
printf 'creation_rules: [{age: %s, encrypted_suffix: password, mac_only_encrypted: true}]\n' "$to" > config.yaml
sops --config config.yaml encrypt --input-type yaml --output-type yaml plain.yaml > mac.sops.yaml
SOPS_AGE_KEY_FILE=identity.txt sops set suffix.sops.yaml '["web"]["added"]' '"set later"'
rm plain.yaml config.yaml
