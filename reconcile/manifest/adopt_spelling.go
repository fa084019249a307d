package manifest

import (
	"strconv"
	"strings"
	"time"

	"gitops-agent/reconcile/guest/form"
	"gitops-agent/reconcile/manifest/tree"
)

// spelling returns the YAML value that a field prints as the native text, or as text with the same meaning. It returns nil if the field cannot
// express the text. It tries the values that people may write and asks the codec, so that a codec needs no separate inverse.
func spelling[T any](c codec[T], text string, means func(printed, text string) bool) *tree.Node {
	candidates := spellings(text)
	for _, same := range []func(printed, text string) bool{isEqual, means} {
		for _, n := range candidates {
			if value, wrong := c.parse(n); wrong == nil && same(c.format(value), text) {
				return n
			}
		}
	}
	return nil
}

func isEqual(a, b string) bool { return a == b }

// spellings returns the values that people may write for a native text, the most readable first.
func spellings(text string) []*tree.Node {
	out := []*tree.Node{scalarOf("!!str", text)}
	if number, err := strconv.Atoi(text); err == nil {
		out = append(out, scalarOf("!!int", strconv.Itoa(number)), scalarOf("!!str", spelledSize(int64(number)*mib)),
			scalarOf("!!str", spelledSpan(time.Duration(number)*time.Second)))
	}
	if number, err := strconv.ParseFloat(text, 64); err == nil {
		out = append(out, scalarOf("!!float", strconv.FormatFloat(number, 'f', -1, 64)))
	}
	if bytes, err := form.ParseSize(text); err == nil {
		out = append(out, scalarOf("!!str", spelledSize(bytes)))
	}
	return append(out, scalarOf("!!bool", "true"), scalarOf("!!bool", "false"), scalarOf("!!str", "off"))
}

// spelledSize returns bytes in the largest unit without a remainder: "4Gi".
func spelledSize(bytes int64) string {
	for _, unit := range []struct {
		name  string
		bytes int64
	}{{"Ti", tib}, {"Gi", gib}, {"Mi", mib}} {
		if bytes >= unit.bytes && bytes%unit.bytes == 0 {
			return strconv.FormatInt(bytes/unit.bytes, 10) + unit.name
		}
	}
	return strconv.FormatInt(bytes/mib, 10) + "Mi"
}

// spelledSpan returns a duration without units that are 0: "2m", not "2m0s".
func spelledSpan(d time.Duration) string {
	text := d.String()
	for _, rest := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, rest) {
			text = text[:len(text)-2]
		}
	}
	return text
}

func scalarOf(tag, text string) *tree.Node {
	return &tree.Node{Kind: tree.Scalar, Tag: tag, Text: text}
}

func listOf(words []string) *tree.Node {
	out := &tree.Node{Kind: tree.List}
	for _, word := range words {
		out.Items = append(out.Items, scalarOf("!!str", word))
	}
	return out
}
