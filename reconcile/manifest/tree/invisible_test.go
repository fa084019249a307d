package tree_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"

	"gitops-agent/reconcile/manifest/tree"
)

// invisible are the characters that change what the YAML library reads and that people do not see, by how a problem names them.
var invisible = map[string]string{
	"carriage return U+000D without a line feed":             "\r",
	"next line U+0085":                                       "\u0085",
	"line separator U+2028":                                  "\u2028",
	"paragraph separator U+2029":                             "\u2029",
	"byte order mark U+FEFF after the beginning of the file": "\ufeff",
}

// TestReadReportsInvisibleCharacters reads files that hide one character in each place where a file can have it. The position is that of an editor, and so are the
// positions of all values below.
func TestReadReportsInvisibleCharacters(t *testing.T) {
	t.Parallel()
	places := map[string]string{ // ¤ stands for the character
		"comment":           "a: 1 # é one is enough ¤b: 2\nlast: 1\n",
		"own_comment_line":  "a: 1\n# ¤b: 2\nlast: 1\n",
		"plain_text":        "a: b¤c\nlast: 1\n",
		"single_quotes":     "a: 'b¤c'\nlast: 1\n",
		"double_quotes":     "a: \"b¤c\"\nlast: 1\n",
		"block_text":        "a: |\n  b ¤  c\nlast: 1\n",
		"folded_text":       "a: >\n  b ¤  c\nlast: 1\n",
		"flow_mapping":      "a: {b: 1, ¤ c: 2}\nlast: 1\n",
		"key":               "'a¤b': 1\nlast: 1\n",
		"end_of_line":       "a: 1¤\nlast: 1\n",
		"after_crlf":        "a: 1\r\n¤b: 1\r\nlast: 1\r\n",
		"second_document":   "a: 1\n---\n# ¤\nlast: 1\n",
		"document_start":    "--- # ¤\nlast: 1\n",
		"after_first_mark":  "\ufeff¤a: 1\nlast: 1\n",
		"end_of_the_file":   "last: 1\n# ¤",
		"before_a_document": "# ¤\n%YAML 1.1\n---\nlast: 1\n",
	}
	for place, text := range places {
		for name, character := range invisible {
			t.Run(place+"/"+name, func(t *testing.T) {
				t.Parallel()
				if character == "\r" && strings.Contains(text, "¤\n") {
					return // CRLF, which everybody reads as the end of a line
				}
				before, _, _ := strings.Cut(strings.TrimPrefix(text, "\ufeff"), "¤")
				line := strings.Count(before, "\n") + 1
				column := len([]rune(before[strings.LastIndex(before, "\n")+1:])) + 1
				documents, problems := tree.Read("web.yaml", []byte(strings.ReplaceAll(text, "¤", character)))
				i := slices.IndexFunc(problems, func(p tree.Problem) bool { return p.New })
				if i < 0 || problems[i].At != (tree.Position{File: "web.yaml", Line: line, Column: column}) || !strings.HasPrefix(problems[i].Message, "got the "+name) || problems[i].Hint == "" {
					t.Fatalf("got problems %+v, want the %s at %d:%d with a remedy", problems, name, line, column)
				}
				if len(problems) > 1 || len(documents) == 0 {
					return // the character breaks the file, too
				}
				last := documents[len(documents)-1].Get("last")
				begin, _, _ := strings.Cut(text, "last:")
				if want := strings.Count(begin, "\n") + 1; last != nil && (last.Key.Line != want || last.At.Column != len("last: ")+1) {
					t.Errorf("got the last value at %s, want line %d, where people see it", last.At, want)
				}
			})
		}
	}
}

// TestHiddenKeyHasThePositionOfItsLine reads what a comment hides as earlier releases read it, at the place that people find.
func TestHiddenKeyHasThePositionOfItsLine(t *testing.T) {
	t.Parallel()
	for _, character := range []string{"\r", "\u0085", "\u2028", "\u2029"} {
		documents, problems := tree.Read("web.yaml", []byte("a: 1\nb: 2 # x "+character+"c: {d: 3} # y "+character+"e: 4\nf: 5\n"))
		if len(documents) != 1 || len(problems) != 2 {
			t.Fatalf("got %d documents and problems %+v, want one, and two problems", len(documents), problems)
		}
		for name, want := range map[string]string{"a": "web.yaml:1:1", "b": "web.yaml:2:1", "c": "web.yaml:2:11", "e": "web.yaml:2:26", "f": "web.yaml:3:1"} {
			if got := documents[0].Get(name); got == nil || got.Key.String() != want {
				t.Errorf("after %q: got key %s at %+v, want it at %s", character, name, got, want)
			}
		}
		if got := documents[0].Get("c").Get("d").At.String(); got != "web.yaml:2:18" {
			t.Errorf("after %q: got a value at %s, want web.yaml:2:18", character, got)
		}
	}
}

