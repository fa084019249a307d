package tree

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// isDirection reports whether a character changes the order in which the characters after it are shown.
//
// Source: Unicode Standard Annex 9, Directional Formatting Characters.
func isDirection(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) }

// IsUnseen reports whether people do not see a character, and see no space in its place: format characters, fillers, selectors of variants and what else has no shape.
//
// Source: Unicode Standard Annex 44, Default_Ignorable_Code_Point.
func IsUnseen(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// IsDeceptive reports whether a value with the character itself is shown as another value. A joiner or a selector of a variant is meant between the parts of an emoji and in scripts whose
// letters it joins or varies.
func IsDeceptive(r, before rune) bool {
	if r == '\u200c' || r == '\u200d' || unicode.Is(unicode.Variation_Selector, r) {
		return before <= unicode.MaxLatin1 || unicode.In(before, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Nd)
	}
	return IsUnseen(r)
}

// isBlank reports whether people see a space that is none for YAML: before a number sign, it makes a value look like a comment.
func isBlank(r rune) bool { return r == '\u2800' || r != ' ' && unicode.Is(unicode.Zs, r) }

// keycap ends an emoji of a digit: between both is a selector of a variant.
const keycap = '\u20e3'

// written returns the character as it is written in double quotes.
func written(r rune) string {
	if r > 0xffff {
		return fmt.Sprintf(`\U%08X`, r)
	}
	return fmt.Sprintf(`\u%04X`, r)
}

// deceptive returns the first character of a text that is shown as something else and that the file contains itself: in double quotes, people see an escape. In a key, which
// is a name, no character is unseen, however it is written.
func (b *builder) deceptive(text string, isKey bool) (rune, bool) {
	before := ' '
	for i, r := range text {
		_, isReported := invisible[r]
		switch {
		case r == '\ufe0f' && !isKey && strings.HasPrefix(text[i+len("\ufe0f"):], string(keycap)):
		case r < unicode.MaxLatin1 && r != '\u00ad' && r != '\u00a0', isReported:
		case isKey && IsUnseen(r), (IsDeceptive(r, before) || isBlank(r) && strings.HasPrefix(text[i+utf8.RuneLen(r):], "#")) && bytes.Contains(b.file.data, []byte(string(r))):
			return r, true
		}
		before = r
	}
	return 0, false
}

// checkShown reports a text that is shown as something else.
func (b *builder) checkShown(at Position, text string, isKey bool) {
	r, is := b.deceptive(text, isKey)
	if !is {
		return
	}
	b.shown = append(b.shown, r)
	what, hint := "value", "remove it, or write it as "+written(r)+" in double quotes"
	if isKey {
		what, hint = "name", "remove it"
	}
	b.problems = append(b.problems, Problem{At: at, New: true, Hint: hint, Message: fmt.Sprintf("got the character U+%04X in a %s, which people do not see or see as something else", r, what)})
}

// shownComments returns a warning for each line with a directional character of which no value and no name has been reported: it is in a comment, which is shown in another order.
func (f file) shownComments(reported []rune) []Problem {
	if !bytes.ContainsFunc(f.data, isDirection) {
		return nil
	}
	var found []Problem
	for i, line := range strings.Split(string(f.data), "\n") {
		at := strings.IndexFunc(line, func(r rune) bool { return isDirection(r) && !slices.Contains(reported, r) })
		if at < 0 {
			continue
		}
		column := len([]rune(line[:at])) + 1
		found = append(found, Problem{
			At: f.at(i+1, column), Warns: true, New: true, Message: fmt.Sprintf("got the directional character U+%04X in a comment, which is shown in another order", []rune(line[at:])[0]), Hint: "remove it",
		})
	}
	return found[:min(len(found), maxInvisible)]
}
