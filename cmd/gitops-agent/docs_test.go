package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// manuals returns every page of the project, by its path from the module's root.
func manuals(t *testing.T) map[string]string {
	t.Helper()
	root := filepath.Join("..", "..")
	pages := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/adr/*.md", "docs/internals/*.md", "test/*.md"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			pages[strings.TrimPrefix(path, root+string(filepath.Separator))] = string(text)
		}
	}
	if len(pages) < 10 {
		t.Fatalf("got %d pages, want the manual", len(pages))
	}
	return pages
}

var (
	linkTarget  = regexp.MustCompile(`\]\(([^)#:\s]*)(?:#([^)]*))?\)`)
	commandLine = regexp.MustCompile("(?m)(?:`|^\\s*(?:\\$ )?)gitops-agent +([a-z][a-z-]*)")
)

// Every link of a page leads to a file that is there, and to a heading of it.
func TestManualLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	pages := manuals(t)
	anchors := map[string][]string{}
	for page, text := range pages {
		anchors[page] = headingAnchors(text)
	}
	for page, text := range pages {
		for _, link := range linkTarget.FindAllStringSubmatch(text, -1) {
			target := page
			if link[1] != "" {
				target = filepath.Join(filepath.Dir(page), link[1])
			}
			if _, err := os.Stat(filepath.Join("..", "..", target)); err != nil {
				t.Errorf("%s: got a link to %s, which is not there", page, link[1])
			}
			if known, isPage := anchors[target]; isPage && link[2] != "" && !slices.Contains(known, link[2]) {
				t.Errorf("%s: got a link to the heading %s of %s, which is not there", page, link[2], target)
			}
		}
	}
}

// headingAnchors returns the anchors that GitHub gives the headings of a page.
func headingAnchors(text string) []string {
	var anchors []string
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(withoutFences(text), -1) {
		title := regexp.MustCompile(`\]\([^)]*\)`).ReplaceAllString(heading[1], "")
		kept := regexp.MustCompile(`[^\p{L}\p{N}\s_-]`).ReplaceAllString(strings.ToLower(title), "")
		anchors = append(anchors, strings.ReplaceAll(kept, " ", "-"))
	}
	return anchors
}

func TestManualNamesCommandsThatExist(t *testing.T) {
	t.Parallel()
	root := newRootCommand(&program{out: io.Discard, err: io.Discard})
	root.InitDefaultHelpCmd()
	var names []string
	for _, cmd := range root.Commands() {
		names = append(names, cmd.Name())
	}
	names = append(names, "floor") // the comment of the pool begins with "gitops-agent floor"
	for page, text := range manuals(t) {
		for _, found := range commandLine.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(names, found[1]) {
				t.Errorf("%s: got the command gitops-agent %s, which does not exist", page, found[1])
			}
		}
	}
}
