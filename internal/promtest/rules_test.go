package promtest

import (
	"regexp"
	"testing"
)

func TestScale(t *testing.T) {
	tests := map[string]struct{ give, want Rule }{
		"for and an age": {
			Rule{Expr: "time() - (metric > 0) > 15 * 60", For: "5m"},
			Rule{Expr: "time() - (metric > 0) > 15 * 60 / 60", For: "5s"},
		},
		"ranges":       {Rule{Expr: "rate(a[5m]) / rate(b[6h]) > 0.1"}, Rule{Expr: "rate(a[5s]) / rate(b[360s]) > 0.1"}},
		"an offset":    {Rule{Expr: "a == a offset 10m"}, Rule{Expr: "a == a offset 10s"}},
		"days":         {Rule{Expr: "time() - (metric > 0) > 14 * 86400"}, Rule{Expr: "time() - (metric > 0) > 14 * 86400 / 43200"}},
		"hours":        {Rule{Expr: "x > 60 * 60"}, Rule{Expr: "x > 60 * 60 / 60"}},
		"24 hours":     {Rule{Expr: "x > 24 * 3600"}, Rule{Expr: "x > 24 * 3600 / 43200"}},
		"an expiry":    {Rule{Expr: "(metric > 0) - time() < 30 * 86400"}, Rule{Expr: "(metric > 0) - time() < 30 * 86400"}},
		"a share":      {Rule{Expr: "a > 14.4 * 0.01 and b > 6 * 0.01"}, Rule{Expr: "a > 14.4 * 0.01 and b > 6 * 0.01"}},
		"a rule named": {Rule{Expr: "gitops_agent:pushes_slow:ratio_rate6h > 0.1"}, Rule{Expr: "gitops_agent:pushes_slow:ratio_rate6h > 0.1"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := test.give.scale()
			if err != nil || got.Expr != test.want.Expr || got.For != test.want.For {
				t.Errorf("got %+v, %v, want %+v", got, err, test.want)
			}
		})
	}
	for _, wrong := range []Rule{{For: "soon"}, {Expr: "rate(a[1y])"}} {
		if got, err := wrong.scale(); err == nil {
			t.Errorf("got %+v, want an error", got)
		}
	}
}

// TestEveryTimeIsScaled checks that no age and no range of the shipped rules escapes the patterns of scale.
func TestEveryTimeIsScaled(t *testing.T) {
	product := regexp.MustCompile(`([<>]) \d+ \* (60|3600|86400)\b( / \d+)?`)
	for _, file := range ReadRules(t, "../../metrics/rules") {
		for _, group := range file.Groups {
			for _, r := range group.Rules {
				scaled, err := r.scale()
				if err != nil {
					t.Error(err)
				}
				for _, m := range product.FindAllStringSubmatch(scaled.Expr, -1) {
					if expiry := m[1] == "<"; expiry == (m[3] != "") {
						t.Errorf("%s: got %q, want an age divided and an expiry as it is", r.Alert, m[0])
					}
				}
				if left := regexp.MustCompile(`\[\d+[mhdwy]`).FindString(scaled.Expr); left != "" {
					t.Errorf("%s%s: got the range %s, want seconds", r.Alert, r.Record, left)
				}
			}
		}
	}
}
