package proxmox

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
)

// partition takes the quorum from the part of the cluster that the named endpoints are in. Nodes stay listed as online.
type partition struct {
	next     http.RoundTripper
	minority atomic.Pointer[[]string]
}

func (p *partition) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := p.next.RoundTrip(req)
	if err != nil || !strings.HasSuffix(req.URL.Path, "/cluster/status") {
		return res, err
	}
	for _, host := range *p.minority.Load() {
		if strings.HasPrefix(req.URL.Host, host) {
			_ = res.Body.Close()
			return ok(`[{"type":"cluster","name":"lab","quorate":0}]`).response(), nil
		}
	}
	return res, nil
}

// TestQuorateEndpointIsChosen divides the cluster. The agent uses the endpoint that has quorum, in any order of the configuration, and says that there is
// none only if no endpoint has it. An endpoint that is quorate again is used again after three probes.
func TestQuorateEndpointIsChosen(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		minority []string
		current  int
		want     error
	}{
		"none":         {nil, 0, nil},
		"first":        {[]string{"pve1"}, 1, nil},
		"second":       {[]string{"pve2"}, 0, nil},
		"first_two":    {[]string{"pve1", "pve2"}, 2, nil},
		"every_one":    {[]string{"pve1", "pve2", "pve3"}, 0, cluster.ErrNotReady},
		"first_and_3d": {[]string{"pve1", "pve3"}, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sim := pvesim.New(pvesim.Options{Nodes: []string{"pve1", "pve2", "pve3"}})
				t.Cleanup(sim.Close)
				p := &partition{next: sim.Transport()}
				p.minority.Store(&test.minority)
				client := simClient(t, sim, Options{Endpoints: []string{"https://pve1.test", "https://pve2.test", "https://pve3.test"}, Transport: p})
				for range 4 {
					if err := client.Ready(t.Context()); !errors.Is(err, test.want) {
						t.Errorf("got error %v, want %v", err, test.want)
					}
					time.Sleep(15 * time.Second)
				}
				endpoints := client.Endpoints()
				if !endpoints[test.current].Current {
					t.Errorf("got %+v, want endpoint %d in use", endpoints, test.current)
				}
				if test.current > 0 && (endpoints[0].Fault != cluster.FaultNoQuorum || endpoints[0].State != cluster.EndpointDown) {
					t.Errorf("got %+v, want the first endpoint down without quorum", endpoints[0])
				}
				p.minority.Store(&[]string{})
				for range 60 {
					if err := client.Ready(t.Context()); err != nil {
						t.Fatalf("got error %v, want quorum again", err)
					}
					time.Sleep(5 * time.Second)
				}
				if e := client.Endpoints()[0]; e.State != cluster.EndpointUp {
					t.Errorf("got %+v, want the first endpoint up again", e)
				}
			})
		})
	}
}

// TestMaintenanceOfOlderReleases reads which nodes are in maintenance from a release whose list of resources does not name the state of nodes.
func TestMaintenanceOfOlderReleases(t *testing.T) {
	t.Parallel()
	resources := ok(`[{"type":"node","node":"pve1","status":"online"},{"type":"node","node":"pve2","status":"online"},{"type":"node","node":"pve3","status":"offline"}]`)
	manager := ok(`{"manager_status":{"master_node":"pve1","node_status":{"pve1":"online","pve2":"maintenance","pve3":"maintenance"}},"quorum":{"node":"pve1","quorate":"1"}}`)
	for version, want := range map[string]string{"8.2.7": "pve2", "8.3.0": "", "9.0.3": ""} {
		replies := map[string]stubReply{"GET /version": ok(`{"version":"` + version + `"}`), "GET /cluster/resources": resources}
		if want != "" {
			replies["GET /cluster/ha/status/manager_status"] = manager
		}
		inventory, err := inProcess(t, byPath(t, replies)).Inventory(t.Context())
		if err != nil || strings.Join(inventory.Maintenance, " ") != want || strings.Join(inventory.Offline, " ") != "pve3" {
			t.Errorf("%s: got %v in maintenance, %v offline, error %v, want %q and pve3", version, inventory.Maintenance, inventory.Offline, err, want)
		}
		if want == "" {
			continue
		}
		replies["GET /cluster/ha/status/manager_status"] = respond(403, "Permission check failed (/, Sys.Audit)", "")
		if _, err := inProcess(t, byPath(t, replies)).Inventory(t.Context()); !errors.Is(err, cluster.ErrDenied) {
			t.Errorf("%s: got error %v, want the denied read of the manager's state", version, err)
		}
	}
}

// TestHABalances reads from the options of the datacenter whether the HA manager moves running guests to balance nodes. With the scheduler basic it balances nothing.
func TestHABalances(t *testing.T) {
	t.Parallel()
	for options, want := range map[string]bool{
		`{}`:                      false,
		`{"crs":{"ha":"static"}}`: false,
		`{"crs":{"ha":"static","ha-rebalance-on-start":1}}`:                    false,
		`{"crs":{"ha":"static","ha-auto-rebalance":1}}`:                        true,
		`{"crs":{"ha":"dynamic","ha-auto-rebalance":"1"}}`:                     true,
		`{"crs":{"ha":"dynamic","ha-auto-rebalance":0}}`:                       false,
		`{"crs":{"ha-auto-rebalance":1}}`:                                      false,
		`{"crs":{"ha":"basic","ha-auto-rebalance":1},"mac_prefix":"BC:24:11"}`: false,
	} {
		got, err := inProcess(t, byPath(t, map[string]stubReply{"GET /cluster/options": ok(options)})).HABalances(t.Context())
		if got != want || err != nil {
			t.Errorf("%s: got %t, error %v, want %t", options, got, err, want)
		}
	}
	denied := respond(403, "Permission check failed (/, Sys.Audit)", "")
	if _, err := inProcess(t, byPath(t, map[string]stubReply{"GET /cluster/options": denied})).HABalances(t.Context()); err == nil {
		t.Error("got no error, want one")
	}
}

// TestHAMaster reads the time of the last round of the HA manager, which does not move while no master works, and is missing before the first one.
func TestHAMaster(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		reply stubReply
		want  cluster.HAMaster
		fails bool
	}{
		"number":  {reply: ok(`{"manager_status":{"master_node":"pve1","timestamp":1764374461}}`), want: cluster.HAMaster{Node: "pve1", RoundAt: time.Unix(1764374461, 0).UTC()}},
		"text":    {reply: ok(`{"manager_status":{"master_node":"pve1","timestamp":"1764374461"}}`), want: cluster.HAMaster{Node: "pve1", RoundAt: time.Unix(1764374461, 0).UTC()}},
		"never":   {reply: ok(`{"manager_status":{}}`)},
		"no time": {reply: ok(`{"manager_status":{"timestamp":"soon"}}`), fails: true},
		"denied":  {reply: respond(403, "Permission check failed (/, Sys.Audit)", ""), fails: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := inProcess(t, byPath(t, map[string]stubReply{"GET /cluster/ha/status/manager_status": test.reply})).HAMaster(t.Context())
			if got != test.want || (err != nil) != test.fails {
				t.Errorf("got %+v, error %v, want %+v, error %t", got, err, test.want, test.fails)
			}
		})
	}
}
