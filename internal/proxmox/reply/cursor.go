package reply

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Cursor reads JSON text. It accepts the same text as encoding/json. A string without escapes shares the memory of the text.
type Cursor struct {
	Text string
	at   int
}

// Object reads an object and calls field with each name; field must read the value.
func (c *Cursor) Object(field func(name string) error) error {
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

// Array reads an array; element must read one element.
func (c *Cursor) Array(element func() error) error { return c.list('[', ']', element) }

// list reads the elements between two brackets, separated by commas.
func (c *Cursor) list(opening, closing byte, element func() error) error {
	if err := c.expect(opening); err != nil {
		return err
	}
	if c.Peek() == closing {
		c.at++
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		switch c.Peek() {
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

// Value reads a scalar as Proxmox defines it: booleans are "1" and "0", and numbers keep their digits. The text of
// an array or an object is its JSON.
func (c *Cursor) Value() (text string, null bool, err error) {
	switch c.Peek() {
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
	text, err = c.Skip()
	return text, false, err
}

// string reads a string. encoding/json decodes strings with escapes or invalid UTF-8.
func (c *Cursor) string() (string, error) {
	if err := c.expect('"'); err != nil {
		return "", err
	}
	start, ascii := c.at, true
	for at := start; at < len(c.Text); at++ {
		switch b := c.Text[at]; {
		case b == '"':
			c.at = at + 1
			if found := c.Text[start:at]; ascii || utf8.ValidString(found) {
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
	c.at = len(c.Text)
	return "", c.unexpected()
}

// escaped reads the string that begins at start and has its first backslash at at.
func (c *Cursor) escaped(start, at int) (string, error) {
	for ; at < len(c.Text); at++ {
		switch c.Text[at] {
		case '\\':
			at++
		case '"':
			c.at = at + 1
			return c.decoded(start)
		}
	}
	c.at = len(c.Text)
	return "", c.unexpected()
}

// decoded returns the string from start to the position of the cursor.
func (c *Cursor) decoded(start int) (string, error) {
	var text string
	if err := json.Unmarshal([]byte(c.Text[start-1:c.at]), &text); err != nil {
		return "", fmt.Errorf("offset %d: %w", start, err)
	}
	return text, nil
}

// Skip reads one value of any type and returns its text.
func (c *Cursor) Skip() (string, error) {
	c.space()
	if number := c.number(); number != "" {
		return number, nil
	}
	var value json.RawMessage
	if err := json.NewDecoder(strings.NewReader(c.Text[c.at:])).Decode(&value); err != nil {
		return "", fmt.Errorf("offset %d: %w", c.at, err)
	}
	c.at += len(value)
	return string(value), nil
}

// number reads a number; it returns "" for any other value.
func (c *Cursor) number() string {
	start := c.at
	c.plusMinus("-")
	whole := c.digits()
	ok := len(whole) == 1 || whole != "" && whole[0] != '0'
	if c.at < len(c.Text) && c.Text[c.at] == '.' {
		c.at++
		ok = c.digits() != "" && ok
	}
	if c.at < len(c.Text) && (c.Text[c.at] == 'e' || c.Text[c.at] == 'E') {
		c.at++
		c.plusMinus("+-")
		ok = c.digits() != "" && ok
	}
	if !ok {
		c.at = start
	}
	return c.Text[start:c.at]
}

func (c *Cursor) digits() string {
	start := c.at
	for c.at < len(c.Text) && c.Text[c.at] >= '0' && c.Text[c.at] <= '9' {
		c.at++
	}
	return c.Text[start:c.at]
}

// plusMinus skips one of the bytes of signs, if it is the next byte.
func (c *Cursor) plusMinus(signs string) {
	if c.at < len(c.Text) && strings.IndexByte(signs, c.Text[c.at]) >= 0 {
		c.at++
	}
}

// End fails unless only white space is left.
func (c *Cursor) End() error {
	c.space()
	if c.at < len(c.Text) {
		return c.unexpected()
	}
	return nil
}

func (c *Cursor) word(word string) error {
	if !strings.HasPrefix(c.Text[c.at:], word) {
		return c.unexpected()
	}
	c.at += len(word)
	return nil
}

func (c *Cursor) expect(b byte) error {
	if c.Peek() != b {
		return c.unexpected()
	}
	c.at++
	return nil
}

// Peek skips white space, which Proxmox does not send, and returns the next byte, or 0 at the end.
func (c *Cursor) Peek() byte {
	if c.at < len(c.Text) && c.Text[c.at] > ' ' {
		return c.Text[c.at]
	}
	c.space()
	if c.at >= len(c.Text) {
		return 0
	}
	return c.Text[c.at]
}

func (c *Cursor) space() {
	for c.at < len(c.Text) && strings.IndexByte(" \t\r\n", c.Text[c.at]) >= 0 {
		c.at++
	}
}

func (c *Cursor) unexpected() error {
	if c.at >= len(c.Text) {
		return fmt.Errorf("offset %d: reply ends too early", len(c.Text))
	}
	return fmt.Errorf("offset %d: unexpected %q", c.at, c.Text[c.at])
}
