package pvesim

import (
	"io"
	"net/http"
	"testing"
)

// BenchmarkReads measures reads of 1,000 guests through the transport: one pending call per guest, in turn.
func BenchmarkReads(b *testing.B) {
	sim := New(Options{Guests: 1000, Seed: 7})
	defer sim.Close()
	tr, token := sim.Transport(), "PVEAPIToken="+sim.Token("gitops@pve!agent")
	var requests []*http.Request
	for _, g := range sim.Guests() {
		req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "http://pve"+apiRoot+"/nodes/"+g.Node+"/"+string(g.Kind)+"/"+itoa(g.VMID)+"/pending", nil)
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("Authorization", token)
		requests = append(requests, req)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		resp, err := tr.RoundTrip(requests[i%len(requests)])
		if err != nil || resp.StatusCode != http.StatusOK {
			b.Fatal(resp, err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "reads/s")
}

// BenchmarkInventory measures one /cluster/resources call with 1,000 guests.
func BenchmarkInventory(b *testing.B) {
	sim := New(Options{Guests: 1000, Seed: 7})
	defer sim.Close()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "http://pve"+apiRoot+"/cluster/resources?type=vm", nil)
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Authorization", "PVEAPIToken="+sim.Token("gitops@pve!agent"))
	b.ReportAllocs()
	for b.Loop() {
		resp, err := sim.Transport().RoundTrip(req)
		if err != nil || resp.StatusCode != http.StatusOK {
			b.Fatal(resp, err)
		}
		resp.Body.Close()
	}
}
