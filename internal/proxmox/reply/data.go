package reply

import "errors"

// ErrNoData is the error of a reply without the field "data".
var ErrNoData = errors.New("no data")

// HasData reports whether a reply that is valid JSON is an object with the field "data".
func HasData(reply string) bool {
	found := false
	c := &Cursor{Text: reply}
	err := c.Object(func(field string) error {
		found = found || field == "data"
		_, err := c.Skip()
		return err
	})
	return err == nil && found
}
