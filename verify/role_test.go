package verify_test

import (
	"testing"

	"gitops-agent/verify"
)

func TestMissingRole(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"the entry olga of trust.signers lacks the role change, which takes may: [approve, change]": verify.MissingRole("olga", []verify.Role{verify.RoleApprove}, verify.RoleChange),
		"the entry olga of trust.signers lacks the role operate, which takes may: [..., operate]":   verify.MissingRole("olga", nil, verify.RoleOperate),
		"its signer lacks the role approve, which takes may: [..., approve]":                        verify.MissingRole("", nil, verify.RoleApprove),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
