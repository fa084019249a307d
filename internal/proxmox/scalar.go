package proxmox

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// scalar is a JSON value as Proxmox prints it, whether it came as a string, a number or a boolean: the API answers the same
// property as 4 here and "4" there. Booleans are "1" and "0", null is "".
type scalar string

// UnmarshalJSON accepts any scalar. Arrays and objects keep their JSON text.
func (s *scalar) UnmarshalJSON(raw []byte) error {
	switch raw[0] {
	case '"':
		return json.Unmarshal(raw, (*string)(s))
	case 'n':
		*s = ""
	case 't':
		*s = "1"
	case 'f':
		*s = "0"
	default:
		*s = scalar(raw)
	}
	return nil
}

// flag reads a Proxmox boolean.
func (s scalar) flag() bool { return s != "" && s != "0" }

// number is a JSON number, or a string that holds one; null and the empty string are 0.
type number float64

// UnmarshalJSON fails on text that is no number.
func (n *number) UnmarshalJSON(raw []byte) error {
	var digits scalar
	if err := digits.UnmarshalJSON(raw); err != nil {
		return err
	}
	if digits == "" {
		*n = 0
		return nil
	}
	parsed, err := strconv.ParseFloat(string(digits), 64)
	if err != nil {
		return fmt.Errorf("%q is no number", string(digits))
	}
	*n = number(parsed)
	return nil
}

// integer is a whole JSON number, or a string that holds one.
type integer int

// UnmarshalJSON fails on text that is no whole number.
func (i *integer) UnmarshalJSON(raw []byte) error {
	var digits scalar
	if err := digits.UnmarshalJSON(raw); err != nil {
		return err
	}
	parsed, err := strconv.Atoi(string(digits))
	if err != nil {
		return fmt.Errorf("%q is no whole number", string(digits))
	}
	*i = integer(parsed)
	return nil
}
