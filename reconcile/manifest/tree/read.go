package tree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"gitops-agent/internal/bounds"
)

// limits bound the decoder, which makes some hundred bytes of each value before a document is counted.
var limits = bounds.YAML{Bytes: maxFile, Marks: 3 * maxNodes}

// Read returns the documents of a file, without the empty ones, and the problems in the order in which they were found. The path is used
// for positions only. A document that exceeds a limit is reported and not returned.
func Read(path string, data []byte) ([]*Node, []Problem) {
	f := file{path: path, data: data}
	if len(data) > maxFile {
		return nil, []Problem{{At: f.at(1, 1), Message: fmt.Sprintf("got a file of %d bytes, want at most %d", len(data), maxFile)}}
	}
	if err := limits.Check(data); err != nil {
		return nil, []Problem{{At: f.at(1, 1), Message: fmt.Sprintf("got a file with %v: split it", err)}}
	}
	if !utf8.Valid(data) {
		return nil, []Problem{{At: f.invalidText(), Message: "got bytes that are not UTF-8 text"}}
	}
	f.view = viewOf(f)
	var documents []*Node
	var shown []rune
	problems := f.view.problems
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var y yaml.Node
		err := decoder.Decode(&y)
		switch {
		case errors.Is(err, io.EOF):
			return documents, append(problems, f.shownComments(shown)...)
		case err != nil:
			return documents, append(problems, f.syntaxProblem(err))
		}
		if len(y.Content) == 0 {
			continue
		}
		b := &builder{file: f}
		if n := b.build(y.Content[0], 0); !b.failed && !n.IsNull() {
			documents = append(documents, n)
		}
		problems, shown = append(problems, b.problems...), append(shown, b.shown...)
	}
}
