package wire

import (
	"crypto/tls"
	"net/http"
	"testing"
	"time"
)

func TestNetworkSettings(t *testing.T) {
	Network := NewNetwork(&tls.Config{MinVersion: tls.VersionTLS12})
	for name, Transport := range map[string]*http.Transport{"reads": Network.reads, "writes": Network.writes} {
		if Transport.Proxy != nil {
			t.Errorf("%s: got a proxy function, want none: a proxy must not get the token", name)
		}
		if Transport.Protocols.HTTP2() || !Transport.Protocols.HTTP1() {
			t.Errorf("%s: got protocols %v, want only HTTP/1", name, Transport.Protocols)
		}
		if Transport.IdleConnTimeout <= 0 || Transport.IdleConnTimeout >= 5*time.Second {
			t.Errorf("%s: got idle timeout %v, want less than the server's 5 s", name, Transport.IdleConnTimeout)
		}
	}
}
