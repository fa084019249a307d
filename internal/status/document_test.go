package status_test

import (
	"encoding/json"
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
