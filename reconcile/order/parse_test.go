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
		"snapshot VirtualMachine/web-1 name=pre-upgrade vmstate=yes", "snapshot Container/dns-1 name=S1", "delete-snapshot VirtualMachine/web-1 name=s1",
		"rollback Container/dns-1 name=s_1", "snapshot Container/dns-1 name=pending", "snapshot VirtualMachine/web-1 name=vzdump", "delete-snapshot Container/dns-1 name=vzdump",
		"backup VirtualMachine/web-1 storage=pbs mode=stop protected=yes notes=before-6.2",
		"migrate VirtualMachine/web-1 target=pve2", "migrate Container/dns-1 target=pve2",
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
		"":                              "one space between",
		"start  VirtualMachine/web-1":   "one space between",
		"start VirtualMachine/web-1 ":   "one space between",
		"dance VirtualMachine/web-1":    "want start, shutdown, stop, reboot, reset, suspend, resume, snapshot, delete-snapshot, rollback, backup or migrate",
		"rollback VirtualMachine/web-1": "rollback needs name=",
		"rollback VirtualMachine/web-1 name=Current":             "neither current nor pending",
		"snapshot VirtualMachine/web-1 name=PENDING":             "neither current nor pending",
		"snapshot Container/dns-1 name=vzdump":                   "neither current nor vzdump",
		"delete-snapshot Container/dns-1 name=current":           "not current",
		"snapshot VirtualMachine/web-1 name=s":                   "2 to 40 letters",
		"snapshot VirtualMachine/web-1 name=1s":                  "a letter first",
		"snapshot VirtualMachine/web-1 name=a/b":                 "2 to 40 letters",
		"snapshot Container/dns-1 name=s1 vmstate=yes":           "want name",
		"backup VirtualMachine/web-1":                            "backup needs storage=",
		"backup VirtualMachine/web-1 storage=a/b":                "the name of a storage",
		"backup VirtualMachine/web-1 storage=pbs mode=live":      "snapshot, suspend or stop",
		"backup VirtualMachine/web-1 storage=pbs notes={{node}}": "letters, digits",
		"backup VirtualMachine/web-1 storage=pbs prune=1":        "want storage, mode, protected or notes",
		"migrate VirtualMachine/web-1":                           "migrate needs target=",
		"migrate VirtualMachine/web-1 target=pve/2":              "the name of a node",
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
