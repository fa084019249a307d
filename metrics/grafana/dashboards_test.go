package grafana_test

import (
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/metrics/grafana"
)

var update = flag.Bool("update", false, "rewrite the dashboards")

func TestFilesAreUpToDate(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]grafana.Dashboard{"fleet": grafana.Fleet(), "guest": grafana.Guest(), "agent": grafana.Agent()} {
		got, err := json.MarshalIndent(d, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, '\n')
		path := name + ".json"
		if *update {
			if err := os.WriteFile(path, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-file +code; -update rewrites it):\n%s", path, diff)
		}
	}
}
