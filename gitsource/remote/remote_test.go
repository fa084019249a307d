package remote

import (
	"strings"
	"testing"
)

func TestParseRemote(t *testing.T) {
	ssh := Config{KnownHostsFile: "known_hosts", SSHKeyFile: "key"}
	for url, test := range map[string]struct {
		conf       Config
		name, path string
	}{
		"https://forge.example/org/r.git":        {name: "https://forge.example/org/r.git", path: "/org/r.git"},
		"HTTPS://forge.example:8443/r":           {name: "https://forge.example:8443/r", path: "/r"},
		"ssh://git@forge.example:2222/org/r.git": {ssh, "ssh://git@forge.example:2222/org/r.git", "/org/r.git"},
		"git@forge.example:org/r.git":            {ssh, "ssh://git@forge.example/~/org/r.git", "org/r.git"},
		"forge.example:/srv/r.git":               {ssh, "ssh://forge.example/srv/r.git", "/srv/r.git"},
		"git@[fe80::1]:r.git":                    {ssh, "ssh://git@[fe80::1]/~/r.git", "r.git"},
		"file:///srv/r.git":                      {name: "file:///srv/r.git", path: "/srv/r.git"},
		"file://localhost/srv/r.git":             {name: "file://localhost/srv/r.git", path: "/srv/r.git"},
		"/srv/with space.git":                    {name: "file:///srv/with%20space.git", path: "/srv/with space.git"},
		"http://127.0.0.1:80/r.git":              {Config{AllowInsecure: true}, "http://127.0.0.1:80/r.git", "/r.git"},
		"http://localhost/r.git":                 {Config{AllowInsecure: true}, "http://localhost/r.git", "/r.git"},
		"http://[::1]:8080/r.git":                {Config{AllowInsecure: true}, "http://[::1]:8080/r.git", "/r.git"},
	} {
		test.conf.URL = url
		r, err := Parse(test.conf)
		if err != nil || r.Name != test.name || r.url.Path != test.path {
			t.Errorf("%s: got %q, path %q, %v, want %q, path %q", url, r.Name, r.url.Path, err, test.name, test.path)
		}
	}
}

func TestParseRemoteRefuses(t *testing.T) {
	ssh := Config{KnownHostsFile: "known_hosts", SSHKeyFile: "key"}
	for url, test := range map[string]struct {
		conf Config
		want string
	}{
		"":                                       {want: "URL is required"},
		"https://x:s3cret@forge.example/r.git":   {want: "credentials in the URL"},
		"https://s3cret@forge.example/r.git":     {want: "credentials in the URL"},
		"https://s3cret:%zz@forge.example/r.git": {want: "malformed URL"},
		"https://forge.example/r.git?t=s3cret":   {want: "query"},
		"https:///r.git":                         {want: "no host"},
		"http://forge.example/r.git":             {Config{AllowInsecure: true}, "use https"},
		"http://127.0.0.1/r.git":                 {want: "use https"},
		"http://127.0.0.1.evil.example/r.git":    {Config{AllowInsecure: true}, "use https"},
		"git://forge.example/r.git":              {Config{AllowInsecure: true}, "git:// is not authenticated"},
		"ftp://forge.example/r.git":              {want: "unknown scheme"},
		"ext::sh -c s3cret":                      {ssh, "neither a URL nor an absolute path"},
		"ssh://git:s3cret@forge.example/r.git":   {ssh, "credentials in the URL"},
		"ssh://git@forge.example":                {ssh, "no path"},
		"ssh://forge.example/r.git":              {Config{SSHKeyFile: "key"}, "known hosts file"},
		"git@forge.example:r.git":                {Config{KnownHostsFile: "k"}, "private key file"},
		"file://server/share/r.git":              {want: "must not name a host"},
		"file:relative":                          {want: ""},
		"relative/path":                          {want: "neither a URL nor an absolute path"},
		"-oProxyCommand=s3cret":                  {want: "neither a URL nor an absolute path"},
	} {
		test.conf.URL = url
		_, err := Parse(test.conf)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", url, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: the error contains the secret: %v", url, err)
		}
	}
}

func TestShellQuote(t *testing.T) {
	if got, want := shellQuote(`/a b'c!d$(e)`), `'/a b'\''c'\!'d$(e)'`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
