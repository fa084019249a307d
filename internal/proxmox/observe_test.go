package proxmox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/recordings"

	"gitops-agent/internal/proxmox/route"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestObserve(t *testing.T) {
	before := time.Now()
	client := inProcess(t, byPath(t, map[string]stubReply{
		"GET /nodes/pve1/qemu/100/pending": ok(`[{"key":"name","value":"web-2"},{"key":"lock","value":"backup"},{"key":"template","value":1},{"key":"digest","value":"abc"}]`),
		"GET /nodes/pve1/lxc/200/pending":  ok(`[{"key":"memory","value":512},{"key":"digest","value":"def"}]`),
	}))
	vm, ct := vmRow, ctRow
	vm.Pool, vm.HAState = "web", "started"
	ct.Lock = "snapshot"
	tests := map[string]struct {
		row  cluster.Row
		want guest.Observed
	}{
		"configuration_wins": {vm, guest.Observed{
			Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "web-2", VMID: 100}, Node: "pve1", Digest: "abc",
			Keys: map[string]guest.Value{
				"name": {Text: "web-2", Set: true}, "lock": {Text: "backup", Set: true}, "template": {Text: "1", Set: true},
			},
			Status: guest.StatusRunning, Lock: "backup", Template: true, HA: true, Pool: "web",
		}},
		"inventory_fills": {ct, guest.Observed{
			Ref: guest.Ref{Kind: guest.Container, Name: "dns", VMID: 200}, Node: "pve1", Digest: "def",
			Keys:   map[string]guest.Value{"memory": {Text: "512", Set: true}},
			Status: guest.StatusStopped, Lock: "snapshot",
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := client.Observe(t.Context(), test.row)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, cmpopts.IgnoreFields(guest.Observed{}, "ReadAt")); diff != "" {
				t.Errorf("observed (-want +got)\n%s", diff)
			}
			if got.ReadAt.Before(before) || got.ReadAt.After(time.Now()) {
				t.Errorf("got ReadAt %v, want it within the test", got.ReadAt)
			}
		})
	}
}

// Values from the inventory are checked before they become part of a path, so that no inventory can change the path of a request.
func TestAddressesAreChecked(t *testing.T) {
	client := inProcess(t, roundTrip(func(req *http.Request) (stubReply, error) {
		t.Errorf("got request %s, want none", req.URL)
		return ok(`null`), nil
	}))
	for _, row := range []cluster.Row{
		{Kind: guest.VirtualMachine, VMID: 100, Node: ""},
		{Kind: guest.VirtualMachine, VMID: 100, Node: "../access"},
		{Kind: guest.VirtualMachine, VMID: 100, Node: "pve1.lan"},
		{Kind: guest.VirtualMachine, VMID: 99, Node: "pve1"},
		{Kind: guest.VirtualMachine, VMID: 1e9, Node: "pve1"},
		{Kind: "Pod", VMID: 100, Node: "pve1"},
	} {
		if _, err := client.Observe(t.Context(), row); err == nil {
			t.Errorf("Observe(%v): got no error, want one", row)
		}
		if _, _, err := client.Status(t.Context(), row); err == nil {
			t.Errorf("Status(%v): got no error, want one", row)
		}
		if _, err := client.Do(t.Context(), cluster.Call{Op: cluster.OpStart, Kind: row.Kind, VMID: row.VMID, Node: row.Node}, nil); err == nil {
			t.Errorf("Do(%v): got no error, want one", row)
		}
	}
}

