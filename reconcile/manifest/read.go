package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"gitops-agent/reconcile/guest"
)

// File is one file of the source, Path relative to its root.
type File struct {
	Path string
	Data []byte
}

// manifest says whether a file is read at all: YAML by its name, and neither hidden nor below a hidden folder, where
// forges and editors keep YAML of their own.
func (f File) manifest() bool {
	for part := range strings.SplitSeq(f.Path, "/") {
		if strings.HasPrefix(part, ".") && part != "." && part != ".." {
			return false
		}
	}
	extension := path.Ext(f.Path)
	return extension == ".yaml" || extension == ".yml"
}

// documents returns the documents of a file, without the empty ones. What cannot be read is reported.
func (f File) documents(r *report) []*node {
	if len(f.Data) > maxFile {
		r.add(Problem{Origin: f.place(1, 1), Message: fmt.Sprintf("got a file of %d bytes, want at most %d", len(f.Data), maxFile)})
		return nil
	}
	if !utf8.Valid(f.Data) {
		r.add(Problem{Origin: f.invalidText(), Message: "got bytes that are no UTF-8 text"})
		return nil
	}
	var out []*node
	decoder := yaml.NewDecoder(bytes.NewReader(f.Data))
	for {
		var y yaml.Node
		err := decoder.Decode(&y)
		switch {
		case errors.Is(err, io.EOF):
			return out
		case err != nil:
			r.add(f.syntaxProblem(err))
			return out
		}
		b := &builder{file: f.Path, report: r}
		if len(y.Content) == 0 {
			continue
		}
		if n := b.build(y.Content[0], 0); !b.failed && !n.null() {
			out = append(out, n)
		}
	}
}

func (f File) place(line, column int) guest.Origin {
	return guest.Origin{File: f.Path, Line: line, Column: column}
}

func (f File) invalidText() guest.Origin {
	line, column := 1, 1
	for rest := f.Data; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		switch {
		case r == utf8.RuneError && size == 1:
			return f.place(line, column)
		case r == '\n':
			line, column = line+1, 1
		default:
			column++
		}
		rest = rest[size:]
	}
	return f.place(line, column)
}

var yamlPrefix = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// syntaxProblem finds the place of a syntax error. The YAML library names the line where the broken construct began, off
// by one for some errors, and no column; the first line that the file cannot be read with is where a person looks.
func (f File) syntaxProblem(err error) Problem {
	text := err.Error()
	match := yamlPrefix.FindStringSubmatch(text)
	line := 1
	if len(match) == 2 && match[1] != "" {
		line, _ = strconv.Atoi(match[1]) // digits by the pattern
	}
	const searchable = 64 << 10 // the search reads the file some dozen times
	lines := bytes.SplitAfter(f.Data, []byte("\n"))
	if len(f.Data) <= searchable {
		line = firstBroken(f.Data, lines)
	}
	content := lines[min(line, len(lines))-1]
	indent := content[:len(content)-len(bytes.TrimLeft(content, " \t"))]
	if tab := bytes.IndexByte(indent, '\t'); tab >= 0 {
		return Problem{Origin: f.place(line, tab+1), Message: "got a tab in the indentation, want spaces"}
	}
	return Problem{Origin: f.place(line, len(indent)+1), Message: "malformed YAML: " + text[len(match[0]):]}
}

// firstBroken returns the number, from 1, of the line after the longest readable beginning of a file that is known not to
// be readable as a whole. A beginning may be unreadable only because it ends within a quoted text, so it looks ahead.
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
