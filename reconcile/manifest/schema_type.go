package manifest

import "encoding/json"

// schema is the part of JSON Schema 2020-12 that manifests need.
type schema struct {
	Dialect              string             `json:"$schema,omitempty"`
	Title                string             `json:"title,omitempty"`
	Description          string             `json:"description,omitempty"`
	Examples             []json.RawMessage  `json:"examples,omitempty"`
	Ref                  string             `json:"$ref,omitempty"`
	Type                 []string           `json:"type,omitempty"`
	Const                string             `json:"const,omitempty"`
	Enum                 []*string          `json:"enum,omitempty"`
	Pattern              string             `json:"pattern,omitempty"`
	Minimum              *float64           `json:"minimum,omitempty"`
	Maximum              *float64           `json:"maximum,omitempty"`
	Properties           map[string]*schema `json:"properties,omitempty"`
	PatternProperties    map[string]*schema `json:"patternProperties,omitempty"`
	PropertyNames        *schema            `json:"propertyNames,omitempty"`
	AdditionalProperties *bool              `json:"additionalProperties,omitempty"`
	Required             []string           `json:"required,omitempty"`
	Items                *schema            `json:"items,omitempty"`
	AllOf                []*schema          `json:"allOf,omitempty"`
	If                   *schema            `json:"if,omitempty"`
	Then                 *schema            `json:"then,omitempty"`
	Defs                 map[string]*schema `json:"$defs,omitempty"`
}

// nullable returns the types and null. A null drops an inherited value.
func nullable(types ...string) []string { return append(types, "null") }

func objectSchema(o object) *schema {
	out := &schema{Type: nullable("object"), AdditionalProperties: new(bool), Properties: map[string]*schema{}}
	for _, row := range o.fields() {
		s := row.value.schema()
		s.Description = row.doc
		out.Properties[row.name] = s
	}
	return out
}

func definition(kind string) *schema { return &schema{Ref: "#/$defs/" + kind} }

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
