package proxmox

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// cursor reads JSON text. It accepts the same text as encoding/json. A string without escapes shares the memory of the text.
type cursor struct {
	text string
	at   int
}

// object reads an object and calls field with each name; field must read the value.
func (c *cursor) object(field func(name string) error) error {
	return c.list('{', '}', func() error {
		name, err := c.string()
		if err != nil {
			return err
		}
		if err := c.expect(':'); err != nil {
			return err
		}
		return field(name)
	})
}

// array reads an array; element must read one element.
func (c *cursor) array(element func() error) error { return c.list('[', ']', element) }

// list reads the elements between two brackets, separated by commas.
func (c *cursor) list(opening, closing byte, element func() error) error {
	if err := c.expect(opening); err != nil {
		return err
	}
	if c.peek() == closing {
		c.at++
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		switch c.peek() {
		case ',':
			c.at++
		case closing:
			c.at++
			return nil
		default:
			return c.unexpected()
		}
	}
}

// value reads a scalar as Proxmox defines it: booleans are "1" and "0", and numbers keep their digits. The text of
// an array or an object is its JSON.
func (c *cursor) value() (text string, null bool, err error) {
	switch c.peek() {
	case '"':
		text, err = c.string()
		return text, false, err
	case 't':
		return "1", false, c.word("true")
	case 'f':
		return "0", false, c.word("false")
	case 'n':
		return "", true, c.word("null")
	}
	text, err = c.skip()
	return text, false, err
}

// string reads a string. encoding/json decodes strings with escapes or invalid UTF-8.
func (c *cursor) string() (string, error) {
	if err := c.expect('"'); err != nil {
		return "", err
	}
	start, ascii := c.at, true
	for at := start; at < len(c.text); at++ {
		switch b := c.text[at]; {
		case b == '"':
			c.at = at + 1
			if found := c.text[start:at]; ascii || utf8.ValidString(found) {
				return found, nil
			}
			return c.decoded(start)
		case b == '\\':
			return c.escaped(start, at)
		case b < ' ':
			c.at = at
			return "", c.unexpected()
		case b >= utf8.RuneSelf:
			ascii = false
		}
	}
	c.at = len(c.text)
	return "", c.unexpected()
}

// escaped reads the string that begins at start and has its first backslash at at.
func (c *cursor) escaped(start, at int) (string, error) {
	for ; at < len(c.text); at++ {
		switch c.text[at] {
		case '\\':
			at++
		case '"':
			c.at = at + 1
			return c.decoded(start)
		}
	}
	c.at = len(c.text)
	return "", c.unexpected()
}

// decoded returns the string from start to the position of the cursor.
func (c *cursor) decoded(start int) (string, error) {
	var text string
	if err := json.Unmarshal([]byte(c.text[start-1:c.at]), &text); err != nil {
		return "", fmt.Errorf("offset %d: %w", start, err)
	}
	return text, nil
}

// skip reads one value of any type and returns its text.
func (c *cursor) skip() (string, error) {
	c.space()
	if number := c.number(); number != "" {
		return number, nil
	}
	var value json.RawMessage
	if err := json.NewDecoder(strings.NewReader(c.text[c.at:])).Decode(&value); err != nil {
		return "", fmt.Errorf("offset %d: %w", c.at, err)
	}
	c.at += len(value)
	return string(value), nil
}

// number reads a number; it returns "" for any other value.
func (c *cursor) number() string {
	start := c.at
	c.plusMinus("-")
	whole := c.digits()
	ok := len(whole) == 1 || whole != "" && whole[0] != '0'
	if c.at < len(c.text) && c.text[c.at] == '.' {
		c.at++
		ok = c.digits() != "" && ok
	}
	if c.at < len(c.text) && (c.text[c.at] == 'e' || c.text[c.at] == 'E') {
		c.at++
		c.plusMinus("+-")
		ok = c.digits() != "" && ok
	}
	if !ok {
		c.at = start
	}
	return c.text[start:c.at]
}

func (c *cursor) digits() string {
	start := c.at
	for c.at < len(c.text) && c.text[c.at] >= '0' && c.text[c.at] <= '9' {
		c.at++
	}
	return c.text[start:c.at]
}

// plusMinus skips one of the bytes of signs, if it is the next byte.
func (c *cursor) plusMinus(signs string) {
	if c.at < len(c.text) && strings.IndexByte(signs, c.text[c.at]) >= 0 {
		c.at++
	}
}

// end fails unless only white space is left.
func (c *cursor) end() error {
	c.space()
	if c.at < len(c.text) {
		return c.unexpected()
	}
	return nil
}

func (c *cursor) word(word string) error {
	if !strings.HasPrefix(c.text[c.at:], word) {
		return c.unexpected()
	}
	c.at += len(word)
	return nil
}

func (c *cursor) expect(b byte) error {
	if c.peek() != b {
		return c.unexpected()
	}
	c.at++
	return nil
}

// peek skips white space, which Proxmox does not send, and returns the next byte, or 0 at the end.
func (c *cursor) peek() byte {
	if c.at < len(c.text) && c.text[c.at] > ' ' {
		return c.text[c.at]
	}
	c.space()
	if c.at >= len(c.text) {
		return 0
	}
	return c.text[c.at]
}

func (c *cursor) space() {
	for c.at < len(c.text) && strings.IndexByte(" \t\r\n", c.text[c.at]) >= 0 {
		c.at++
	}
}

func (c *cursor) unexpected() error {
	if c.at >= len(c.text) {
		return fmt.Errorf("offset %d: reply ends too early", len(c.text))
	}
	return fmt.Errorf("offset %d: unexpected %q", c.at, c.text[c.at])
}
