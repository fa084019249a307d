package loopback

import (
	"net"
	"runtime"
	"testing"
)

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

// TestFreeAddress expects that a program which listens on any port of an address gets none that was returned before.
func TestFreeAddress(t *testing.T) {
	hosts := map[string]bool{}
	for range 20 {
		address, err := FreeAddress()
		if err != nil {
			t.Fatal(err)
		}
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		host, _, _ := net.SplitHostPort(address)
		if !IsHost(host) || hosts[host] && runtime.GOOS == "linux" {
			t.Errorf("got %s, want an IP of loopback that was not returned before", host)
		}
		hosts[host] = true
	}
}