func TestStatus(t *testing.T) {
	tests := map[string]struct {
		data string
		want guest.Status
	}{
		"running":   {`{"status":"running","qmpstatus":"running","vmid":100}`, guest.StatusRunning},
		"paused":    {`{"status":"running","qmpstatus":"paused"}`, guest.StatusPaused},
		"moved":     {`{"status":"running","qmpstatus":"postmigrate"}`, guest.StatusPaused},
		"prelaunch": {`{"status":"running","qmpstatus":"prelaunch"}`, guest.StatusPaused},
		"stopped":   {`{"status":"stopped","qmpstatus":"stopped"}`, guest.StatusStopped},
		"container": {`{"status":"running"}`, guest.StatusRunning},
		"new_word":  {`{"status":"hibernating"}`, guest.StatusUnknown},
		"no_word":   {`{}`, guest.StatusUnknown},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			client := inProcess(t, byPath(t, map[string]stubReply{
				"GET /nodes/pve1/qemu/100/status/current": ok(test.data),
			}))
			got, _, err := client.Status(t.Context(), vmRow)
			if err != nil || got != test.want {
				t.Errorf("got %q, error %v, want %q", got, err, test.want)
			}
		})
	}
	client := inProcess(t, always(500, "Configuration file 'nodes/pve1/qemu-server/100.conf' does not exist", ""))
	if got, _, err := client.Status(t.Context(), vmRow); got != guest.StatusUnknown || !errors.Is(err, cluster.ErrNotExist) {
		t.Errorf("got %q, error %v, want unknown and ErrNotExist", got, err)
	}
}

func TestInventory(t *testing.T) {
	client := inProcess(t, byPath(t, map[string]stubReply{
		"GET /cluster/resources": ok(`[
				{"type":"lxc","vmid":"200","id":"lxc/200","node":"pve2","status":"stopped","name":"dns","template":"0","maxmem":"536870912","maxcpu":"1.5","maxdisk":0},
				{"type":"qemu","vmid":100,"id":"qemu/100","node":"pve1","status":"running","name":1234,"template":1,"lock":"backup","tags":"a;b",
				 "pool":"web","hastate":"started","maxmem":4294967296,"maxcpu":4,"maxdisk":34359738368,"cpu":0.01,"netin":12345678901234},
				{"type":"qemu","vmid":101,"id":"qemu/101","node":"pve1","status":"unknown"},
				{"type":"storage","id":"storage/pve1/local","node":"pve1","status":"available","maxdisk":"unknown"},
				{"type":"storage","id":"storage/pve1/ceph","storage":"ceph","node":"pve1","status":"available","maxdisk":"270582939648","disk":32861634560,"shared":1,"content":"images"},
				{"status":"offline","node":"pve3","type":"node"},{"status":"online","node":"pve1","type":"node","hastate":"online","maxmem":67364143104,"mem":1145536512,"maxcpu":16,"cpu":0.04},
				{"status":"online","node":"pve4","type":"node","hastate":"maintenance"},{"status":"unknown","node":"pve2","type":"node"}]`),
		"GET /version": ok(`{"version":"8.4.1","release":"8.4"}`),
	}))
	got, err := client.Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []cluster.Row{
		{
			Kind: guest.VirtualMachine, VMID: 100, Node: "pve1", Name: "1234", Status: guest.StatusRunning, Template: true, Lock: "backup",
			Tags: "a;b", Pool: "web", HAState: "started", MaxMem: 4 << 30, MaxDisk: 32 << 30, MaxCPU: 4,
		},
		{Kind: guest.VirtualMachine, VMID: 101, Node: "pve1", Status: guest.StatusUnknown},
		{Kind: guest.Container, VMID: 200, Node: "pve2", Name: "dns", Status: guest.StatusStopped, MaxMem: 512 << 20, MaxCPU: 1.5},
	}
	if diff := cmp.Diff(want, got.Rows); diff != "" {
		t.Errorf("rows (-want +got)\n%s", diff)
	}
	if want := []string{"pve3"}; !slices.Equal(got.Offline, want) {
		t.Errorf("got nodes %v offline, want %v", got.Offline, want)
	}
	if want := []string{"pve4"}; !slices.Equal(got.Maintenance, want) {
		t.Errorf("got nodes %v in maintenance, want %v", got.Maintenance, want)
	}
	capacity := cluster.Capacity{
		Nodes: []cluster.NodeCapacity{{Node: "pve1", MaxMem: 67364143104, Mem: 1145536512, CPUs: 16}, {Node: "pve2"}, {Node: "pve3"}, {Node: "pve4"}},
		Storages: []cluster.StorageCapacity{
			{Node: "pve1", Available: true},
			{Node: "pve1", Storage: "ceph", Size: 270582939648, Used: 32861634560, Shared: true, Available: true},
		},
	}
	if diff := cmp.Diff(capacity, got.Capacity); diff != "" {
		t.Errorf("capacity (-want +got)\n%s", diff)
	}
	if got.ReadAt.IsZero() {
		t.Error("got no ReadAt, want the time")
	}
	if want := (guest.Version{Major: 8, Minor: 4}); got.Version != want {
		t.Errorf("got version %s, want %s", got.Version, want)
	}
}

