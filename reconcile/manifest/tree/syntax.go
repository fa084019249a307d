package tree

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"

	"gopkg.in/yaml.v3"
)

var yamlPrefix = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// syntaxProblem returns a syntax error of the YAML library with its position. The library returns the line where the broken construct
// began, off by one for some errors, and no column. A person looks at the first line that cannot be read, so this line is reported.
func (f file) syntaxProblem(err error) Problem {
	text := err.Error()
	match := yamlPrefix.FindStringSubmatch(text)
	line := 1
	if len(match) == 2 && match[1] != "" {
		line, _ = strconv.Atoi(match[1]) // digits by the pattern
		line, _ = f.view.seen(line, 1)
	}
	const searchable = 64 << 10 // bytes; the search reads the file some dozen times
	lines := bytes.SplitAfter(f.data, []byte("\n"))
	hint := ""
	if len(f.data) <= searchable {
		line = firstBroken(f.data, lines)
		hint = syntaxHint(lines, line)
	}
	content := lines[min(line, len(lines))-1]
	if bytes.HasPrefix(content, []byte("%YAML")) { // the library reads %YAML 1.1 alone, and by the rules of 1.2
		return Problem{At: f.at(line, 1), Message: "got the directive " + Quote(string(bytes.TrimSpace(content))) + ", which manifests do not use", Hint: "remove the line: without it, the file has the same meaning"}
	}
	indent := content[:len(content)-len(bytes.TrimLeft(content, " \t"))]
	if tab := bytes.IndexByte(indent, '\t'); tab >= 0 {
		return Problem{At: f.at(line, tab+1), Message: "got a tab in the indentation, want spaces"}
	}
	return Problem{At: f.at(line, len(indent)+1), Message: "malformed YAML: " + text[len(match[0]):], Hint: hint}
}

// firstBroken returns the number, from 1, of the line after the longest readable beginning of a file. The file as a whole must not be
// readable. A beginning may be unreadable only because it ends within a quoted text, so the search also tries the lines that follow.
func firstBroken(data []byte, lines [][]byte) int {
	ends := make([]int, len(lines)+1)
	for i, line := range lines {
		ends[i+1] = ends[i] + len(line)
	}
	readable := 0
	for range 4 {
		bad := len(lines)
		for bad-readable > 1 {
			if middle := (readable + bad) / 2; parses(data[:ends[middle]]) {
				readable = middle
			} else {
				bad = middle
			}
		}
		further := readable
		for ahead := bad + 1; ahead < min(bad+16, len(lines)); ahead++ {
			if parses(data[:ends[ahead]]) {
				further = ahead
			}
		}
		if further == readable {
			break
		}
		readable = further
	}
	return readable + 1
}

func parses(data []byte) bool {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var y yaml.Node
		if err := decoder.Decode(&y); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}
