package tree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// The limits of untrusted input. A guest needs a hundred values and a depth of seven.
const (
	maxFile  = 1 << 20 // bytes of one file
	maxNodes = 10000   // keys and values of one document
	maxDepth = 24      // levels of one document
)

// Problem is a mistake in a file.
type Problem struct {
	At      Position
	Message string // "key "a" is set twice"
	Hint    string // how to correct it; may be ""
}

// Read returns the documents of a file, without the empty ones, and the problems in the order in which they were found. The path is used
// for positions only. A document that exceeds a limit is reported and not returned.
func Read(path string, data []byte) ([]*Node, []Problem) {
	f := file{path, data}
	if len(data) > maxFile {
		return nil, []Problem{{At: f.at(1, 1), Message: fmt.Sprintf("got a file of %d bytes, want at most %d", len(data), maxFile)}}
	}
	if !utf8.Valid(data) {
		return nil, []Problem{{At: f.invalidText(), Message: "got bytes that are not UTF-8 text"}}
	}
	var documents []*Node
	var problems []Problem
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var y yaml.Node
		err := decoder.Decode(&y)
		switch {
		case errors.Is(err, io.EOF):
			return documents, problems
		case err != nil:
			return documents, append(problems, f.syntaxProblem(err))
		}
		if len(y.Content) == 0 {
			continue
		}
		b := &builder{file: path}
		if n := b.build(y.Content[0], 0); !b.failed && !n.IsNull() {
			documents = append(documents, n)
		}
		problems = append(problems, b.problems...)
	}
}

// file is a file that is being read.
type file struct {
	path string
	data []byte
}

func (f file) at(line, column int) Position {
	return Position{File: f.path, Line: line, Column: column}
}

// invalidText returns the position of the first byte that is not UTF-8 text.
func (f file) invalidText() Position {
	line, column := 1, 1
	for rest := f.data; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		switch {
		case r == utf8.RuneError && size == 1:
			return f.at(line, column)
		case r == '\n':
			line, column = line+1, 1
		default:
			column++
		}
		rest = rest[size:]
	}
	return f.at(line, column)
}
