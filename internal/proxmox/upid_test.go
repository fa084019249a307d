package proxmox

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestParseUPID(t *testing.T) {
	tests := map[string]struct {
		want upid
		vmid int
	}{
		testUPID:  {upid{"pve1", "qmcreate", "101", "gitops@pve!agent", time.Unix(1795211766, 0)}, 101},
		testUPID2: {upid{"pve1", "qmstart", "101", "root@pam", time.Unix(1795211768, 0)}, 101},
		"UPID:pve-2:00000736:123456789:6B00C3F0:imgdel:101@local:root@pam!full:": {upid{"pve-2", "imgdel", "101@local", "root@pam!full", time.Unix(1795212272, 0)}, 0},
		"UPID:a:00000736:00046DEA:6B00C3F0:aptupdate::root@pam:":                 {upid{"a", "aptupdate", "", "root@pam", time.Unix(1795212272, 0)}, 0},
	}
	for text, test := range tests {
		got, err := parseUPID(text)
		if err != nil || got != test.want || got.vmid() != test.vmid {
			t.Errorf("parseUPID(%s): got %v, error %v, want %v", text, got, err, test.want)
		}
	}
	for _, text := range []string{
		"", "UPID:", "null", testUPID + "x", "x" + testUPID, strings.TrimSuffix(testUPID, ":"), strings.Replace(testUPID, "pve1", "../x", 1),
		strings.Replace(testUPID, "6B00C1F6", "6B00C1FG", 1), strings.Replace(testUPID, "qmcreate", "", 1), testUPID + "\n",
	} {
		if got, err := parseUPID(text); err == nil {
			t.Errorf("parseUPID(%q): got %v, want an error", text, got)
		}
	}
}

// The property: the fields of a UPID that parses form the same text again.
func FuzzParseUPID(f *testing.F) {
	f.Add(testUPID)
	f.Add("UPID:a:00000736:00046DEA:6B00C3F0:aptupdate::root@pam:")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseUPID(text)
		if err != nil {
			return
		}
		fields := strings.Split(text, ":")
		if len(fields) != 9 {
			t.Fatalf("got %d fields in %q, want 9", len(fields), text)
		}
		start := fmt.Sprintf("%08X", got.start.Unix())
		want := fmt.Sprintf("UPID:%s:%s:%s:%s:%s:%s:%s:", got.node, fields[2], fields[3], start, got.kind, got.id, got.user)
		if !strings.EqualFold(want, text) || checkNode(got.node) != nil {
			t.Errorf("got %s from %s", want, text)
		}
	})
}
