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
	"gitops-agent/internal/proxmox/wire"
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

// Public returns what texts about a call may repeat: names of its parameters, values that are no secrets, and parts of its path. It is nil if no parameter is a secret. Named has the keys of
// those that are, beside passwords.
func Public(params, named map[string]string, path string) wire.Public {
	isSecret := func(key string) bool {
		_, isNamed := named[key]
		return isNamed || key == "cipassword" || key == "password"
	}
	if !slices.ContainsFunc(slices.Collect(maps.Keys(params)), isSecret) {
		return nil
	}
	public := wire.Public(strings.Split(path, "/"))
	for key, value := range params {
		if public = append(public, key); !isSecret(key) {
			public = append(public, value)
		}
	}
	return public
}
