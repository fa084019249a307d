package proxmox

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

var paramName = regexp.MustCompile(`^[a-z][a-zA-Z0-9_-]*$`)

// checkParams refuses what would not arrive as it was meant. A guest's configuration is a text file of lines, so a line
// break is accepted only where Proxmox encodes it. It reports every problem and never quotes a value, which may be a secret.
func checkParams(params map[string]string) error {
	var problems []error
	for _, key := range slices.Sorted(maps.Keys(params)) {
		switch value := params[key]; {
		case !paramName.MatchString(key):
			problems = append(problems, fmt.Errorf("%q is not a parameter name", key))
		case !utf8.ValidString(value):
			problems = append(problems, fmt.Errorf("%s: value is not UTF-8", key))
		default:
			if at := strings.IndexFunc(value, func(r rune) bool { return isControl(r) && !mayHold(key, r) }); at >= 0 {
				problems = append(problems, fmt.Errorf("%s: control character at byte %d", key, at))
			}
		}
	}
	return errors.Join(problems...)
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// mayHold reports whether a key's value may hold a control character: descriptions have lines, keys come one a line, and a
// container's environment is separated by NUL.
func mayHold(key string, r rune) bool {
	switch key {
	case "description":
		return r == '\n' || r == '\r' || r == '\t'
	case "ssh-public-keys":
		return r == '\n' || r == '\r'
	case "env":
		return r == 0
	default:
		return false
	}
}

// secretsIn returns the values that must not come back in an error: passwords, and what is named as a secret.
func secretsIn(params, named map[string]string) []string {
	values := []string{params["cipassword"], params["password"]}
	for key := range named {
		values = append(values, params[key])
	}
	return values
}
