package guest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChangesOutsideConfig(t *testing.T) {
	tests := map[string]struct {
		want Desired
		keys map[string]string
	}{
		"nothing":   {Desired{}, map[string]string{}},
		"pool":      {Desired{Pool: "prod"}, map[string]string{"pool": "prod"}},
		"ha":        {Desired{HA: &HAWanted{State: "started"}}, map[string]string{"ha": "started, restart 1, relocate 1"}},
		"ha_absent": {Desired{HA: &HAWanted{Absent: true}}, map[string]string{}},
		"both": {
			Desired{Pool: "prod", HA: &HAWanted{State: "stopped"}},
			map[string]string{"ha": "stopped, restart 1, relocate 1", "pool": "prod"},
		},
		"ignored_later": {
			Desired{Pool: "prod", HA: &HAWanted{State: "stopped"}, Ignore: []string{"ha", "pool", "template"}, Template: true},
			map[string]string{"ha": "stopped, restart 1, relocate 1", "pool": "prod", "template": "1"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := map[string]string{}
			for _, c := range ChangesOutsideConfig(test.want) {
				if c.Key == "template" && (c.From != "0" || c.Class != Disruptive) {
					t.Errorf("got %s from %q, %s; want it from 0 and disruptive", c.Key, c.From, c.Class)
				}
				if c.Key != "template" && (c.From != "" || c.Class != Live) {
					t.Errorf("got %s from %q, %s; want it from nothing and live", c.Key, c.From, c.Class)
				}
				got[c.Key] = c.To
			}
			if diff := cmp.Diff(test.keys, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
