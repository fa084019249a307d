//go:build integration

package tour

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// page is a page of the manual.
type page struct {
	testing.TB
	name string
	text string
}

func readPage(t testing.TB, name string) page {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", name))
	must(t, err)
	return page{t, name, string(text)}
}

// section returns what is below a heading, up to the next heading of any level.
func (p page) section(heading string) page {
	p.Helper()
	_, after, found := strings.Cut(p.text, "\n"+heading+"\n")
	if !found {
		p.Fatalf("docs/%s: got no heading %q", p.name, heading)
	}
	if next := regexp.MustCompile(`(?m)^##+ `).FindStringIndex(after); next != nil {
		after = after[:next[0]]
	}
	return page{p.TB, p.name + " " + heading, after}
}

// blocks returns the fenced blocks of a language.
func (p page) blocks(language string) []string {
	var list []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(p.text, -1) {
		list = append(list, m[1])
	}
	return list
}

// commands returns a number of blocks of commands. A page with another number was changed, and the test has to follow.
func (p page) commands(number int) []string {
	p.Helper()
	list := p.blocks("sh")
	if len(list) != number {
		p.Fatalf("docs/%s: got %d blocks of commands, want %d:\n%s", p.name, len(list), number, strings.Join(list, "--\n"))
	}
	return list
}

// files returns the files that the page shows, by the names in their first lines.
func (p page) files() map[string]string {
	p.Helper()
	found := map[string]string{}
	for _, block := range p.blocks("yaml") {
		if name, _, named := strings.Cut(strings.TrimPrefix(block, "# "), "\n"); named && strings.HasPrefix(block, "# ") {
			found[name] = block
		}
	}
	if len(found) == 0 {
		p.Fatalf("docs/%s: got no file whose first line is its name", p.name)
	}
	return found
}

// fill replaces a value that the page shows as an example. It has to occur.
func fill(t testing.TB, commands, example, value string) string {
	t.Helper()
	if !strings.Contains(commands, example) {
		t.Fatalf("got no %q to fill in:\n%s", example, commands)
	}
	return strings.ReplaceAll(commands, example, value)
}
