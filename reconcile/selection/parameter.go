package selection

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"gitops-agent/reconcile/report"
)

// Parameter is one parameter of a selection: a query parameter of the page, and a flag of the command.
type Parameter struct {
	Name  string
	Usage string   // the value in back quotes, as in flags
	Words []string // the possible values; nil is any text
	List  bool     // several values, separated by commas
}

// IsSwitch reports whether the parameter is on or off.
func (p Parameter) IsSwitch() bool { return slices.Equal(p.Words, switchWords) }

var switchWords = []string{"yes"}

// Parameters lists the parameters in the order of the form and of the help.
func Parameters() []Parameter {
	return []Parameter{
		{Name: "search", Usage: "guests whose kind, name, vmid, node or tags contain each word of this `text`"},
		{Name: "node", Usage: "guests on this `node`"},
		{Name: "tag", Usage: "guests with this `tag`"},
		{Name: "sync", Usage: "guests in one of these `states`", Words: texts(report.Syncs()), List: true},
		{Name: "health", Usage: "guests in one of these `states`", Words: texts(report.Healths()), List: true},
		{Name: "held", Usage: "guests with a held step", Words: switchWords},
		{Name: "problems", Usage: "guests that need attention", Words: switchWords},
		{Name: "sort", Usage: "`order` of the guests; a minus before it reverses it", Words: texts(Orders())},
		{Name: "group", Usage: "what the guests are grouped by: `key`", Words: texts(Groupings())},
	}
}

func texts[T ~string](list []T) []string {
	words := make([]string, 0, len(list))
	for _, v := range list {
		words = append(words, string(v))
	}
	return words
}

// Parse reads a selection. The function get returns the value of a parameter, "" if it is not set. Words are compared without case. Wrong values select
// nothing and are in the error.
func Parse(get func(name string) string) (Selection, error) {
	var s Selection
	var problems []error
	for _, p := range Parameters() {
		value := strings.TrimSpace(get(p.Name))
		if value == "" {
			continue
		}
		words := []string{value}
		if p.List {
			words = strings.Split(value, ",")
		}
		for _, word := range words {
			word, err := p.word(strings.TrimSpace(word))
			if err != nil {
				problems = append(problems, err)
				continue
			}
			s.set(p.Name, word)
		}
	}
	return s, errors.Join(problems...)
}

// word returns a value as the parameter spells it.
func (p Parameter) word(value string) (string, error) {
	if p.Words == nil {
		return value, nil
	}
	bare, minus := value, ""
	if p.Name == "sort" && strings.HasPrefix(value, "-") {
		bare, minus = value[1:], "-"
	}
	for _, word := range p.Words {
		if strings.EqualFold(word, bare) {
			return minus + word, nil
		}
	}
	return "", fmt.Errorf("%s %q: want %s", p.Name, value, strings.Join(p.Words, ", "))
}

func (s *Selection) set(name, value string) {
	switch name {
	case "search":
		s.Search = value
	case "node":
		s.Node = value
	case "tag":
		s.Tag = value
	case "sync":
		s.Sync = append(s.Sync, report.Sync(value))
	case "health":
		s.Health = append(s.Health, report.Health(value))
	case "held":
		s.Held = true
	case "problems":
		s.Problems = true
	case "sort":
		s.Order, s.Reverse = Order(strings.TrimPrefix(value, "-")), strings.HasPrefix(value, "-")
	case "group":
		s.Group = Grouping(value)
	}
}

// Values returns the parameters of the selection that are set.
func (s Selection) Values() url.Values {
	v := url.Values{}
	add := func(name, value string) {
		if value != "" {
			v.Set(name, value)
		}
	}
	yes := func(on bool) string {
		if on {
			return "yes"
		}
		return ""
	}
	add("search", s.Search)
	add("node", s.Node)
	add("tag", s.Tag)
	add("sync", strings.Join(texts(s.Sync), ","))
	add("health", strings.Join(texts(s.Health), ","))
	add("held", yes(s.Held))
	add("problems", yes(s.Problems))
	if s.Order != "" && s.Reverse {
		add("sort", "-"+string(s.Order))
	} else {
		add("sort", string(s.Order))
	}
	add("group", string(s.Group))
	return v
}
