package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestLoggedDurationsHaveAUnit(t *testing.T) {
	tests := map[string]struct {
		d    time.Duration
		want string
	}{
		"zero":         {0, "0s"},
		"microseconds": {123456 * time.Nanosecond, "120µs"},
		"milliseconds": {12345678 * time.Nanosecond, "12.35ms"},
		"seconds":      {1234567890 * time.Nanosecond, "1.23s"},
		"minutes":      {90*time.Minute + 1234*time.Millisecond, "1h30m1s"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			newLogger(&out, "info").Info("done", "duration", tt.d)
			if want := `"duration":"` + tt.want + `"`; !strings.Contains(out.String(), want) {
				t.Errorf("got %s, want %s", out.String(), want)
			}
		})
	}
}
