package bounds

import "fmt"

// YAML are the limits of one YAML text. All are required. Depth is bounded by the decoder, at 10,000.
type YAML struct {
	Bytes int
	Marks int // what begins or ends a value: commas, brackets, and dashes, colons and question marks before a space
}

// Check returns ErrExceeded if the text exceeds a limit. It takes linear time and no memory. It counts marks in comments and strings too: text with fewer marks has
// fewer values.
func (b YAML) Check(text []byte) error {
	if len(text) > b.Bytes {
		return fmt.Errorf("%d bytes: %w of %d bytes", len(text), ErrExceeded, b.Bytes)
	}
	marks := 0
	for i, c := range text {
		switch c {
		case ',', '[', '{':
			marks++
		case '-', ':', '?':
			if i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\n' || text[i+1] == '\r' || text[i+1] == '\t' {
				marks++
			}
		}
	}
	if marks > b.Marks {
		return fmt.Errorf("%d values: %w of %d", marks, ErrExceeded, b.Marks)
	}
	return nil
}
