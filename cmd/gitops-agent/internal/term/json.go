package term

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// SchemaVersion is the version of every JSON result. It grows when a field is removed or its meaning changes.
const SchemaVersion = 1

// WriteJSON prints a document as indented JSON. Invisible characters are escaped.
func WriteJSON[T any](w io.Writer, document T) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(document); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	if _, err := io.WriteString(w, escapeUnseen(text.String())); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}
