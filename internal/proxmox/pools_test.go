package proxmox

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"

	"github.com/google/go-cmp/cmp"
)

func TestPoolsOnSimulator(t *testing.T) {
	simulate(t, func(t *testing.T, sim *pvesim.Sim, client *Client) {
		sim.AddPool("prod", "")
		got, err := client.Pools(t.Context())
		if err != nil || !slices.Contains(got, "prod") {
			t.Errorf("got pools %v, %v, want prod among them", got, err)
		}
	})
}

func TestPoolComment(t *testing.T) {
	tests := map[string]struct {
		reply   stubReply
		want    string
		found   bool
		wantErr bool
	}{
		"there":      {ok(`[{"poolid":"gitops-agent","comment":"main 42","members":[{"id":"qemu/100"}]}]`), "main 42", true, false},
		"no_comment": {ok(`[{"poolid":"gitops-agent"}]`), "", true, false},
		"absent":     {refused("pool 'gitops-agent' does not exist"), "", false, false},
		"other":      {refused("pool 'other' does not exist"), "", false, true},
		"empty":      {ok(`[]`), "", false, true},
		"mixed_up":   {ok(`[{"poolid":"other","comment":"x"}]`), "", false, true},
		"denied":     {respond(403, "Permission check failed (/pool/gitops-agent, Pool.Audit)", ""), "", false, true},
		"gateway":    {respond(599, "", ""), "", false, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			client := inProcess(t, byPath(t, map[string]stubReply{
				"GET /pools?poolid=gitops-agent": test.reply,
			}))
			got, found, err := client.PoolComment(t.Context(), "gitops-agent")
			if got != test.want || found != test.found || (err != nil) != test.wantErr {
				t.Errorf("got %q, %v, error %v, want %q, %v, error: %v", got, found, err, test.want, test.found, test.wantErr)
			}
		})
	}
	if _, _, err := inProcess(t, always(200, "OK", "")).PoolComment(t.Context(), "a&b"); err == nil {
		t.Error("got no error for a bad pool name, want one")
	}
}

func TestSetPoolComment(t *testing.T) {
	exists := false
	server := &recorder{next: func(s seen) stubReply {
		if s.Method == http.MethodPut && !exists {
			return refused("update pools failed: pool 'gitops-agent' does not exist")
		}
		exists = true
		return ok(`null`)
	}}
	client := inProcess(t, server)
	for _, comment := range []string{"first", "second"} {
		if err := client.SetPoolComment(t.Context(), "gitops-agent", comment); err != nil {
			t.Fatal(err)
		}
	}
	body := func(comment string) string { return `{"comment":"` + comment + `","poolid":"gitops-agent"}` }
	want := []seen{
		{"PUT", "/pools", body("first"), "application/json"},
		{"POST", "/pools", body("first"), "application/json"},
		{"PUT", "/pools", body("second"), "application/json"},
	}
	if diff := cmp.Diff(want, server.got); diff != "" {
		t.Errorf("requests (-want +got)\n%s", diff)
	}
	if err := client.SetPoolComment(t.Context(), "gitops-agent", "a\nb"); err == nil {
		t.Error("got no error for two lines, want one")
	}
	if err := inProcess(t, always(596, "", "")).SetPoolComment(t.Context(), "gitops-agent", "x"); !errors.Is(err, cluster.ErrOutcomeUnknown) {
		t.Errorf("got error %v, want ErrOutcomeUnknown", err)
	}
}
