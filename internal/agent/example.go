package agent

import _ "embed" // for example.yaml

// Example is a config to copy. It names every field of Config; those that are commented out, as "#field:", show their default or a
// value of their own.
//
//go:embed example.yaml
var Example string
