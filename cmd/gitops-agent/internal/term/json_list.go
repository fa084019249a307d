package term

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// JSONList writes a JSON document with one list, element by element, so that a long list needs no memory. The document is the same as that of
// WriteJSON for a struct with schemaVersion and the list.
type JSONList struct {
	out    io.Writer
	prefix string // of the document, up to the bracket that opens the list
	count  int
}

// NewJSONList returns a document whose list has a name. It writes nothing yet.
func NewJSONList(out io.Writer, name string) *JSONList {
	return &JSONList{out: out, prefix: fmt.Sprintf("{\n  \"schemaVersion\": %d,\n  %q: [", SchemaVersion, name)}
}

// jsonListEnd is the end of a document whose last field is an empty list.
const jsonListEnd = "]\n}\n"

// NewJSONListOf returns a document whose list is the last field of a struct, where it must be empty and not nil.
func NewJSONListOf[T any](out io.Writer, document T) (*JSONList, error) {
	var text strings.Builder
	if err := WriteJSON(&text, document); err != nil {
		return nil, err
	}
	prefix, found := strings.CutSuffix(text.String(), jsonListEnd)
	if !found || !strings.HasSuffix(prefix, "[") {
		return nil, fmt.Errorf("write JSON: %T does not end with an empty list", document)
	}
	return &JSONList{out: out, prefix: prefix}, nil
}

// Add writes an element.
func (l *JSONList) Add(element any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(element); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, bytes.TrimSpace(text.Bytes()), "    ", "  "); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	separator := ",\n    "
	if l.count == 0 {
		separator = l.prefix + "\n    "
	}
	l.count++
	return l.write(separator + escapeUnseen(indented.String()))
}

// Close writes the end of the document.
func (l *JSONList) Close() error {
	if l.count == 0 {
		return l.write(l.prefix + jsonListEnd)
	}
	return l.write("\n  ]\n}\n")
}

func (l *JSONList) write(text string) error {
	if _, err := io.WriteString(l.out, text); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}
