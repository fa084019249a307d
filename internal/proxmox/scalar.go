package proxmox

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// scalar is the text of a JSON string, number or boolean. Proxmox sends the same property as 4 in one reply and as "4" in
// another. Booleans are "1" and "0", null is "".
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

// float reads a number. The empty string is 0.
func (s scalar) float() (float64, error) {
	if s == "" {
		return 0, nil
	}
	parsed, err := strconv.ParseFloat(string(s), 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", string(s))
	}
	return parsed, nil
}

// size reads a number of bytes: 4294967296, "4294967296" or 4.294967296e9.
func (s scalar) size() (int64, error) {
	if bytes, err := strconv.ParseInt(string(s), 10, 64); err == nil {
		return bytes, nil
	}
	bytes, err := s.float()
	return int64(bytes), err
}

// whole reads a whole number.
func (s scalar) whole() (int, error) {
	parsed, err := strconv.Atoi(string(s))
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number", string(s))
	}
	return parsed, nil
}

// integer is a whole JSON number, or a string that holds one.
type integer int

// UnmarshalJSON fails on a text that is not a whole number.
func (i *integer) UnmarshalJSON(raw []byte) error {
	var digits scalar
	if err := digits.UnmarshalJSON(raw); err != nil {
		return err
	}
	parsed, err := digits.whole()
	*i = integer(parsed)
	return err
}
