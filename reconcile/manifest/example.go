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

// textExamples are texts as examples of a schema.
func textExamples(texts ...string) []json.RawMessage {
	var out []json.RawMessage
	for _, text := range texts {
		out = append(out, encoded(text))
	}
	return out
}

// encoded returns a text or a list of texts as JSON.
func encoded[T string | []string](value T) json.RawMessage {
	out, err := json.Marshal(value)
	if err != nil {
		panic(err) // texts always have a JSON form
	}
	return out
}
