package status_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/report"
)

func TestStatusJSON(t *testing.T) {
	t.Parallel()
	for name, sample := range samples() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, body := ask(t, optionsFor(sample), "GET", "/status.json")
			var got report.Document
			if err := json.Unmarshal([]byte(body), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(report.NewDocument(sample), got); diff != "" {
				t.Errorf("read back (-want +got):\n%s", diff)
			}
			var fields map[string]json.RawMessage
			if err := json.Unmarshal([]byte(body), &fields); err != nil {
				t.Fatal(err)
			}
			for field, want := range map[string]string{"schemaVersion": "1", "cluster": `"pve-lab"`} {
				if string(fields[field]) != want {
					t.Errorf("got %s %s beside the other fields, want %s", field, fields[field], want)
				}
			}
			for _, list := range []string{"guests", "unmanaged"} {
				if string(fields[list]) == "null" {
					t.Errorf("got null for %s, want a list", list)
				}
			}
		})
	}
}

func TestStatusJSONGolden(t *testing.T) {
	t.Parallel()
	_, body := ask(t, optionsFor(troubled()), "GET", "/status.json")
	golden(t, "status.golden.json", []byte(body))
}

// The parameter guest selects one guest, with its neighbours, its configuration and its history.
func TestStatusJSONOfOneGuest(t *testing.T) {
	t.Parallel()
	opts := full()
	for _, name := range []string{"211", "VirtualMachine/web-1", "web-1"} {
		_, body := ask(t, opts, "GET", "/status.json?guest="+name)
		var got report.GuestDocument
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatal(err)
		}
		wantNeeds := []report.Neighbour{{Guest: "VirtualMachine/db-1", Sync: report.Synced, Health: report.Healthy}, {Guest: "Container/dns-1", Sync: report.Synced, Health: report.Healthy}}
		if diff := cmp.Diff(wantNeeds, got.Needs); diff != "" || got.SchemaVersion != report.SchemaVersion || got.Guest.VMID != 211 || len(got.Values) == 0 || got.NeededBy == nil {
			t.Errorf("%s: got %s\nneeds (-want +got):\n%s", name, body, diff)
		}
	}
	if res, _ := ask(t, opts, "GET", "/status.json?guest=999"); res.Code != http.StatusNotFound {
		t.Errorf("got %d for a guest that does not exist, want 404", res.Code)
	}
}
