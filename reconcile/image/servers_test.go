package image

import "testing"

func TestServersAllow(t *testing.T) {
	servers, err := ParseServers([]string{"cloud.debian.org", "10.0.0.5:8080", "*.Example.org", "[fd00::5]:8443"})
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]bool{
		"https://cloud.debian.org/a.iso":              true,
		"https://Cloud.Debian.org:443/a.iso":          true,
		"https://cloud.debian.org:8443/a.iso":         false,
		"http://cloud.debian.org:443/a.iso":           false,
		"http://10.0.0.5:8080/a.iso":                  true,
		"http://10.0.0.5/a.iso":                       false,
		"https://images.example.org/a.iso":            true,
		"https://example.org/a.iso":                   false,
		"https://.example.org/a.iso":                  false,
		"https://badexample.org/a.iso":                false,
		"https://cloud.debian.org.evil.example/a.iso": false,
		"https://[fd00::5]:8443/a.iso":                true,
		"://":                                         false,
	} {
		if got := servers.Allow(Desired{URL: url}.Server()); got != want {
			t.Errorf("%s: got allowed %t, want %t", url, got, want)
		}
	}
	if Servers(nil).Allow("cloud.debian.org") {
		t.Error("got a server allowed without any entry, want none")
	}
}

func TestParseServersRefuses(t *testing.T) {
	for _, entry := range []string{"", "*", "https://cloud.debian.org", "cloud.debian.org/images", "a b", "*.*.org", "me@host", "host:port"} {
		if _, err := ParseServers([]string{entry}); err == nil {
			t.Errorf("got %q accepted, want an error", entry)
		}
	}
}
