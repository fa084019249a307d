package tree

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"
)

// Encode returns a node as a YAML document with an indentation of two spaces. A text with characters that people do not see is in double quotes with escapes, so that
// Read returns it unchanged. In comments these and control characters are spelled as escapes, and so are line breaks in a comment at the end of a line. Encode changes the node.
//
// A text of several lines that begins with a line break or a tab is in double quotes, too: as a block, the library loses the line break, and does not read the tab.
func Encode(n *yaml.Node) ([]byte, error) {
	escape(n)
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(n); err != nil {
		return nil, err
	}
	if !bytes.ContainsFunc(out.Bytes(), IsUnseen) {
		return out.Bytes(), nil
	}
	var shown bytes.Buffer
	for _, r := range out.String() {
		if IsUnseen(r) { // in double quotes
			shown.WriteString(written(r))
		} else {
			shown.WriteRune(r)
		}
	}
	return shown.Bytes(), nil
}

func escape(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && (strings.ContainsFunc(n.Value, isInvisible) || badBlock(n.Value)) {
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, comment := range []*string{&n.HeadComment, &n.LineComment, &n.FootComment} {
		*comment = visibleComment(*comment)
	}
	n.LineComment = strings.ReplaceAll(n.LineComment, "\n", `\n`) // the library would write a second line into the text of a block
	for _, c := range n.Content {
		escape(c)
	}
}

// visibleComment returns a comment with escapes in place of the characters that Invisible reports, and of control and format characters: the library writes all of them, and
// does not read a comment with control characters.
func visibleComment(text string) string {
	var out strings.Builder
	for _, r := range text {
		switch kind, is := invisible[r]; {
		case is:
			out.WriteString(kind.escape)
		case r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf):
			out.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// badBlock reports whether the library does not read back a text that it has written as a block.
func badBlock(text string) bool {
	return strings.Contains(text, "\n") && (text[0] == '\n' || text[0] == '\t')
}

func isInvisible(r rune) bool {
	_, is := invisible[r]
	return is || IsUnseen(r)
}
