package tree

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// confusable are the scripts that have letters which look like letters of another one of them.
var confusable = []*unicode.RangeTable{unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Armenian, unicode.Cherokee, unicode.Coptic, unicode.Lisu}

// latinShapes are letters of other scripts that look like Latin ones.
//
// Source: Unicode Technical Standard 39, confusables.
const latinShapes = "\u0430\u0441\u0501\u0435\u04bb\u0456\u0458\u04cf\u043e\u0440\u051b\u0455\u051d\u0445\u0443\u0475" + // Cyrillic
	"\u0410\u0412\u0415\u0405\u0406\u0408\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0423\u051a\u051c" +
	"\u03bf\u03bd\u03c1\u03c5\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7" + // Greek
	"\u0585\u0578\u057d\u0570\u0581" // Armenian

// styled are letters and digits that are others in another style, such as full width and mathematical ones.
var styled = &unicode.RangeTable{
	R16: []unicode.Range16{{0x2100, 0x214f, 1}, {0xff10, 0xff19, 1}, {0xff21, 0xff3a, 1}, {0xff41, 0xff5a, 1}},
	R32: []unicode.Range32{{0x1d400, 0x1d7ff, 1}},
}

// Lookalike returns the first character by which a text looks like another text, and whether there is one. It is for texts that are compared with others: a word with letters of several
// scripts, one of another script that reads as a Latin one, letters in another style, a mark that is combined with a letter, and characters that people do not see.
func Lookalike(text string) (rune, bool) {
	var word []rune
	for _, r := range text + " " {
		switch {
		case IsUnseen(r), unicode.Is(styled, r), r == '\u2800':
			return r, true
		case unicode.Is(unicode.Mn, r) && len(word) > 0 && scriptOf(word[len(word)-1]) >= 0:
			return r, true
		case unicode.IsLetter(r):
			word = append(word, r)
		default:
			if r, is := lookalikeIn(word); is {
				return r, true
			}
			word = word[:0]
		}
	}
	return 0, false
}

// lookalikeIn is Lookalike for the letters of one word.
func lookalikeIn(word []rune) (rune, bool) {
	first, shapes := -1, 0
	for _, r := range word {
		script := scriptOf(r)
		if script < 0 {
			continue
		}
		if first < 0 {
			first = script
		}
		if script != first {
			return r, true
		}
		if strings.ContainsRune(latinShapes, r) {
			shapes++
		}
	}
	if shapes > 0 && shapes == len(word) {
		return word[0], true
	}
	return 0, false
}

// scriptOf returns the index of the confusable script that has a letter, -1 if none has it.
func scriptOf(r rune) int {
	return slices.IndexFunc(confusable, func(script *unicode.RangeTable) bool { return unicode.Is(script, r) })
}

// SeemsOther says that a text contains a character by which it looks like another one.
func SeemsOther(r rune) string {
	return fmt.Sprintf("got the character U+%04X, with which it looks like another text", r)
}
