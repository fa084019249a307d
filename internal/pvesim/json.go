package pvesim

import (
	"strconv"
	"unicode/utf8"
)

// object builds one JSON object by appending. It uses no reflection, because the simulator serves thousands of reads a second.
type object struct{ buf []byte }

func (o *object) key(name string) {
	if len(o.buf) == 0 {
		o.buf = append(o.buf, '{')
	} else {
		o.buf = append(o.buf, ',')
	}
	o.buf = appendString(o.buf, name)
	o.buf = append(o.buf, ':')
}

func (o *object) str(name, value string) {
	o.key(name)
	o.buf = appendString(o.buf, value)
}

func (o *object) num(name string, value int64) {
	o.key(name)
	o.buf = strconv.AppendInt(o.buf, value, 10)
}

func (o *object) float(name string, value float64) {
	o.key(name)
	o.buf = strconv.AppendFloat(o.buf, value, 'g', -1, 64)
}

// raw adds a value that is already JSON.
func (o *object) raw(name string, value []byte) {
	o.key(name)
	o.buf = append(o.buf, value...)
}

func (o *object) null(name string) { o.raw(name, jsonNull) }

func (o *object) bytes() []byte {
	if len(o.buf) == 0 {
		return []byte("{}")
	}
	return append(o.buf, '}')
}

// array builds one JSON array by appending.
type array struct{ buf []byte }

func (a *array) raw(value []byte) {
	if len(a.buf) == 0 {
		a.buf = append(a.buf, '[')
	} else {
		a.buf = append(a.buf, ',')
	}
	a.buf = append(a.buf, value...)
}

func (a *array) add(o *object) { a.raw(o.bytes()) }

func (a *array) bytes() []byte {
	if len(a.buf) == 0 {
		return []byte("[]")
	}
	return append(a.buf, ']')
}

var jsonNull = []byte("null")

func jsonString(s string) []byte { return appendString(nil, s) }

// subdirs returns the reply to an index call: one object per name, with the name under the given key.
func subdirs(key string, names ...string) []byte {
	var a array
	for _, n := range names {
		var o object
		o.str(key, n)
		a.add(&o)
	}
	return a.bytes()
}

const hexLower = "0123456789abcdef"

func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			switch {
			case c == '"' || c == '\\':
				b = append(b, '\\', c)
			case c == '\n':
				b = append(b, '\\', 'n')
			case c == '\r':
				b = append(b, '\\', 'r')
			case c == '\t':
				b = append(b, '\\', 't')
			case c < 0x20 || c == 0x7f:
				b = append(b, '\\', 'u', '0', '0', hexLower[c>>4], hexLower[c&15])
			default:
				b = append(b, c)
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		b = utf8.AppendRune(b, r) // an invalid byte becomes U+FFFD, so the reply stays JSON
		i += n
	}
	return append(b, '"')
}
