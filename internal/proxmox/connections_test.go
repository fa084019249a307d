package proxmox

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// Each write uses a new connection, so that the server cannot have closed it.
func TestWritesUseNewConnections(t *testing.T) {
	var opened atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodGet {
			_, _ = w.Write([]byte(`{"data":{"version":"9.2.11"}}`))
			return
		}
		_, _ = w.Write([]byte(`{"data":"` + testUPID + `"}`))
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	client := newClient(t, Options{Endpoints: []string{server.URL}})
	for range 3 {
		if _, err := client.Version(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	reads := opened.Load()
	for range 3 {
		if _, err := client.Do(t.Context(), startCall, nil); err != nil {
			t.Fatal(err)
		}
	}
	if writes := opened.Load() - reads; reads != 1 || writes != 3 {
		t.Errorf("got %d connections for three reads and %d for three writes, want 1 and 3", reads, writes)
	}
}
