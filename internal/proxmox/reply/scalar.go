package reply

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Scalar is the text of a JSON string, number or boolean. Proxmox sends the same property as 4 in one reply and as "4" in
// another. Booleans are "1" and "0", null is "".
type Scalar string

// UnmarshalJSON accepts any scalar. Arrays and objects keep their JSON text.
func (s *Scalar) UnmarshalJSON(raw []byte) error {
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
		*s = Scalar(raw)
	}
	return nil
}

// Flag reads a Proxmox boolean.
func (s Scalar) Flag() bool { return s != "" && s != "0" }

// Float reads a number. The empty string is 0.
func (s Scalar) Float() (float64, error) {
	if s == "" {
		return 0, nil
	}
	parsed, err := strconv.ParseFloat(string(s), 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", string(s))
	}
	return parsed, nil
}

// Size reads a number of bytes: 4294967296, "4294967296" or 4.294967296e9.
func (s Scalar) Size() (int64, error) {
	if bytes, err := strconv.ParseInt(string(s), 10, 64); err == nil {
		return bytes, nil
	}
	bytes, err := s.Float()
	return int64(bytes), err
}

// Whole reads a whole number.
func (s Scalar) Whole() (int, error) {
	parsed, err := strconv.Atoi(string(s))
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number", string(s))
	}
	return parsed, nil
}

// Integer is a whole JSON number, or a string that holds one.
type Integer int

// UnmarshalJSON fails on a text that is not a whole number.
func (i *Integer) UnmarshalJSON(raw []byte) error {
	var digits Scalar
	if err := digits.UnmarshalJSON(raw); err != nil {
		return err
	}
	parsed, err := digits.Whole()
	*i = Integer(parsed)
	return err
}
