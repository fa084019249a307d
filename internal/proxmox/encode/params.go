package encode

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"gitops-agent/internal/proxmox/reply"
)

// Names that become part of a request.
var (
	paramName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-zA-Z0-9_-]*$`) })
	PoolName  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+){0,2}$`) })
)

// CheckParams rejects parameters that Proxmox would store or read in another way than sent. A guest's configuration is a text file of lines,
// so a line break is accepted only for keys that Proxmox encodes. CheckParams reports every problem and never quotes a value, which may
// be a secret.
func CheckParams(params map[string]string) error {
	var problems []error
	for _, key := range slices.Sorted(maps.Keys(params)) {
		switch value := params[key]; {
		case !paramName().MatchString(key):
			problems = append(problems, fmt.Errorf("%q is not a parameter name", key))
		case !utf8.ValidString(value):
			problems = append(problems, fmt.Errorf("%s: value is not UTF-8", key))
		default:
			if at := strings.IndexFunc(value, func(r rune) bool { return reply.IsControl(r) && !allowsControl(key, r) }); at >= 0 {
				problems = append(problems, fmt.Errorf("%s: control character at byte %d", key, at))
			}
		}
	}
	return errors.Join(problems...)
}

// allowsControl reports whether the value of a key may contain a control character: a description has lines, ssh-public-keys has one key
// per line, and a container's environment is separated by NUL.
func allowsControl(key string, r rune) bool {
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

// SecretsIn returns the parameter values that errors must not contain: passwords, and the values of the keys in named.
func SecretsIn(params, named map[string]string) []string {
	values := []string{params["cipassword"], params["password"]}
	for key := range named {
		values = append(values, params[key])
	}
	return values
}
