package term

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// JSONList writes a JSON document with one list, element by element, so that a long list needs no memory. The document is the same as that of
// WriteJSON for a struct with schemaVersion and the list.
type JSONList struct {
	out   io.Writer
	name  string
	count int
}

// NewJSONList returns a document whose list has a name. It writes nothing yet.
func NewJSONList(out io.Writer, name string) *JSONList { return &JSONList{out: out, name: name} }

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
		separator = l.begin() + "\n    "
	}
	l.count++
	return l.write(separator + indented.String())
}

// Close writes the end of the document.
func (l *JSONList) Close() error {
	if l.count == 0 {
		return l.write(l.begin() + "]\n}\n")
	}
	return l.write("\n  ]\n}\n")
}

func (l *JSONList) begin() string {
	return fmt.Sprintf("{\n  \"schemaVersion\": %d,\n  %q: [", SchemaVersion, l.name)
}

func (l *JSONList) write(text string) error {
	if _, err := io.WriteString(l.out, text); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}
