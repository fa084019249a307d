package promtest

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

// RuleFile is a file of rules as Prometheus reads it.
type RuleFile struct {
	Groups []struct {
		Name  string
		Rules []Rule
	}
}

// Rule is an alert or a recording rule.
type Rule struct {
	Alert       string            `yaml:",omitempty"`
	Record      string            `yaml:",omitempty"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:",omitempty"`
	Labels      map[string]string `yaml:",omitempty"`
	Annotations map[string]string `yaml:",omitempty"`
}

// ReadRules returns the files of rules in a folder, by name.
func ReadRules(t testing.TB, folder string) map[string]RuleFile {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("got %d files of rules: %v", len(paths), err)
	}
	files := map[string]RuleFile{}
	for _, path := range paths {
		text, err := os.ReadFile(path) //nolint:gosec // a file of the repository
		if err != nil {
			t.Fatal(err)
		}
		var file RuleFile
		if err := yaml.Unmarshal(text, &file); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		files[filepath.Base(path)] = file
	}
	return files
}

// AlertNames returns the names of all alerts, sorted.
func AlertNames(files map[string]RuleFile) []string {
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
func (r Rule) scale() (Rule, error) {
	if r.For != "" {
		d, err := time.ParseDuration(r.For)
		if err != nil {
			return Rule{}, fmt.Errorf("%s%s: for: %w", r.Alert, r.Record, err)
		}
		r.For = (d / minuteFactor).String()
	}
	var problem error
	r.Expr = ranges.ReplaceAllStringFunc(r.Expr, func(text string) string {
		d, err := time.ParseDuration(strings.TrimPrefix(strings.Trim(text, "[:]"), "offset "))
		if err != nil {
			problem = fmt.Errorf("%s%s: range %s: %w", r.Alert, r.Record, text, err)
		}
		return strings.Replace(text, strings.TrimPrefix(strings.Trim(text, "[:]"), "offset "), fmt.Sprintf("%ds", int((d/minuteFactor).Seconds())), 1)
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
	ranges = regexp.MustCompile(`\[[0-9a-z]+:?\]|offset [0-9a-z]+`)
	ages   = regexp.MustCompile(`> (\d+) \* (60|3600|86400)\b`)
)

// WriteScaled writes the scaled rules to a folder, and returns how many rules it wrote.
func WriteScaled(t testing.TB, files map[string]RuleFile, dir string) int {
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
