package model_test

import (
	"flag"
	"maps"
	"strconv"
	"strings"
	"testing"
)

var (
	modelLimit    = flag.Int("model-paths", 60, "paths of each scenario; 0 runs all, of a large scenario only if it is the only one")
	modelScenario = flag.String("scenario", "", "the only scenario to search, or to replay")
	modelEvents   = flag.Int("model-events", 1, "what else happens in a path of two managers, at most")
	modelChoices  = flag.String("choices", "", "choices of the path to replay, such as 0,2,1")
)

// TestModel searches every scenario.
func TestModel(t *testing.T) {
	for _, s := range scenarios(t) {
		if *modelScenario != "" && *modelScenario != s.name {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			limit := *modelLimit
			if limit == 0 && s.large && *modelScenario == "" {
				limit = 2000
			}
			f := s.search(t, limit, map[uint64]bool{})
			f.print(t.Output(), s.name)
			if f.violation != "" {
				t.Errorf("%s\n%s\nrepeat it with -run TestReplay -scenario %s -choices %s", f.violation, strings.Join(f.trace, "\n"), s.name, texts(f.choices))
			}
		})
	}
}

// TestTheSearchLosesNoEnd searches the smaller worlds with and without leaving out what follows a known state. Both must end in the same states.
func TestTheSearchLosesNoEnd(t *testing.T) {
	for _, s := range scenarios(t) {
		if s.unpruned == 0 || s.unpruned > 300 && *modelLimit != 0 {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			whole, short := s.search(t, 0, nil), s.search(t, 0, map[uint64]bool{})
			if !whole.complete || !short.complete || !maps.Equal(whole.ends, short.ends) || short.paths >= whole.paths {
				t.Errorf("got %d ends in %d paths, want the %d ends of all %d paths", len(short.ends), short.paths, len(whole.ends), whole.paths)
			}
			t.Logf("%d ends, %d of %d paths", len(short.ends), short.paths, whole.paths)
		})
	}
}

// TestReplay runs one path and prints it.
func TestReplay(t *testing.T) {
	var choices []int
	for text := range strings.SplitSeq(*modelChoices, ",") {
		n, err := strconv.Atoi(text)
		if err != nil && text != "" {
			t.Fatal(err)
		}
		if err == nil {
			choices = append(choices, n)
		}
	}
	show := func(trace []string, violation string) {
		t.Log("\n" + strings.Join(trace, "\n"))
		if violation != "" {
			t.Error(violation)
		}
	}
	for _, s := range scenarios(t) {
		if *modelScenario == s.name {
			r, _, _ := s.path(t, s.begin(t), scratch(t), choices, nil, nil)
			show(r.trace, r.violation)
		}
	}
	for _, s := range haScenarios() {
		if *modelScenario == s.name {
			p, _ := s.path(t, s.sign(t), choices, nil)
			show(p.trace, p.violation)
		}
	}
}

func texts(choices []int) string {
	var list []string
	for _, c := range choices {
		list = append(list, strconv.Itoa(c))
	}
	return strings.Join(list, ",")
}
