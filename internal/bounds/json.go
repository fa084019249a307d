package bounds

import (
	"encoding/json"
	"errors"
	"fmt"
)

// ErrExceeded means that a text is larger than a limit.
var ErrExceeded = errors.New("larger than the limit")

// JSON are the limits of one JSON text. All but Text are required.
type JSON struct {
	Bytes    int
	Values   int // of the whole text: scalars, lists, objects
	Elements int // of one list or one object
	Depth    int // of lists and objects in each other, at most 256
	Text     int // bytes of one string, as it is written; 0 is Bytes
}

const maxDepth = 256

// Check returns ErrExceeded if the text exceeds a limit. It takes linear time and no memory that depends on the text. It does not check that the text is valid JSON:
// for other text it returns ErrExceeded or nil, and the decoder that runs next finds the problem.
func (b JSON) Check(text string) error { return check(b, text) }

// Unmarshal is json.Unmarshal of a text within the limits.
func (b JSON) Unmarshal(text []byte, into any) error {
	if err := check(b, text); err != nil {
		return err
	}
	return json.Unmarshal(text, into) //nolint:wrapcheck // it stands for json.Unmarshal
}

func check[T string | []byte](b JSON, text T) error {
	if len(text) > b.Bytes {
		return fmt.Errorf("%d bytes: %w of %d bytes", len(text), ErrExceeded, b.Bytes)
	}
	var elements [maxDepth]int // commas of each open list and object
	values, depth := 1, 0
	for at := 0; at < len(text); at++ {
		switch text[at] {
		case '"':
			end := afterString(text, at)
			if b.Text > 0 && end-at-1 > b.Text {
				return fmt.Errorf("a string of %d bytes: %w of %d", end-at-1, ErrExceeded, b.Text)
			}
			at = end
		case '{', '[':
			depth++
			if depth > min(b.Depth, maxDepth-1) {
				return fmt.Errorf("depth of lists and objects: %w of %d", ErrExceeded, b.Depth)
			}
			elements[depth] = 1
			values++
		case '}', ']':
			depth = max(depth-1, 0)
		case ',':
			values++
			if elements[depth]++; elements[depth] > b.Elements {
				return fmt.Errorf("elements of one list: %w of %d", ErrExceeded, b.Elements)
			}
		default:
			continue
		}
		if values > b.Values {
			return fmt.Errorf("values: %w of %d", ErrExceeded, b.Values)
		}
	}
	return nil
}

// afterString returns the place of the quotation mark that ends the string which begins at at, or the last byte.
func afterString[T string | []byte](text T, at int) int {
	for at++; at < len(text); at++ {
		switch text[at] {
		case '\\':
			at++
		case '"':
			return at
		}
	}
	return len(text)
}
