package loopback

import "testing"

func TestIsHost(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "127.0.0.1": true, "127.8.9.1": true, "::1": true, "[::1]": true, "::ffff:127.0.0.1": true,
		"": false, "localhost.example.org": false, "10.0.0.1": false, "::": false, "0.0.0.0": false, "127.0.0.1:80": false, "forge.example.org": false,
	} {
		if got := IsHost(host); got != want {
			t.Errorf("%q: got %t, want %t", host, got, want)
		}
	}
}
