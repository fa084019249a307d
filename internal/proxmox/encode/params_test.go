package encode

import (
	"strings"
	"testing"
)

func TestCheckParams(t *testing.T) {
	allowed := map[string]string{
		"description": "a\r\n\tb", "ssh-public-keys": "ssh-ed25519 A\nssh-ed25519 B\n", "env": "A=1\x00B=2", "tags": "a;ü", "scsi0": "local-lvm:32,ssd=1",
	}
	if err := CheckParams(allowed); err != nil {
		t.Errorf("got error %v, want none", err)
	}
	refused := map[string]string{"tags": "a\tb", "args": "a\x00b", "sshkeys": "a\nb", "description": "a\x1bb", "env": "A=\n"}
	err := CheckParams(refused)
	for key := range refused {
		if err == nil || !strings.Contains(err.Error(), key+": control character") {
			t.Errorf("got error %v, want one about %s", err, key)
		}
	}
}
