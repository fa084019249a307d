package proxmox

import (
	"testing"
)

func TestParseVersion(t *testing.T) {
	tests := map[string]string{
		"9.2.11": "9.2.11", "8.4": "8.4.0", "9": "9.0.0", "9.0.0~beta1": "9.0.0", "7.4-17": "7.4.0", "": "", "nine": "", "1.2.3.4": "", "9..1": "", "-1": "",
	}
	for text, want := range tests {
		got, err := parseVersion(text)
		if (err != nil) != (want == "") || err == nil && got.String() != want {
			t.Errorf("parseVersion(%q): got %v, error %v, want %q", text, got, err, want)
		}
	}
}
