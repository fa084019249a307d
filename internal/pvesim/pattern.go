package pvesim

import (
	"regexp"
	"sync"
)

// pattern is a regular expression that is compiled when it is used first. A program that contains the simulator and does not use it starts without them.
type pattern struct{ compiled func() *regexp.Regexp }

func newPattern(expr string) *pattern {
	return &pattern{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })}
}

func (p *pattern) MatchString(s string) bool            { return p.compiled().MatchString(s) }
func (p *pattern) FindStringSubmatch(s string) []string { return p.compiled().FindStringSubmatch(s) }

func (p *pattern) FindAllStringSubmatch(s string, n int) [][]string {
	return p.compiled().FindAllStringSubmatch(s, n)
}

func (p *pattern) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return p.compiled().FindAllStringSubmatchIndex(s, n)
}

func (p *pattern) ReplaceAllString(s, replacement string) string {
	return p.compiled().ReplaceAllString(s, replacement)
}

func (p *pattern) Split(s string, n int) []string { return p.compiled().Split(s, n) }
