package agent

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"gitops-agent/reconcile/secret"
)

// passwordOf returns the only line of a secret's text, without the line break. Where is the file. No error contains a part of the text.
func passwordOf(name, where, text string) (string, error) {
	text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	switch {
	case text == "":
		return "", &secret.Error{Name: name, Reason: where + " is empty", Hint: "put the password into the file, as one line"}
	case len(text) > maxSecret:
		return "", &secret.Error{Name: name, Reason: fmt.Sprintf("%s has more than %d bytes", where, maxSecret), Hint: "put only the password into the file, as one line"}
	case strings.ContainsAny(text, "\r\n"):
		return "", &secret.Error{Name: name, Reason: where + " has several lines", Hint: "put only the password into the file, as one line"}
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return "", &secret.Error{Name: name, Reason: where + " contains control characters, or is not UTF-8", Hint: "use a password of printable characters in UTF-8"}
	}
	return text, nil
}