func TestInventoryReadsTheVersionOnce(t *testing.T) {
	server := byPath(t, map[string]stubReply{"GET /cluster/resources": ok(`[]`), "GET /version": ok(`{"version":"9.2.11"}`)})
	client := inProcess(t, server)
	for range 3 {
		if _, err := client.Inventory(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(server.got); got != 4 {
		t.Errorf("got %d requests for three inventories, want 4: the version is read once", got)
	}
}

// An inventory with a row that cannot be read is an error, and has no rows.
func TestInventoryRejectsInvalidRows(t *testing.T) {
	for _, data := range []string{
		`null`,
		`{}`,
		`[{"type":"qemu","node":"pve1"}]`,
		`[{"type":"qemu","vmid":"x","node":"pve1"}]`,
		`[{"type":"qemu","vmid":100,"node":"../x"}]`,
		`[{"type":"qemu","vmid":100.5,"node":"pve1"}]`,
	} {
		client := inProcess(t, roundTrip(func(*http.Request) (stubReply, error) { return ok(data), nil }))
		if got, err := client.Inventory(t.Context()); err == nil || got.Rows != nil {
			t.Errorf("%s: got %v, error %v, want an error", data, got, err)
		}
	}
}

// BenchmarkObserve reads one guest over TLS on loopback; "plain" is the same exchange with net/http and without decoding.
func BenchmarkObserve(b *testing.B) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(recordings.RunningVM))
	}))
	b.Cleanup(server.Close)
	b.Run("observe", func(b *testing.B) {
		digest := sha256.Sum256(server.Certificate().Raw)
		client := newClient(b, Options{Endpoints: []string{server.URL}, Fingerprints: []string{hex.EncodeToString(digest[:])}})
		b.ReportAllocs()
		for b.Loop() {
			if _, err := client.Observe(b.Context(), vmRow); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("plain", func(b *testing.B) {
		client := server.Client()
		b.ReportAllocs()
		for b.Loop() {
			req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, server.URL+route.Base+"/nodes/pve1/qemu/100/pending", nil)
			if err != nil {
				b.Fatal(err)
			}
			if err := readPlain(client, req); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkInventory reads a thousand guests in one call.
func BenchmarkInventory(b *testing.B) {
	var rows []string
	for i := range 1000 {
		rows = append(rows, fmt.Sprintf(`{"type":"qemu","vmid":%d,"id":"qemu/%d","node":"pve1","status":"running","name":"guest-%d","template":0,`+
			`"tags":"gitops-0a1b2c3d;prod","maxmem":4294967296,"mem":1073741824,"memhost":1173741824,"maxcpu":4,"cpu":0.0421898543445505,`+
			`"maxdisk":34359738368,"disk":0,"diskread":123456789,"diskwrite":987654321,"netin":12345678,"netout":87654321,"uptime":123456}`, 1000+i, 1000+i, i))
	}
	client := inProcess(b, always(200, "OK", `{"data":[`+strings.Join(rows, ",")+`]}`))
	b.ReportAllocs()
	for b.Loop() {
		if inventory, err := client.Inventory(b.Context()); err != nil || len(inventory.Rows) != len(rows) {
			b.Fatal(err)
		}
	}
}

// readPlain sends a request and reads the reply, as every client has to.
func readPlain(client *http.Client, req *http.Request) error {
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	return res.Body.Close()
}
