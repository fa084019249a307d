package role_test

import (
	"testing"

	"gitops-agent/verify/role"
)

func TestMissing(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"the entry olga of trust.signers lacks the role change, which takes may: [approve, change]": role.Missing("olga", []string{"approve"}, "change"),
		"the entry olga of trust.signers lacks the role operate, which takes may: [..., operate]":   role.Missing("olga", nil, "operate"),
		"its signer lacks the role approve, which takes may: [..., approve]":                        role.Missing("", nil, "approve"),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
