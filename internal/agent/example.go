package agent

import _ "embed" // for example.yaml

// Example is a config for copying. It contains every field of Config. A field that is commented out, as "#field:", shows its default or an
// example value.
//
//go:embed example.yaml
var Example string
