package docs_test

import (
	"strings"
	"testing"

	"gitops-agent/docs"
)

func TestRoleCommands(t *testing.T) {
	t.Parallel()
	got := docs.RoleCommands()
	for _, want := range []string{"pveum role add GitOps --privs", "Pool.Allocate", "pveum user add gitops@pve", "pveum acl modify / --users gitops@pve --roles GitOps", "pveum user token add gitops@pve agent --privsep 0\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want it to contain %q", got, want)
		}
	}
	if strings.Contains(got, "GitOpsHA") || strings.Contains(got, "`") {
		t.Errorf("got %q, want the minimal role only", got)
	}
}
