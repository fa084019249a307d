package form

import (
	"testing"

	"pgregory.net/rapid"
)

func TestParseSize(t *testing.T) {
	tests := map[string]struct {
		text string
		want int64
	}{
		"bytes":        {"1048576", 1 << 20},
		"kibibytes":    {"528K", 528 << 10},
		"mebibytes":    {"4608M", 4608 << 20},
		"fraction":     {"4.5G", 4608 << 20},
		"tebibytes":    {"2T", 2 << 40},
		"odd_kibibyte": {"5120001K", 5120001 << 10},
		"zero":         {"0", 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ParseSize(test.text)
			if err != nil || got != test.want {
				t.Errorf("ParseSize(%q): got %d, %v, want %d", test.text, got, err, test.want)
			}
		})
	}
}

func TestParseSizeRefuses(t *testing.T) {
	for _, text := range []string{"", "G", "abc", "-1G", "+1G", "1GiB", "32g", "1.", ".5G", "1e3", "99999999999T", "9223372036854775808"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("ParseSize(%q): got %d, want an error", text, got)
		}
	}
}

func TestFormatSize(t *testing.T) {
	tests := map[int64]string{0: "0", 1: "1", 1024: "1K", 512 << 20: "512M", 1 << 30: "1G", 4608 << 20: "4608M", 5120001 << 10: "5120001K", 3 << 40: "3T", 2048 << 40: "2048T"}
	for bytes, want := range tests {
		if got := FormatSize(bytes); got != want {
			t.Errorf("FormatSize(%d): got %q, want %q", bytes, got, want)
		}
	}
}

func TestSizeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bytes := rapid.Int64Range(0, 1<<62).Draw(t, "bytes")
		if got, err := ParseSize(FormatSize(bytes)); err != nil || got != bytes {
			t.Fatalf("parse of %q: got %d, %v, want %d", FormatSize(bytes), got, err, bytes)
		}
	})
}

func TestAllocationSyntaxCountsGibibytes(t *testing.T) {
	tests := map[int64]string{32 << 30: "32", 512 << 20: "0.5", 4608 << 20: "4.5", 1 << 40: "1024"}
	for bytes, want := range tests {
		if got := Gibibytes(bytes); got != want {
			t.Errorf("gibibytes(%d): got %q, want %q", bytes, got, want)
		}
	}
}

// FuzzParseSize: what parses, prints to a text of the same size.
func FuzzParseSize(f *testing.F) {
	for _, text := range []string{"32G", "4.5G", "0", "1K", "8191P", "9007199254740993"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		bytes, err := ParseSize(text)
		if err != nil {
			return
		}
		if again, err := ParseSize(FormatSize(bytes)); err != nil || again != bytes {
			t.Errorf("size %q: got %d, printed %q, read %d, %v", text, bytes, FormatSize(bytes), again, err)
		}
	})
}
