package main

import (
	"encoding/json"
	"fmt"
	"io"
)

// schemaVersion is that of every JSON result. It grows when a field changes its meaning or goes.
const schemaVersion = 1

// writeJSON prints a document as indented JSON.
func writeJSON[T any](w io.Writer, document T) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(document); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}
