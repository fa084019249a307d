package encrypted

import (
	"slices"
	"testing"
)

// FuzzAge: whatever a file contains, its password is the one that was encrypted, and Check accepts what Open accepts.
func FuzzAge(f *testing.F) {
	for _, name := range []string{"web.age", "web.armored.age", "other.age", "long.age"} {
		f.Add(read(f, "testdata", name))
	}
	fuzz(f, Age, []string{"correct horse\n"})
}

// FuzzSOPS: whatever a file contains, the value is one that was encrypted at this key, and Check accepts what Open accepts.
func FuzzSOPS(f *testing.F) {
	for _, name := range []string{"suffix", "two", "other", "regex", "unregex", "mac"} {
		f.Add(read(f, "testdata", name+".sops.yaml"))
	}
	fuzz(f, SOPS, []string{"correct horse"})
}

func fuzz(f *testing.F, format Format, passwords []string) {
	f.Helper()
	ids := identities(f, "testdata")
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := Open(format, data, "web.password", ids)
		if err != nil {
			return
		}
		if !slices.Contains(passwords, got) {
			t.Errorf("got %q, want one of %q", got, passwords)
		}
		if err := Check(format, data, "web.password"); err != nil {
			t.Errorf("got %v, want a file that opens accepted by Check", err)
		}
	})
}
