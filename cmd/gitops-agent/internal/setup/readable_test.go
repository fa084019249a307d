package setup

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/internal/agent"
)

func TestUnreadableForTheService(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	token, key, public := file("token", 0o600), file("key", 0o440), file("root.json", 0o444)
	config := agent.Config{
		Proxmox: agent.ProxmoxConfig{TokenFile: token}, Trust: agent.TrustConfig{TrustedRootFile: public},
		Source: agent.SourceConfig{Remotes: []agent.RemoteConfig{{SSHKeyFile: key, KnownHostsFile: filepath.Join(dir, "missing")}}},
	}
	const other = 64001 // neither the user nor the group of this process
	for name, test := range map[string]struct {
		owner owner
		want  []string
	}{
		"no_service":     {owner{uid: other, gid: other}, nil},
		"another_user":   {owner{true, other, other}, []string{token, key}},
		"the_same_group": {owner{true, other, os.Getegid()}, []string{token}},
		"the_same_user":  {owner{true, os.Geteuid(), other}, []string{}},
	} {
		if diff := cmp.Diff(test.want, test.owner.unreadable(config)); diff != "" {
			t.Errorf("%s: files (-want +got):\n%s", name, diff)
		}
	}
}
