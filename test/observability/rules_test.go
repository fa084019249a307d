//go:build integration

package observability

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// The factors by which times in the rules are divided, so that the test takes minutes: a minute becomes a second, and an age of a day or more passes
// in two seconds for each day.
const (
	minuteFactor = 60
	dayFactor    = 43200
)

// ruleFile is a file of rules as Prometheus reads it.
type ruleFile struct {
	Groups []struct {
		Name  string
		Rules []rule
	}
}

type rule struct {
	Alert       string            `yaml:",omitempty"`
	Record      string            `yaml:",omitempty"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:",omitempty"`
	Labels      map[string]string `yaml:",omitempty"`
	Annotations map[string]string `yaml:",omitempty"`
}

// readRules returns the files of rules as they are shipped, by name.
func readRules(t testing.TB) map[string]ruleFile {
	t.Helper()
	paths, err := filepath.Glob("../../metrics/rules/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("got %d files of rules: %v", len(paths), err)
	}
	files := map[string]ruleFile{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var file ruleFile
		if err := yaml.Unmarshal(text, &file); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		files[filepath.Base(path)] = file
	}
	return files
}

// alertNames returns the names of all alerts, sorted.
func alertNames(files map[string]ruleFile) []string {
	var names []string
	for _, file := range files {
		for _, group := range file.Groups {
			for _, r := range group.Rules {
				if r.Alert != "" {
					names = append(names, r.Alert)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

// scale divides the times of a rule: its for, its ranges, and the bound of an age. A time until something expires stays as it is, and so does
// everything else.
func (r rule) scale() (rule, error) {
	if r.For != "" {
		d, err := time.ParseDuration(r.For)
		if err != nil {
			return rule{}, fmt.Errorf("%s%s: for: %w", r.Alert, r.Record, err)
		}
		r.For = (d / minuteFactor).String()
	}
	var problem error
	r.Expr = ranges.ReplaceAllStringFunc(r.Expr, func(text string) string {
		d, err := time.ParseDuration(strings.Trim(text, "[]"))
		if err != nil {
			problem = fmt.Errorf("%s%s: range %s: %w", r.Alert, r.Record, text, err)
		}
		return fmt.Sprintf("[%ds]", int((d / minuteFactor).Seconds()))
	})
	r.Expr = ages.ReplaceAllStringFunc(r.Expr, func(text string) string {
		n := ages.FindStringSubmatch(text)
		count, _ := strconv.Atoi(n[1]) // the pattern has digits
		unit, _ := strconv.Atoi(n[2])
		if count*unit < 86400 {
			return fmt.Sprintf("%s / %d", text, minuteFactor)
		}
		return fmt.Sprintf("%s / %d", text, dayFactor)
	})
	return r, problem
}

var (
	ranges = regexp.MustCompile(`\[[0-9a-z]+\]`)
	ages   = regexp.MustCompile(`> (\d+) \* (60|3600|86400)\b`)
)

// writeScaled writes the scaled rules to a folder, and returns how many rules it wrote.
func writeScaled(t testing.TB, files map[string]ruleFile, dir string) int {
	t.Helper()
	count := 0
	for name, file := range files {
		for g := range file.Groups {
			for i, r := range file.Groups[g].Rules {
				scaled, err := r.scale()
				if err != nil {
					t.Fatal(err)
				}
				file.Groups[g].Rules[i] = scaled
				count++
			}
		}
		text, err := yaml.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return count
}

func TestScale(t *testing.T) {
	tests := map[string]struct{ give, want rule }{
		"for and an age": {
			rule{Expr: "time() - (metric > 0) > 15 * 60", For: "5m"},
			rule{Expr: "time() - (metric > 0) > 15 * 60 / 60", For: "5s"},
		},
		"ranges":       {rule{Expr: "rate(a[5m]) / rate(b[6h]) > 0.1"}, rule{Expr: "rate(a[5s]) / rate(b[360s]) > 0.1"}},
		"days":         {rule{Expr: "time() - (metric > 0) > 14 * 86400"}, rule{Expr: "time() - (metric > 0) > 14 * 86400 / 43200"}},
		"hours":        {rule{Expr: "x > 60 * 60"}, rule{Expr: "x > 60 * 60 / 60"}},
		"24 hours":     {rule{Expr: "x > 24 * 3600"}, rule{Expr: "x > 24 * 3600 / 43200"}},
		"an expiry":    {rule{Expr: "(metric > 0) - time() < 30 * 86400"}, rule{Expr: "(metric > 0) - time() < 30 * 86400"}},
		"a share":      {rule{Expr: "a > 14.4 * 0.01 and b > 6 * 0.01"}, rule{Expr: "a > 14.4 * 0.01 and b > 6 * 0.01"}},
		"a rule named": {rule{Expr: "gitops_agent:pushes_slow:ratio_rate6h > 0.1"}, rule{Expr: "gitops_agent:pushes_slow:ratio_rate6h > 0.1"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := test.give.scale()
			if err != nil || got.Expr != test.want.Expr || got.For != test.want.For {
				t.Errorf("got %+v, %v, want %+v", got, err, test.want)
			}
		})
	}
	for _, wrong := range []rule{{For: "soon"}, {Expr: "rate(a[1y])"}} {
		if got, err := wrong.scale(); err == nil {
			t.Errorf("got %+v, want an error", got)
		}
	}
}

// TestEveryTimeIsScaled checks that no age and no range of the shipped rules escapes the patterns of scale.
func TestEveryTimeIsScaled(t *testing.T) {
	product := regexp.MustCompile(`([<>]) \d+ \* (60|3600|86400)\b( / \d+)?`)
	for _, file := range readRules(t) {
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
