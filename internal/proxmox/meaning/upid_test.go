package meaning

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/proxmox/route"
)

const (
	testUPID  = "UPID:pve1:000000D3:0003A844:6B00C1F6:qmcreate:101:gitops@pve!agent:"
	testUPID2 = "UPID:pve1:000000D4:0003A845:6B00C1F8:qmstart:101:root@pam:"
)

func TestParseUPID(t *testing.T) {
	tests := map[string]struct {
		want UPID
		vmid int
	}{
		testUPID:  {UPID{"pve1", "qmcreate", "101", "gitops@pve!agent", time.Unix(1795211766, 0)}, 101},
		testUPID2: {UPID{"pve1", "qmstart", "101", "root@pam", time.Unix(1795211768, 0)}, 101},
		"UPID:pve-2:00000736:123456789:6B00C3F0:imgdel:101@local:root@pam!full:": {UPID{"pve-2", "imgdel", "101@local", "root@pam!full", time.Unix(1795212272, 0)}, 0},
		"UPID:a:00000736:00046DEA:6B00C3F0:aptupdate::root@pam:":                 {UPID{"a", "aptupdate", "", "root@pam", time.Unix(1795212272, 0)}, 0},
	}
	for text, test := range tests {
		got, err := ParseUPID(text)
		if err != nil || got != test.want || got.vmid() != test.vmid {
			t.Errorf("parseUPID(%s): got %v, error %v, want %v", text, got, err, test.want)
		}
	}
	for _, text := range []string{
		"", "UPID:", "null", testUPID + "x", "x" + testUPID, strings.TrimSuffix(testUPID, ":"), strings.Replace(testUPID, "pve1", "../x", 1),
		strings.Replace(testUPID, "6B00C1F6", "6B00C1FG", 1), strings.Replace(testUPID, "qmcreate", "", 1), testUPID + "\n",
	} {
		if got, err := ParseUPID(text); err == nil {
			t.Errorf("parseUPID(%q): got %v, want an error", text, got)
		}
	}
}

// The property: the fields of a UPID that parses form the same text again.
func FuzzParseUPID(f *testing.F) {
	f.Add(testUPID)
	f.Add("UPID:a:00000736:00046DEA:6B00C3F0:aptupdate::root@pam:")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseUPID(text)
		if err != nil {
			return
		}
		fields := strings.Split(text, ":")
		if len(fields) != 9 {
			t.Fatalf("got %d fields in %q, want 9", len(fields), text)
		}
		start := fmt.Sprintf("%08X", got.Start.Unix())
		want := fmt.Sprintf("UPID:%s:%s:%s:%s:%s:%s:%s:", got.Node, fields[2], fields[3], start, got.Kind, got.ID, got.User)
		if !strings.EqualFold(want, text) || route.CheckNode(got.Node) != nil {
			t.Errorf("got %s from %s", want, text)
		}
	})
}
