package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metricsql"
)

// docBlock is a fenced block of a page.
type docBlock struct {
	page  string
	line  int // of its first line
	lang  string
	text  string // without the indentation of the fence
	needs string // what the mark above it names, empty without a mark
}

func (b docBlock) String() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

// isCommands reports whether readers type the block.
func (b docBlock) isCommands() bool { return b.lang == "sh" || b.lang == "console" }

// script returns what readers type: all lines, or the lines behind the prompts of a session with output.
func (b docBlock) script() string {
	if b.lang == "sh" {
		return b.text
	}
	var typed strings.Builder
	for line := range strings.Lines(b.text) {
		if command, found := strings.CutPrefix(line, "$ "); found {
			typed.WriteString(command)
		}
	}
	return typed.String()
}

// howToMark explains a block of commands that fails.
const howToMark = `A block with commands runs in this test, on a simulated cluster (docs_run_test.go). If that is not possible, put a line such as
*Needs: root on the agent's host.*
above it, which readers see too. CONTRIBUTING.md, "A page", has the rules.`

// docNeeds are what a block of commands may need so that the test does not run it.
var docNeeds = []string{
	"a real cluster", "a node of Proxmox VE", "root on the agent's host", "root on the Prometheus host", "root on the forge", "the network", "cosign", "a forge", "time", "promtool",
	"a checkout of gitops-agent", "a running simulator", "Debian", "a release", "a job of a forge", "a container engine", "Kubernetes",
	"age", "sops", "manifests of your own", "agents of several clusters", "an etcd", "attestations", "jq",
}

var (
	fence   = regexp.MustCompile("^( *)```([a-z]*)$")
	docMark = regexp.MustCompile(`^\s*\*Needs: (.+)\.\*$`)
	listSep = regexp.MustCompile(`, | and `)
)

// docBlocks returns the blocks of a page in order.
func docBlocks(page, text string) []docBlock {
	var blocks []docBlock
	var open *docBlock
	var indent, above string
	for i, line := range strings.Split(text, "\n") {
		switch found := fence.FindStringSubmatch(line); {
		case open != nil && strings.TrimRight(line, " ") == indent+"```":
			blocks, open = append(blocks, *open), nil
		case open != nil:
			open.text += strings.TrimPrefix(line, indent) + "\n"
		case found != nil:
			indent = found[1]
			open = &docBlock{page: page, line: i + 2, lang: found[2]}
			if mark := docMark.FindStringSubmatch(above); mark != nil {
				open.needs = mark[1]
			}
			above = ""
		case strings.TrimSpace(line) != "":
			above = line
		}
	}
	return blocks
}

// allBlocks returns the blocks of every page.
func allBlocks(t *testing.T) []docBlock {
	t.Helper()
	pages := manuals(t)
	var blocks []docBlock
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		blocks = append(blocks, docBlocks(page, pages[page])...)
	}
	return blocks
}

// Every block says what it is, every mark is one that is known, and commands are in blocks that the other tests read.
func TestDocBlocksAreKnown(t *testing.T) {
	t.Parallel()
	for _, b := range allBlocks(t) {
		switch b.lang {
		case "sh", "console", "yaml":
		case "go", "json", "nginx", "ini", "html", "markdown", "hcl":
		case "text":
			if regexp.MustCompile(`(?m)^\$ `).MatchString(b.text) {
				t.Errorf("%v: got a prompt in a block of text, want ```console", b)
			}
		case "promql":
			for expression := range strings.SplitSeq(strings.TrimSpace(b.text), "\n\n") {
				if _, err := metricsql.Parse(expression); err != nil {
					t.Errorf("%v: got an expression that does not parse: %v", b, err)
				}
			}
		default:
			t.Errorf("%v: got a block of language %q, want one of sh, console, yaml, promql, text for output, diagrams and synopses, or another known one", b, b.lang)
		}
		if b.needs == "" {
			continue
		}
		if !b.isCommands() {
			t.Errorf("%v: got the mark of a block of commands above a block of %s", b, b.lang)
		}
		for _, need := range listSep.Split(b.needs, -1) {
			if !slices.Contains(docNeeds, need) {
				t.Errorf("%v: got the need %q, want those of docNeeds: %s", b, need, strings.Join(docNeeds, "; "))
			}
		}
	}
	for page, text := range manuals(t) {
		for _, line := range regexp.MustCompile(`(?m)^ {4}(?:\$ .*|gitops-agent [a-z].*)$`).FindAllString(withoutFences(text), -1) {
			t.Errorf("%s: got the indented command %q, want a fenced block of language sh, console or text", page, strings.TrimSpace(line))
		}
	}
}

// withoutFences returns a page without its fenced blocks.
func withoutFences(text string) string {
	return regexp.MustCompile("(?ms)^ *(```[a-z]*\n.*?^ *```|~~~~[a-z]*\n.*?^ *~~~~)$").ReplaceAllString(text, "")
}

func TestDocBlocks(t *testing.T) {
	t.Parallel()
	got := docBlocks("page.md", "Text\n\n*Needs: root on the agent's host and the network.*\n\n```sh\na\n```\n1. One:\n\n   ```console\n   $ b\n   out\n   $ c\n   ```\n")
	if len(got) != 2 || got[0].needs != "root on the agent's host and the network" || got[0].line != 6 || got[1].needs != "" || got[1].script() != "b\nc\n" {
		t.Errorf("got %+v, want a marked and an unmarked block", got)
	}
}
