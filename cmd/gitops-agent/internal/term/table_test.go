package term

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestTableAlignsRunesAndNotColours(t *testing.T) {
	t.Parallel()
	tab := Table{Indent: "  "}
	tab.Add(Cell{Text: "größe"}, Cell{"a", Red}, Cell{Text: "end"})
	tab.Add(Cell{"x", Green}, Cell{Text: "bb"}, Cell{Text: "a longer end that widens nothing"})
	tab.AddText("just one cell that is much longer than the column")
	var out strings.Builder
	tab.Write(&out, Palette{})
	want := "  größe  a   end\n  x      bb  a longer end that widens nothing\n  just one cell that is much longer than the column\n"
	if out.String() != want {
		t.Errorf("got\n%s, want\n%s", out.String(), want)
	}
	out.Reset()
	tab.Write(&out, Palette{On: true})
	plainly := strings.NewReplacer("\x1b[31m", "", "\x1b[32m", "", "\x1b[0m", "").Replace(out.String())
	if plainly != want || !strings.Contains(out.String(), "\x1b[31ma\x1b[0m") {
		t.Errorf("got %q, want the same table in colours", out.String())
	}
}

func TestTableDisarmsText(t *testing.T) {
	t.Parallel()
	tab := Table{}
	tab.AddText("name\x1b[2J\nnext\u202e", "end")
	var out strings.Builder
	tab.Write(&out, Palette{})
	if got, want := out.String(), "name\uFFFD[2J next\uFFFD  end\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestUnseenCharactersAreEscaped prints a text with an invisible character as a line, as JSON and as an element of a list.
func TestUnseenCharactersAreEscaped(t *testing.T) {
	for hidden, escape := range map[string]string{"\u200b": `\u200b`, "\u2060": `\u2060`, "\ufeff": `\ufeff`, "\u3164": `\u3164`, "\U000e0041": `\udb40\udc41`} {
		name := "web" + hidden + "1"
		if got, want := Printable(name), "web"+escape+"1"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		var whole, list strings.Builder
		if err := WriteJSON(&whole, map[string]any{"name": name, "raw": json.RawMessage(`"` + name + `"`)}); err != nil {
			t.Fatal(err)
		}
		elements := NewJSONList(&list, "names")
		if err := errors.Join(elements.Add(name), elements.Close()); err != nil {
			t.Fatal(err)
		}
		var document struct{ Name, Raw string }
		if err := json.Unmarshal([]byte(whole.String()), &document); err != nil || document.Name != name || document.Raw != name {
			t.Errorf("got %+v, %v, want the name as it is", document, err)
		}
		if strings.Contains(whole.String()+list.String(), hidden) || !strings.Contains(list.String(), escape) {
			t.Errorf("got %q and %q, want %s", whole.String(), list.String(), escape)
		}
	}
}

// TestEmojiStays prints the joiners and variants that belong to an emoji as they are.
func TestEmojiStays(t *testing.T) {
	const text = "restart \u26a0\ufe0f \U0001f469\u200d\U0001f4bb"
	if got := Printable(text); got != text {
		t.Errorf("got %q, want %q", got, text)
	}
}

func FuzzPrintable(f *testing.F) {
	f.Add("web-1\x1b]0;title\x07\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		got := Printable(text)
		if strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }) {
			t.Errorf("got %q, want nothing that steers a terminal", got)
		}
		if again := Printable(got); again != got {
			t.Errorf("got %q the second time, want %q", again, got)
		}
	})
}
