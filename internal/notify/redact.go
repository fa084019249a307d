package notify

import (
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// anyURL matches URLs in errors, also requests that a library made from a URL of another form.
var anyURL = regexp.MustCompile(`[a-zA-Z][a-zA-Z0-9+.-]*://[^\s"']+`)

// shortestSecret is the length from which a part of a secret is removed from errors, in bytes. Shorter parts would make errors unreadable, and protect
// nothing.
const shortestSecret = 4

// redacted returns an error without the secret, without any part of it, and without any URL. A library may show parts of a URL in another form.
func redacted(err error, secret string) error {
	var form formError
	if errors.As(err, &form) {
		return form
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	text := anyURL.ReplaceAllString(err.Error(), "(URL)")
	parts := []string{secret}
	for _, form := range []string{secret, unescaped(secret)} {
		parts = append(parts, strings.FieldsFunc(form, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })...)
	}
	scheme, _, _ := strings.Cut(secret, ":")
	slices.SortFunc(parts, func(a, b string) int { return len(b) - len(a) }) // so that no rest of a longer part remains
	for _, part := range parts {
		if len(part) >= shortestSecret && part != scheme {
			text = strings.ReplaceAll(text, part, "…")
		}
	}
	return errors.New(text)
}

func unescaped(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}
