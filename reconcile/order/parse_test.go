package order

import (
	"strings"
	"testing"
)

// TestParse reads valid requests and prints them again as they were.
func TestParse(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"start VirtualMachine/web-1", "start Container/dns-1 for=2h", "shutdown VirtualMachine/web-1 timeout=90s force=yes for=30m", "stop Container/dns-1 for=168h",
		"reboot Container/dns-1 timeout=1h", "reset VirtualMachine/web-1", "suspend VirtualMachine/web-1", "resume VirtualMachine/web-1",
	} {
		r, err := Parse(text)
		if err != nil || r.String() != text {
			t.Errorf("got %q, %v, want %q", r.String(), err, text)
		}
	}
}

// TestParseRefuses checks that each refusal names what is allowed.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                           "one space between",
		"start  VirtualMachine/web-1":                "one space between",
		"start VirtualMachine/web-1 ":                "one space between",
		"dance VirtualMachine/web-1":                 "want start, shutdown, stop, reboot, reset, suspend or resume",
		"rollback VirtualMachine/web-1 name=s1":      "want start, shutdown",
		"start":                                      "names no guest",
		"start web-1":                                "want <kind>/<name>",
		"start VirtualMachine/":                      "want <kind>/<name>",
		"start Machine/web-1":                        "want VirtualMachine or Container",
		"reset Container/dns-1":                      "want VirtualMachine",
		"reset VirtualMachine/web-1 for=2h":          "takes none",
		"reboot VirtualMachine/web-1 for=2h":         "want timeout",
		"start VirtualMachine/web-1 now":             "want key=value",
		"stop VirtualMachine/web-1 for=1s":           "from 1m to 168h",
		"stop VirtualMachine/web-1 for=169h":         "from 1m to 168h",
		"stop VirtualMachine/web-1 for=+2h":          "from 1m to 168h",
		"stop VirtualMachine/web-1 for=2h for=3h":    "occurs twice",
		"reboot VirtualMachine/web-1 timeout=1500ms": "whole seconds",
		"shutdown VirtualMachine/web-1 force=1":      "want yes or no",
		"shutdown VirtualMachine/web-1 skiplock=1":   "want timeout, force or for",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %q", text, err, want)
		}
	}
}
