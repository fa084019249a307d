package tree

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// keyed matches a line with a key and a value on it.
var keyed = regexp.MustCompile(`^(\s*(?:- )*[A-Za-z0-9_./-]+:[ \t]+)(\S.*?)(\s*)$`)

// syntaxHint says how to mend the first line that the library cannot read, "" if that is not clear. It describes an edit of the line with which the library reads
// the file up to it. It does not repeat the value, which may be a password in the wrong place.
func syntaxHint(lines [][]byte, broken int) string {
	if broken < 1 || broken > len(lines) {
		return ""
	}
	before, line := bytes.Join(lines[:broken-1], nil), string(lines[broken-1])
	mends := func(edited string) bool { return parses(slices.Concat(before, []byte(edited))) }
	if m := keyed.FindStringSubmatch(line); m != nil {
		key, value, end := m[1], m[2], m[3]
		if hint := valueHint(value, func(v string) bool { return mends(key + v + end) }); hint != "" {
			return hint
		}
	}
	text := strings.TrimLeft(line, " ")
	own := len(line) - len(text)
	for n := broken - 2; n >= 0; n-- {
		other := string(lines[n])
		indent := len(other) - len(strings.TrimLeft(other, " "))
		if strings.TrimSpace(other) == "" || indent == own || !mends(strings.Repeat(" ", indent)+text) {
			continue
		}
		if n == broken-2 && indent < own && keyed.MatchString(other) {
			return fmt.Sprintf("line %d has a value, so nothing can be below it: indent this line by %d spaces as that one, or remove the value", n+1, indent)
		}
		return fmt.Sprintf("indent it by %d spaces, as line %d: it has %d", indent, n+1, own)
	}
	return ""
}

// valueHint says how to mend the value of a key. Mends reports whether another value makes the line readable.
func valueHint(value string, mends func(string) bool) string {
	closing := map[byte]string{'[': "]", '{': "}", '"': `"`, '\'': "'"}[value[0]]
	switch last := value[len(value)-1:]; {
	case closing != "" && mends(value+closing):
		return "close the " + value[:1] + " with " + closing
	case (last == "]" || last == "}") && mends(value[:len(value)-1]):
		return "remove the last " + last
	case strings.HasPrefix(value, "- ") && mends("["+value[2:]+"]"):
		return "put each item of a list on its own line, or write [a, b]"
	case (value[0] == '|' || value[0] == '>') && mends(value[:1]):
		return "begin the text on the line below the " + value[:1]
	}
	inner := value
	if last := len(value) - 1; last > 0 && closing == value[:1] && closing == value[last:] {
		inner = value[1:last]
	}
	switch {
	case !strings.Contains(inner, "'") && mends("'"+inner+"'"):
		return "put the value in single quotes"
	case mends(`"` + inner + `"`):
		return "put the value in double quotes"
	case mends("'" + strings.ReplaceAll(inner, "'", "''") + "'"):
		return "put the value in single quotes, and write '' for each ' in it"
	}
	return ""
}
