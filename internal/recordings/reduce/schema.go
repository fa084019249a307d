package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"gitops-agent/internal/recordings"
)

// schemaProperty is a property as Proxmox reports it. Format is the name of a format or the parts of a property string.
type schemaProperty struct {
	recordings.Property
	Format   json.RawMessage
	Typetext string
}

// schemas reduces the schemas of the two kinds of guest.
func schemas(dir string) ([]byte, error) {
	texts, err := parameterTexts(filepath.Join(dir, "api.json"))
	if err != nil {
		return nil, err
	}
	var all []recordings.KindSchema
	for _, kind := range []string{"qemu", "lxc"} {
		var properties map[string]schemaProperty
		if err := decodeFile(filepath.Join(dir, kind+"-config.json"), &properties); err != nil {
			return nil, err
		}
		reduced := recordings.KindSchema{Kind: kind, Properties: map[string]recordings.Property{}}
		for key, p := range properties {
			parts, err := partsOf(p, texts[kind+" "+familyOf(key)])
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", kind, key, err)
			}
			p.Parts = parts
			reduced.Properties[key] = p.Property
		}
		all = append(all, reduced)
	}
	return jsonLines(all)
}

func decodeFile(path string, into any) error {
	text, err := os.ReadFile(path) //nolint:gosec // the path is the caller's own
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("decode %s: %w", path, err)
	}
	return nil
}

// partsOf returns the parts of a property string. Where the schema names its format, the type text of the API's parameter lists them.
func partsOf(p schemaProperty, typetext string) (map[string]recordings.Property, error) {
	if len(p.Format) > 0 && p.Format[0] == '{' {
		var parts map[string]recordings.Property
		return parts, json.Unmarshal(p.Format, &parts)
	}
	if !strings.Contains(typetext, "=") {
		return nil, nil
	}
	parts := map[string]recordings.Property{}
	for _, m := range partText.FindAllStringSubmatch(typetext, -1) {
		part := recordings.Property{}
		if strings.HasPrefix(m[1], "[") {
			part.Optional = 1
		}
		if strings.Contains(m[3], "|") && !strings.Contains(m[3], "-") && m[3] != "1|0" {
			part.Enum = strings.Split(m[3], "|")
		}
		if m[3] == "1|0" {
			part.Type = "boolean"
		}
		parts[m[2]] = part
	}
	return parts, nil
}

// partText matches one part of a type text such as "[[cputype=]<string>] [,flags=<+FLAG[;-FLAG...]>]".
var partText = regexp.MustCompile(`(\[\[|\[,|\[|,)([a-z][a-z0-9_-]*)=\]?<?([^>\]]*)`)

var trailingNumber = regexp.MustCompile(`\d+$`)

// familyOf returns the name under which the API's own schema has a key: "net[n]" for net0.
func familyOf(key string) string { return trailingNumber.ReplaceAllString(key, "[n]") }

// apiNode is a path of the API's schema.
type apiNode struct {
	Path string
	Info struct {
		PUT struct {
			Parameters struct {
				Properties map[string]struct{ Typetext string }
			}
		}
	}
	Children json.RawMessage
}

// parameterTexts returns the type texts of the parameters of the config calls, "qemu cpu" among them.
func parameterTexts(path string) (map[string]string, error) {
	var root json.RawMessage
	if err := decodeFile(path, &root); err != nil {
		return nil, err
	}
	texts := map[string]string{}
	var walk func(raw json.RawMessage)
	walk = func(raw json.RawMessage) {
		var nodes []apiNode
		if len(raw) == 0 || json.Unmarshal(raw, &nodes) != nil {
			return
		}
		for _, n := range nodes {
			for _, kind := range []string{"qemu", "lxc"} {
				if n.Path == "/nodes/{node}/"+kind+"/{vmid}/config" {
					for key, p := range n.Info.PUT.Parameters.Properties {
						texts[kind+" "+key] = p.Typetext
					}
				}
			}
			walk(n.Children)
		}
	}
	walk(root)
	if len(texts) < 50 {
		return nil, fmt.Errorf("%s: got %d parameters of the config calls, want 50 or more", path, len(texts))
	}
	return texts, nil
}
