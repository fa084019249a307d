package comment

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"gitops-agent/internal/forge"
)

// name matches the names of comments. Two hyphens would end the HTML comment in which the marker is.
var name = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,99}$`) })

// CheckName returns an error if a comment cannot have the name.
func CheckName(text string) error {
	if !name().MatchString(text) || strings.Contains(text, "--") {
		return fmt.Errorf("got the name %q, want up to 100 letters, digits, and . _ / - between them", text)
	}
	return nil
}

// limits are the longest bodies that the forges accept, in characters. Gitea and Forgejo have none of their own.
//
// Source: GitHub "body is too long (maximum is 65536 characters)"; GitLab, Limits, "Size of comments and descriptions".
var limits = map[forge.Kind]int{forge.GitHub: 65_536, forge.GitLab: 1_000_000, forge.Gitea: 250_000}

const cut = "\n\n**The rest is omitted**: the comment would be too long for the forge. The output of the job has all of it.\n"

// bodyOf returns a comment with its marker, cut at the end of a line if the forge would refuse its length.
func bodyOf(kind forge.Kind, markerName string, run uint64, text string) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if kind == forge.GitLab { // a line that begins with a slash is a command, such as /merge
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			if strings.HasPrefix(strings.TrimLeft(line, " \t\r"), "/") {
				lines[i] = "\u200b" + line
			}
		}
		text = strings.Join(lines, "\n")
	}
	body := marker(markerName) + strconv.FormatUint(run, 10) + " -->\n" + text
	const closing = "</details>\n"
	room := limits[kind] - utf8.RuneCountInString(cut) - 2*len(closing)
	if utf8.RuneCountInString(body) <= limits[kind] {
		return body
	}
	body = string([]rune(body)[:room])
	body = body[:strings.LastIndexByte(body, '\n')+1]
	if strings.Count(body, "<details>") > strings.Count(body, "</details>") {
		body += "\n" + closing
	}
	return body + cut
}

// marker returns the beginning of the first line of a comment, before its run.
func marker(markerName string) string { return "<!-- gitops-agent comment " + markerName + " run " }

// runOf returns the run that wrote a comment, and whether the comment has the marker.
func runOf(markerName, body string) (run uint64, found bool) {
	rest, found := strings.CutPrefix(body, marker(markerName))
	if !found {
		return 0, false
	}
	digits, _, found := strings.Cut(rest, " -->")
	run, err := strconv.ParseUint(digits, 10, 64)
	return run, found && err == nil
}
