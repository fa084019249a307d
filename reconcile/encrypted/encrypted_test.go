package encrypted

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
)

func identities(t testing.TB, dir string) []age.Identity {
	t.Helper()
	list, err := Identities(read(t, dir, "identity.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func read(t testing.TB, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// opens checks that every file that the real age and sops made in a folder opens.
func opens(t *testing.T, dir string) {
	t.Helper()
	ids := identities(t, dir)
	tests := []struct {
		file, key, want string
	}{
		{"web.age", "", "correct horse\n"},
		{"web.armored.age", "", "correct horse\n"},
		{"suffix.sops.yaml", "web.password", "correct horse"},
		{"suffix.sops.yaml", "db.password", "battery staple"},
		{"suffix.sops.yaml", "web.quoted", "012"},
		{"suffix.sops.yaml", "web.added", "set later"},
		{"two.sops.yaml", "web.password", "correct horse"},
		{"regex.sops.yaml", "web.password", "correct horse"},
		{"unregex.sops.yaml", "web.password", "correct horse"},
		{"mac.sops.yaml", "db.password", "battery staple"},
	}
	for _, test := range tests {
		data := read(t, dir, test.file)
		if err := Check(formatOf(test.file), data, test.key); err != nil {
			t.Errorf("check %s %s: %v", test.file, test.key, err)
		}
		if got, err := Open(formatOf(test.file), data, test.key, ids); err != nil || got != test.want {
			t.Errorf("open %s %s: got %q, %v, want %q", test.file, test.key, got, err, test.want)
		}
	}
}

func formatOf(file string) Format {
	if strings.HasSuffix(file, SOPS.Suffix()) {
		return SOPS
	}
	return Age
}

// TestOpen opens files that age 1.1.1 and sops 3.13.3 made: testdata/make.sh.
func TestOpen(t *testing.T) {
	t.Parallel()
	opens(t, "testdata")
}

// TestInvisibleCharactersAreReadAsBefore opens a file with a character that package manifest refuses in a new revision: in a revision in force it changes nothing.
func TestInvisibleCharactersAreReadAsBefore(t *testing.T) {
	t.Parallel()
	text := append([]byte("# a comment \u2028# and \u0085# another\r"), read(t, "testdata", "suffix.sops.yaml")...)
	ids := identities(t, "testdata")
	want, err := Open(SOPS, read(t, "testdata", "suffix.sops.yaml"), "web.password", ids)
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(SOPS, text, "web.password"); err != nil {
		t.Errorf("check: got %v, want none", err)
	}
	if got, err := Open(SOPS, text, "web.password", ids); got != want || err != nil {
		t.Errorf("open: got %q and %v, want the password", got, err)
	}
}

// TestRejected lists files that are refused. No reason may contain a text of the file.
func TestRejected(t *testing.T) {
	t.Parallel()
	age, armored := string(read(t, "testdata", "web.age")), string(read(t, "testdata", "web.armored.age"))
	suffix, regex, onlyMAC := string(read(t, "testdata", "suffix.sops.yaml")), string(read(t, "testdata", "regex.sops.yaml")), string(read(t, "testdata", "mac.sops.yaml"))
	replace := func(text, old, with string) string {
		t.Helper()
		if !strings.Contains(text, old) {
			t.Fatalf("got no %q in the fixture, want one", old)
		}
		return strings.Replace(text, old, with, 1)
	}
	valueOf := func(text, key string) string {
		_, rest, _ := strings.Cut(text, key+": ")
		value, _, _ := strings.Cut(rest, "\n")
		return value
	}
	password := valueOf(suffix, "    password")
	dbPassword := valueOf(suffix[strings.Index(suffix, "\ndb:"):], "    password")
	mac := valueOf(suffix, "    mac")
	at := valueOf(suffix, "    lastmodified")
	recipients := suffix[strings.Index(suffix, "    age:\n"):strings.Index(suffix, "    lastmodified")]
	tests := map[string]struct {
		format    Format
		text, key string
		want      string
		late      bool // only Open finds it
	}{
		"age_empty":            {Age, "", "", "it is not a file of age", false},
		"age_plain":            {Age, "hunter2\n", "", "it is not a file of age", false},
		"age_other_key":        {Age, string(read(t, "testdata", "other.age")), "", "no identity of the agent", true},
		"age_cut_header":       {Age, age[:60], "", "it is not a file of age", false},
		"age_cut_content":      {Age, age[:len(age)-1], "", "it is not a file of age", true},
		"age_longer":           {Age, age + "x", "", "it is not a file of age", true},
		"age_changed_content":  {Age, age[:len(age)-1] + string(age[len(age)-1]^1), "", "it is not a file of age", true},
		"age_long":             {Age, string(read(t, "testdata", "long.age")), "", "longer than 4 KiB", true},
		"age_too_large":        {Age, strings.Repeat("x", MaxFile+1), "", "want at most 262144", false},
		"age_passphrase":       {Age, "age-encryption.org/v1\n-> scrypt AAAAAAAAAAAAAAAAAAAAAA 30\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n--- AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n", "", "passphrase", false},
		"age_ssh":              {Age, "age-encryption.org/v1\n-> ssh-ed25519 AAAAAA AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n--- AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n", "", "no recipient with a key of age", false},
		"armor_cut":            {Age, armored[:len(armored)-20], "", "it is not a file of age", false},
		"armor_text_after_it":  {Age, armored + "hunter2\n", "", "it is not a file of age", false},
		"sops_empty":           {SOPS, "", "web.password", "it is not one YAML mapping", false},
		"sops_plain":           {SOPS, "web: {password: hunter2}\n", "web.password", "it is not encrypted with SOPS", false},
		"sops_two_documents":   {SOPS, suffix + "---\nweb: hunter2\n", "web.password", "it is not one YAML mapping", false},
		"sops_alias":           {SOPS, "a: &hunter2 b\n" + suffix, "web.password", "line 1 is not YAML as SOPS writes it", false},
		"sops_key_twice":       {SOPS, suffix + "web: hunter2\n", "web.password", "is not YAML as SOPS writes it", false},
		"sops_deep":            {SOPS, strings.Repeat("[", 40) + strings.Repeat("]", 40), "web.password", "is not YAML as SOPS writes it", false},
		"sops_other_key":       {SOPS, string(read(t, "testdata", "other.sops.yaml")), "web.password", "no identity of the agent", true},
		"sops_no_key":          {SOPS, suffix, "web.root", "it has no key web.root", false},
		"sops_key_is_mapping":  {SOPS, suffix, "web", "its value at web is not encrypted text", false},
		"sops_number":          {SOPS, suffix, "web.number", "its value at web.number is not text", false},
		"sops_unencrypted":     {SOPS, suffix, "web.note_unencrypted", "is not encrypted text", false},
		"sops_replaced_value":  {SOPS, replace(suffix, password, "hunter2"), "web.password", "is not encrypted text", false},
		"sops_swapped_values":  {SOPS, replace(suffix, password, dbPassword), "web.password", "is damaged, or moved from another key", true},
		"sops_removed_value":   {SOPS, replace(suffix, "    number: "+valueOf(suffix, "    number")+"\n", ""), "web.password", "its MAC does not fit", true},
		"sops_changed_plain":   {SOPS, replace(suffix, "anybody may read this", "hunter2"), "web.password", "its MAC does not fit", true},
		"sops_added_plain":     {SOPS, replace(suffix, "db:", "hunter2_unencrypted: 1\ndb:"), "web.password", "its MAC does not fit", true},
		"sops_unencrypted_now": {SOPS, replace(suffix, "unencrypted_suffix: _unencrypted", "unencrypted_suffix: web"), "web.password", "is not encrypted text", false},
		"sops_changed_time":    {SOPS, replace(suffix, at, `"2020-01-01T00:00:00Z"`), "web.password", "its MAC does not fit", true},
		"sops_other_mac":       {SOPS, replace(suffix, mac, password), "web.password", "its MAC does not fit", true},
		"sops_mac_only":        {SOPS, replace(suffix, "    unencrypted_suffix", "    mac_only_encrypted: true\n    unencrypted_suffix"), "web.password", "its MAC does not fit", true},
		"sops_mac_not_only":    {SOPS, replace(onlyMAC, "mac_only_encrypted: true", "mac_only_encrypted: false"), "web.password", "its MAC does not fit", true},
		"sops_no_mac":          {SOPS, replace(suffix, "    mac: "+mac+"\n", ""), "web.password", "no encrypted mac", false},
		"sops_no_time":         {SOPS, replace(suffix, "    lastmodified: "+at+"\n", ""), "web.password", "no time lastmodified", false},
		"sops_no_recipient":    {SOPS, replace(suffix, recipients, ""), "web.password", "no recipient with a key of age", false},
		"sops_no_data_key":     {SOPS, replace(suffix, "BEGIN AGE", "BEGIN HUNTER2"), "web.password", "its data key cannot be used", false},
		"sops_key_groups":      {SOPS, replace(suffix, "sops:\n", "sops:\n    key_groups: [{age: []}]\n"), "web.password", "several groups of keys", false},
		"sops_threshold":       {SOPS, replace(suffix, "sops:\n", "sops:\n    shamir_threshold: 2\n"), "web.password", "several groups of keys", false},
		"sops_comment_rule":    {SOPS, replace(suffix, "sops:\n", "sops:\n    encrypted_comment_regex: x\n"), "web.password", "comments decide", false},
		"sops_two_rules":       {SOPS, replace(suffix, "sops:\n", "sops:\n    encrypted_regex: x\n"), "web.password", "several rules", false},
		"sops_bad_rule":        {SOPS, replace(regex, "encrypted_regex: ^(password|list)$", `encrypted_regex: "("`), "web.password", "invalid encrypted_regex", false},
		"sops_unknown":         {SOPS, replace(suffix, "sops:\n", "sops:\n    hunter2: 1\n"), "web.password", "does not know the metadata", false},
		"sops_short_nonce":     {SOPS, replace(suffix, password, "ENC[AES256_GCM,data:AAAA,iv:AAAA,tag:AAAAAAAAAAAAAAAAAAAAAA==,type:str]"), "web.password", "is not encrypted text", false},
	}
	ids := identities(t, "testdata")
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := Check(test.format, []byte(test.text), test.key)
			if test.late != (err == nil) {
				t.Errorf("check: got %v, want an error: %v", err, !test.late)
			}
			got, err := Open(test.format, []byte(test.text), test.key, ids)
			problem, isProblem := err.(*Error) //nolint:errorlint // both functions return it unwrapped
			if got != "" || !isProblem || !strings.Contains(problem.Reason, test.want) || problem.Hint == "" {
				t.Errorf("open: got %q, %v, want no password and an error with a hint that contains %q", got, err, test.want)
			}
			if isProblem && strings.Contains(problem.Reason+problem.Hint, "hunter2") {
				t.Errorf("got %v, want no text of the file", problem)
			}
		})
	}
}

