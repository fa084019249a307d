package verify

import (
	"strings"
	"testing"
)

func TestParsePromotion(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("1a", 20)
	for value, want := range map[string]string{
		"staging/main@" + id:                  "staging/main@sha1:" + id,
		"staging/main@sha1:" + id:             "staging/main@sha1:" + id,
		"staging/release/2@" + id:             "staging/release/2@sha1:" + id,
		"staging/a@b@" + id:                   "staging/a@b@sha1:" + id,
		"":                                    "",
		id:                                    "",
		"@" + id:                              "",
		"staging@" + id:                       "",
		"staging/@" + id:                      "",
		"/main@" + id:                         "",
		"staging/main":                        "",
		"staging/main@":                       "",
		"staging/main@main":                   "",
		"staging/main@" + id[1:]:              "",
		"staging/main@" + strings.ToUpper(id): "",
		"staging/main@sha1:sha1:" + id:        "",
		"staging/main@sha256:" + id:           "",
		"staging/main@" + id + "..":           "",
		"staging/main@" + id + " (tested)":    "",
		"staging/main@ " + id:                 "",
	} {
		got, err := ParsePromotion(value)
		if (err != nil) != (want == "") || err == nil && got.String() != want {
			t.Errorf("%q: got %s, %v, want %q", value, got, err, want)
		}
	}
}

// FuzzParsePromotion: an accepted value renders to itself, apart from sha1:, and has a cluster, a branch and a full id.
func FuzzParsePromotion(f *testing.F) {
	f.Add("staging/main@" + strings.Repeat("1", 40))
	f.Add("staging/main@sha1:" + strings.Repeat("1", 40))
	f.Add("staging/main")
	f.Fuzz(func(t *testing.T, value string) {
		p, err := ParsePromotion(value)
		if err != nil {
			return
		}
		if s := p.String(); s != value && strings.Replace(s, "@sha1:"+string(p.Commit), "@"+string(p.Commit), 1) != value {
			t.Errorf("got %s of %q", s, value)
		}
		if p.Cluster == "" || strings.Contains(p.Cluster, "/") || p.Branch == "" || len(p.Commit) != 40 {
			t.Errorf("got %+v of %q", p, value)
		}
	})
}
