package shell_test

import (
	"testing"

	"gitops-agent/internal/shell"
)

// Users copy the commands, and paths come from manifests: every name stays one word of the shell.
func TestWord(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"plain":        {"/storage/local-lvm", "/storage/local-lvm"},
		"home":         {"/home/a+b@c/.config", "/home/a+b@c/.config"},
		"several":      {"VM.Audit VM.Clone", "'VM.Audit VM.Clone'"},
		"token":        {"gitops@pve!agent", "'gitops@pve!agent'"},
		"substitution": {"/pool/$(reboot)", "'/pool/$(reboot)'"},
		"quote":        {"/pool/a'; reboot; '", `'/pool/a'\''; reboot; '\'''`},
		"nothing":      {"", "''"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := shell.Word(test.text); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
