//go:build integration

package ha

import (
	"bufio"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/etcdtest"
)

// BenchmarkIdleReplicas measures what two agents of a converged cluster ask of etcd in a minute: requests, messages of streams (renewals of the lease, watches),
// stored values and syncs of the log, as the three members count them. docs/internals/scale.md has the figures.
func BenchmarkIdleReplicas(b *testing.B) {
	etcd := etcdtest.Start(b, 3)
	w := begin(b, etcd)
	time.Sleep(15 * time.Second) // longer than a claim and the first renewals
	for b.Loop() {
		before, started := etcdCounters(b, etcd), time.Now()
		time.Sleep(time.Minute)
		minutes := time.Since(started).Minutes()
		for name, value := range etcdCounters(b, etcd) {
			b.ReportMetric((value-before[name])/minutes, name+"/min")
		}
	}
	if _, epoch := w.leader(); epoch != 1 {
		b.Errorf("got leader number %d, want the first one", epoch)
	}
}

// etcdCounters returns the sums of counters over all members.
func etcdCounters(b *testing.B, etcd *etcdtest.Cluster) map[string]float64 {
	b.Helper()
	names := map[string]string{
		"grpc_server_started_total": "calls", "grpc_server_msg_received_total": "messages", "etcd_mvcc_put_total": "puts",
		"etcd_disk_wal_fsync_duration_seconds_count": "syncs", "process_cpu_seconds_total": "cpu-s", "etcd_network_client_grpc_received_bytes_total": "received-bytes",
	}
	sums := map[string]float64{}
	for _, m := range etcd.Members {
		resp, err := http.Get("http://" + m.Address() + "/metrics")
		if err != nil {
			b.Fatal(err)
		}
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() {
			text, number, found := strings.Cut(lines.Text(), " ")
			series, _, _ := strings.Cut(text, "{")
			if name := names[series]; found && name != "" {
				value, err := strconv.ParseFloat(number, 64)
				if err != nil {
					b.Fatal(err)
				}
				sums[name] += value
			}
		}
		_ = resp.Body.Close()
		if lines.Err() != nil {
			b.Fatal(lines.Err())
		}
	}
	return sums
}
