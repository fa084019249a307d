package order

import "strings"

// Note returns the text by which what an order made, a snapshot or a backup, names the order. Text is what the order says about it; it may be "".
func Note(key, text string) string {
	if text != "" {
		text += ", "
	}
	return text + notePrefix + key
}

// IsNote reports whether a text is the note of an order.
func IsNote(text, key string) bool {
	return key != "" && strings.HasSuffix(strings.TrimSpace(text), notePrefix+key)
}

const notePrefix = "made by gitops-agent for order "