// TestSecondMarkMakesNoComment: after two byte order marks the library leaves out the first character of each line.
func TestSecondMarkMakesNoComment(t *testing.T) {
	t.Parallel()
	_, problems := tree.Read("web.yaml", []byte("\ufeff\ufeffa: 1\n#b: 2\n"))
	if got := report(problems); !strings.HasPrefix(got, "web.yaml:1:1: got the byte order mark U+FEFF after the beginning of the file") {
		t.Errorf("got %q, want the second mark", got)
	}
}

func TestSyntaxErrorBelowAnInvisibleCharacter(t *testing.T) {
	t.Parallel()
	for _, filler := range []int{0, 70 << 10} { // the second is too large for a search
		text := "a: 1 # \u2028\u2028\u2028\n" + strings.Repeat("# "+strings.Repeat("x", 1022)+"\n", filler/1025) + "b: 'open\nc: 1\n"
		_, problems := tree.Read("web.yaml", []byte(text))
		line := 2 + filler/1025
		if last := problems[len(problems)-1]; len(problems) != 4 || last.New || last.At.Line < line || last.At.Line > line+2 {
			t.Errorf("got problems %+v, want the last one in line %d", problems, line)
		}
	}
}

func TestInvisible(t *testing.T) {
	t.Parallel()
	utf16Text := func(order binary.AppendByteOrder, text string) string {
		var out []byte
		for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
			out = order.AppendUint16(out, unit)
		}
		return string(out)
	}
	tests := map[string]struct {
		text string
		want []string // positions
	}{
		"none":            {"a: 1 # ok\nb: \"\\u2028\\r\\N\\L\\P\\uFEFF\"\n", nil},
		"crlf":            {"a: 1\r\nb: 2\r\n", nil},
		"first_mark":      {"\ufeffa: 1\n", nil},
		"other_spaces":    {"a: b\u00a0c\u200b\u2003d\u000b # \u2027\u202a\n", nil},
		"crcrlf":          {"a: 1\r\r\n", []string{"x:1:5"}},
		"several":         {"# \u2028\u2029\n# \u0085\n", []string{"x:1:3", "x:1:4", "x:2:3"}},
		"not_utf8":        {"a: \xff\n# \u2028", []string{"x:2:3"}},
		"utf16_be":        {utf16Text(binary.BigEndian, "a: 1 # 𝔸\u2028b: 2\n"), []string{"x:1:9"}},
		"utf16_le":        {utf16Text(binary.LittleEndian, "a: 1\r\n#\u0085"), []string{"x:2:2"}},
		"utf16_mark":      {utf16Text(binary.LittleEndian, "\ufeffa: 1\n#b: 1\n"), []string{"x:1:1"}},
		"utf16_crlf":      {utf16Text(binary.BigEndian, "a: 1\r\n"), nil},
		"utf16_truncated": {utf16Text(binary.BigEndian, "a: 1\r")[:12], []string{"x:1:5"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, p := range tree.Invisible("x", []byte(test.text)) {
				got = append(got, p.At.String())
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got problems at %v, want %v", got, test.want)
			}
			err := tree.CheckVisible([]byte(test.text))
			if (err != nil) != (len(test.want) > 0) {
				t.Errorf("got error %v, want one for each file with problems", err)
			}
		})
	}
	many := tree.Invisible("x", []byte(strings.Repeat("a: 1\r", 1000)))
	if len(many) != 10 || !strings.HasSuffix(many[9].Message, "; 990 more of this kind follow") {
		t.Errorf("got %d problems with the last %q, want ten and the number of the others", len(many), many[len(many)-1].Message)
	}
	if got := tree.CheckVisible([]byte("a: 1\n# ab\u2028c\n")); got == nil || got.Error() != `line 2, column 5: got the line separator U+2028, which changes what is read and which people do not see: remove it, or write it as \u2028 in double quotes` {
		t.Errorf("got %v, want position, character and remedy", got)
	}
}

// TestInvisibleFindsWhatTheLibraryReads: a file without problems has, for the YAML library, the lines that people see.
func TestInvisibleFindsWhatTheLibraryReads(t *testing.T) {
	t.Parallel()
	pieces := []string{"a: 1", "#", " ", "\n", "\r\n", "\r", "\u0085", "\u2028", "\u2029", "\ufeff", "b: 2", "é", "\t", "\u00a0", "\u200b", "\u202e", "\u2003"}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "pieces"), "") + "\nlast: 1\n"
		var n yaml.Node
		if err := yaml.Unmarshal([]byte(text), &n); err != nil || len(n.Content) == 0 || n.Content[0].Kind != yaml.MappingNode {
			return
		}
		lines := strings.Split(strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n"), "\n")
		if len(tree.Invisible("x", []byte(text))) > 0 {
			return
		}
		for _, c := range n.Content[0].Content {
			line := []rune(lines[c.Line-1])
			if c.Kind != yaml.ScalarNode || c.Value == "" {
				continue
			}
			if before := string(line[:c.Column-1]); strings.Contains(before, " #") || strings.HasPrefix(before, "#") {
				t.Fatalf("got %q read from the comment of line %q of %q", c.Value, string(line), text)
			}
		}
	})
}

