package manifest

import "encoding/json"

// withExamples is a row with examples for the schema, as JSON. They replace the examples of its value.
func withExamples(inner value, examples ...string) value { return examplesValue{inner, examples} }

type examplesValue struct {
	value
	examples []string
}

func (s examplesValue) schema() *schema {
	out := s.value.schema()
	out.Examples = nil
	for _, example := range s.examples {
		out.Examples = append(out.Examples, json.RawMessage(example))
	}
	return out
}
