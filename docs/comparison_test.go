package docs_test

import (
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	examples "gitops-agent/examples/manifests"
)

// TestComparisonCounts compares the counts of docs/comparison.md with the manifests of the company and with its HCL.
func TestComparisonCounts(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("comparison.md")
	if err != nil {
		t.Fatal(err)
	}
	hcl, err := os.ReadFile("../examples/terraform/company.tf")
	if err != nil {
		t.Fatal(err)
	}
	var manifests strings.Builder
	err = fs.WalkDir(examples.Files, "company", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(examples.Files, path)
		manifests.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	yamlLines, yamlBytes := count(manifests.String())
	hclLines, hclBytes := count(string(hcl))
	for _, row := range []string{
		fmt.Sprintf("| lines, without comments and empty ones | %d | %d |", yamlLines, hclLines),
		fmt.Sprintf("| bytes of these lines | %s | %s |", yamlBytes, hclBytes),
	} {
		if !strings.Contains(string(page), row+"\n") {
			t.Errorf("docs/comparison.md lacks the row %s", row)
		}
	}
}

// notCounted are lines without content.
var notCounted = regexp.MustCompile(`^\s*(#.*|---)?$`)

// count returns the number of lines with content, and their bytes with their line ends, in thousands.
func count(text string) (lines int, bytes string) {
	n := 0
	for line := range strings.Lines(text) {
		if !notCounted.MatchString(strings.TrimSuffix(line, "\n")) {
			lines, n = lines+1, n+len(line)
		}
	}
	return lines, fmt.Sprintf("%d,%03d", n/1000, n%1000)
}