// TestPostQuantum opens a file of SOPS for a post-quantum recipient of age.
func TestPostQuantum(t *testing.T) {
	t.Parallel()
	ids, err := Identities(read(t, "testdata", "pq.txt"))
	if err != nil {
		t.Fatal(err)
	}
	data := read(t, "testdata", "pq.sops.yaml")
	if err := Check(SOPS, data, "web.password"); err != nil {
		t.Errorf("check: %v", err)
	}
	if got, err := Open(SOPS, data, "web.password", ids); got != "c" || err != nil {
		t.Errorf("open: got %q, %v, want c", got, err)
	}
	if _, err := Open(SOPS, data, "web.password", identities(t, "testdata")); err == nil {
		t.Error("open with another identity: got none, want an error")
	}
}

func TestOpenWithoutIdentity(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"web.age", "suffix.sops.yaml"} {
		if got, err := Open(formatOf(name), read(t, "testdata", name), "web.password", nil); got != "" || err == nil || !strings.HasPrefix(err.Error(), "no identity of the agent") {
			t.Errorf("got %q, %v, want no password without an identity", got, err)
		}
	}
}

func TestIdentities(t *testing.T) {
	t.Parallel()
	good := string(read(t, "testdata", "identity.txt"))
	for name, text := range map[string]string{"empty": "", "comments": "# hunter2\n", "passphrase": "-----BEGIN AGE ENCRYPTED FILE-----\n", "plugin": "AGE-PLUGIN-YUBIKEY-1HUNTER2\n", "second_line": good + "hunter2\n"} {
		if list, err := Identities([]byte(text)); err == nil || list != nil || strings.Contains(strings.ToLower(err.Error()), "hunter2") {
			t.Errorf("%s: got %v, %v, want an error without a part of the file", name, list, err)
		}
	}
	if list, err := Identities([]byte(good + good)); err != nil || len(list) != 2 {
		t.Errorf("got %v, %v, want two identities", list, err)
	}
}
