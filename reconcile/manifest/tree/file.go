package tree

import "unicode/utf8"

// file is a file that is being read.
type file struct {
	path string
	data []byte
	view view
}

func (f file) at(line, column int) Position {
	return Position{File: f.path, Line: line, Column: column}
}

// invalidText returns the position of the first byte that is not UTF-8 text.
func (f file) invalidText() Position {
	line, column := 1, 1
	for rest := f.data; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		switch {
		case r == utf8.RuneError && size == 1:
			return f.at(line, column)
		case r == '\n':
			line, column = line+1, 1
		default:
			column++
		}
		rest = rest[size:]
	}
	return f.at(line, column)
}
