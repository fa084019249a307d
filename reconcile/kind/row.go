package kind

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Row is one object of a reply, by the names of its properties.
type Row map[string]any

// Rows decodes a reply that is a list of objects.
func Rows(data json.RawMessage) ([]Row, error) {
	var rows []Row
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber() // a number is compared as the text that Proxmox sent
	if err := decoder.Decode(&rows); err != nil {
		return nil, fmt.Errorf("decode list: %w", err)
	}
	return rows, nil
}

// Text returns a property as a native text: a number or a flag may come as a number, as a text or as a JSON bool. A property that is missing or null is "".
func (r Row) Text(name string) string { return nativeText(r[name]) }

func nativeText(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		if v {
			return "1"
		}
		return "0"
	}
	return ""
}

// Options returns a property that is an object of native texts, nil if it is none.
func (r Row) Options(name string) map[string]string {
	object, ok := r[name].(map[string]any)
	if !ok {
		return nil
	}
	options := make(map[string]string, len(object))
	for key, value := range object {
		options[key] = nativeText(value)
	}
	return options
}

// Texts returns a property that is an array of native texts. A single text is an array of one item.
func (r Row) Texts(name string) []string {
	items, ok := r[name].([]any)
	if !ok {
		items = []any{r[name]}
	}
	var texts []string
	for _, item := range items {
		if text := nativeText(item); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// TextOf returns the text with which Proxmox refused a request, "" if an error has none.
func TextOf(err error) string {
	var refusal interface {
		error
		Text() string
	}
	if errors.As(err, &refusal) {
		return refusal.Text()
	}
	return ""
}