// TestEncodeIsReadBack writes texts with every such character in each style, and reads them back unchanged, without a problem.
func TestEncodeIsReadBack(t *testing.T) {
	t.Parallel()
	for name, character := range invisible {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, text := range []string{character, "a" + character + "b", character + " a", "a " + character, "a: b # c" + character, "a\n" + character + "b\n", "true" + character, "é" + character + "\"\\\n\n"} {
				for _, style := range []yaml.Style{0, yaml.LiteralStyle, yaml.FoldedStyle, yaml.SingleQuotedStyle, yaml.DoubleQuotedStyle} {
					key, value, item := &yaml.Node{}, &yaml.Node{}, &yaml.Node{}
					for _, n := range []*yaml.Node{key, value, item} {
						n.SetString(text)
						n.Style = style
						n.LineComment, n.HeadComment, n.FootComment = "x"+character+"y: 1", "x"+character+"y: 1", "x"+character+"y: 1"
					}
					n := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{key, value, {Kind: yaml.ScalarNode, Tag: "!!str", Value: "list"}, {Kind: yaml.SequenceNode, Content: []*yaml.Node{item}}}}
					out, err := tree.Encode(n)
					if err != nil {
						t.Fatal(err)
					}
					documents, problems := tree.Read("x", out)
					if len(problems) > 0 || len(documents) != 1 || len(documents[0].Entries) != 2 || documents[0].Get(text) == nil || documents[0].Get(text).Text != text || documents[0].Get("list").Items[0].Text != text {
						t.Errorf("got %s and problems %+v, want the text %q back", out, problems, text)
					}
				}
			}
		})
	}
	out, err := tree.Encode(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "plain", LineComment: "web\u2028.yaml:1"})
	if err != nil || string(out) != "plain # web\\u2028.yaml:1\n" {
		t.Errorf("got %q and %v, want a plain text with an escape in its comment", out, err)
	}
}

// TestEncodeOfCommentsIsReadBack writes comments with line breaks and control characters, which names of files can have. The texts beside them are read back unchanged.
func TestEncodeOfCommentsIsReadBack(t *testing.T) {
	t.Parallel()
	for _, comment := range []string{"w\nspec: 1", "\na", "a\n\n#b", "a\r\nb", "\x00", "\x1b[2J", "\u202e", "\u200b\n"} {
		for _, text := range []string{"one", "one\ntwo", "one\n", "# one\n\n"} {
			value, item := &yaml.Node{}, &yaml.Node{}
			value.SetString(text)
			item.SetString(text)
			value.LineComment, item.LineComment = comment, comment
			out, err := tree.Encode(&yaml.Node{Kind: yaml.MappingNode, HeadComment: comment, Content: []*yaml.Node{
				{Kind: yaml.ScalarNode, Value: "text"}, value, {Kind: yaml.ScalarNode, Value: "list"}, {Kind: yaml.SequenceNode, Content: []*yaml.Node{item}},
			}})
			if err != nil {
				t.Fatal(err)
			}
			documents, problems := tree.Read("x", out)
			if len(problems) > 0 || len(documents) != 1 || documents[0].Get("text").Text != text || documents[0].Get("list").Items[0].Text != text {
				t.Errorf("got %q and problems %+v, want the text %q back", out, problems, text)
			}
			if strings.ContainsAny(string(out), "\x00\x1b\u202e\u200b\r") {
				t.Errorf("got %q, want no control character in it", out)
			}
		}
	}
}

// TestEncodeReadsBlocksBack writes all texts of up to four characters that mean something in a block, and reads them back.
func TestEncodeReadsBlocksBack(t *testing.T) {
	t.Parallel()
	texts := []string{""}
	for last := texts; len(last[0]) < 4; {
		var longer []string
		for _, text := range last {
			for _, c := range []string{"a", " ", "\n", "\t", "#", "-", ":"} {
				longer = append(longer, text+c)
			}
		}
		last = longer
		texts = append(texts, longer...)
	}
	for _, text := range texts {
		value, item := &yaml.Node{}, &yaml.Node{}
		value.SetString(text)
		item.SetString(text)
		out, err := tree.Encode(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{
			{Kind: yaml.ScalarNode, Value: "list"}, {Kind: yaml.SequenceNode, Content: []*yaml.Node{item}}, {Kind: yaml.ScalarNode, Value: "text"}, value,
		}})
		if err != nil {
			t.Fatal(err)
		}
		documents, problems := tree.Read("x", out)
		if len(problems) > 0 || len(documents) != 1 || documents[0].Get("text").Text != text || documents[0].Get("list").Items[0].Text != text {
			t.Errorf("got %q and problems %+v, want the text %q back", out, problems, text)
		}
	}
}

func BenchmarkInvisible(b *testing.B) {
	data := []byte(strings.Repeat("  description: größer als 4 GiB # é\n", 1<<20/40))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if got := tree.Invisible("x", data); len(got) > 0 {
			b.Fatal(fmt.Sprint(got))
		}
	}
}
