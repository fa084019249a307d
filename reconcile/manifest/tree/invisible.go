package tree

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// invisible are the characters that change what the YAML library reads, and that diffs, forges and editors do not show. The library ends a line at the first
// four, and so a comment. After the last one it can leave out the first character of lines, so that a comment is read. A line of YAML 1.2 also ends at a carriage
// return without a line feed, and at none of the others.
var invisible = map[rune]struct{ name, escape, remedy string }{
	'\r':     {"carriage return U+000D without a line feed", `\r`, "end the line with a line feed"},
	'\u0085': {"next line U+0085", `\u0085`, "remove it"},
	'\u2028': {"line separator U+2028", `\u2028`, "remove it"},
	'\u2029': {"paragraph separator U+2029", `\u2029`, "remove it"},
	mark:     {"byte order mark U+FEFF after the beginning of the file", `\uFEFF`, "remove it"},
}

const mark = '\ufeff'

// maxInvisible bounds the problems of one file: a file with the line ends of another system has one in each line.
const maxInvisible = 10

// Invisible returns a problem for each character of a YAML file that changes what is read, and that people do not see: see invisible. The positions are those that
// an editor shows. The path is used for positions only. Read contains these problems; other readers of YAML call CheckVisible.
func Invisible(path string, data []byte) []Problem {
	return viewOf(file{path: path, data: data}).problems
}

// CheckVisible returns an error about the first problem of Invisible, with its line and column, or nil.
func CheckVisible(data []byte) error {
	problems := Invisible("", data)
	if len(problems) == 0 {
		return nil
	}
	p := problems[0]
	return fmt.Errorf("line %d, column %d: %s: %s", p.At.Line, p.At.Column, p.Message, p.Hint)
}

// view relates the lines of a file that people see to those of the YAML library.
type view struct {
	problems []Problem
	begins   []begin // lines of the library that begin within a line that people see, in order
}

// begin is where a line of the library begins. Numbers count from 1.
type begin struct {
	read         int // number of the line for the library
	line, column int // for people
}

// viewOf reads the characters of a file.
func viewOf(f file) view {
	var v view
	if utf8.Valid(f.data) && !mayContain(f.data) {
		return v
	}
	text := textOf(f.data)
	line, column, read, count := 1, 1, 1, 0
	for i, r := range text {
		kind, is := invisible[r]
		switch {
		case r == '\n':
			line, column, read = line+1, 1, read+1
			continue
		case r == '\r' && strings.HasPrefix(text[i+1:], "\n"):
			is = false
		}
		column++
		if !is {
			continue
		}
		if count++; count <= maxInvisible {
			v.problems = append(v.problems, Problem{
				At: f.at(line, column-1), New: true,
				Message: "got the " + kind.name + ", which changes what is read and which people do not see",
				Hint:    kind.remedy + ", or write it as " + kind.escape + " in double quotes",
			})
		}
		if r != mark {
			read++
			v.begins = append(v.begins, begin{read, line, column})
		}
	}
	if more := count - maxInvisible; more > 0 {
		last := &v.problems[maxInvisible-1]
		last.Message += fmt.Sprintf("; %d more of this kind follow", more)
	}
	return v
}

// mayContain reports whether a text in UTF-8 contains one of the characters, or CRLF. It is much faster than a look at each character.
func mayContain(text []byte) bool {
	for r := range invisible {
		if bytes.Contains(text, []byte(string(r))) {
			return true
		}
	}
	return false
}

// textOf returns the characters that the YAML library reads: after a byte order mark of UTF-16 those of this encoding, else UTF-8. The mark is not one of them.
func textOf(data []byte) string {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	default:
		return strings.TrimPrefix(string(data), string(mark))
	}
	units := make([]uint16, 0, len(data)/2)
	for i := 2; i+1 < len(data); i += 2 {
		units = append(units, order.Uint16(data[i:]))
	}
	return string(utf16.Decode(units))
}

// seen returns where people see a place that the library found.
func (v view) seen(line, column int) (int, int) {
	i, _ := slices.BinarySearchFunc(v.begins, line+1, func(b begin, line int) int { return cmp.Compare(b.read, line) })
	if i == 0 {
		return line, column
	}
	b := v.begins[i-1]
	if b.read == line {
		column += b.column - 1
	}
	return b.line + line - b.read, column
}
