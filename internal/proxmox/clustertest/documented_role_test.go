package clustertest_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gitops-agent/internal/proxmox"
	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"

	gocmp "github.com/google/go-cmp/cmp"
)

// The documents that state which privileges to grant.
var (
	quickstart = filepath.Join("..", "..", "..", "docs", "quickstart.md")
	readme     = filepath.Join("..", "..", "..", "README.md")
)

// documentedRole returns the privileges of the role that a pveum command of a document creates.
func documentedRole(t *testing.T, document, role string) []string {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`pveum role add ` + role + ` --privs "([^"]+)"`).FindSubmatch(text)
	if command == nil {
		t.Fatalf("got no command in %s that creates role %s, want one", document, role)
	}
	privileges := strings.Fields(strings.ReplaceAll(string(command[1]), "\\", " "))
	slices.Sort(privileges)
	return privileges
}

// documentedACL returns the privileges that the pveum commands of a document grant to the agent's user.
func documentedACL(t *testing.T, document string) []pvesim.ACL {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	var acl []pvesim.ACL
	for _, command := range regexp.MustCompile(`pveum acl modify (\S+) --users gitops@pve --roles (\S+)`).FindAllStringSubmatch(string(text), -1) {
		acl = append(acl, pvesim.ACL{Path: command[1], Privileges: documentedRole(t, document, command[2])})
	}
	return acl
}

// documented returns options of a simulator whose agent has exactly the privileges that a document grants.
func documented(t *testing.T, document string, options pvesim.Options) pvesim.Options {
	t.Helper()
	options.Users = []pvesim.User{{ID: "gitops@pve", ACL: documentedACL(t, document)}}
	options.Tokens = []pvesim.Token{{ID: agentToken, Secret: "5eed0000-0000-4000-8000-000000000002", SharesUser: true}}
	return options
}

// The role of the readme does not allow HA: the call is denied with the name of the privilege.
func TestRoleWithoutHA(t *testing.T) {
	sim := pvesim.New(documented(t, readme, pvesim.Options{}))
	t.Cleanup(sim.Close)
	if _, err := sim.AddVM(pvesim.Guest{VMID: 100}); err != nil {
		t.Fatal(err)
	}
	client := connect(t, proxmox.Options{Endpoints: []string{"https://pve1"}, Transport: sim.Transport(), TokenFile: file(t, sim.Token(agentToken))})
	if _, err := client.HA(t.Context()); err != nil {
		t.Errorf("got error %v, want the list of resources", err)
	}
	_, err := client.Do(t.Context(), cluster.Call{Op: cluster.OpHAAdd, Kind: guest.VirtualMachine, Node: "pve1", VMID: 100}, nil)
	if !errors.Is(err, cluster.ErrDenied) || !strings.Contains(err.Error(), "Sys.Console") {
		t.Errorf("got error %v, want ErrDenied and the privilege", err)
	}
}

// The readme grants the same privileges as the quickstart. With these privileges the suite passes.
func TestDocumentedRolesAgree(t *testing.T) {
	want, got := documentedRole(t, quickstart, "GitOps"), documentedRole(t, readme, "GitOps")
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("privileges (-quickstart +readme)\n%s", diff)
	}
	if twice := slices.Compact(slices.Clone(want)); len(twice) != len(want) {
		t.Errorf("got %v, want every privilege once", want)
	}
}

// The privileges in the quickstart's table are the granted privileges.
func TestEveryPrivilegeIsExplained(t *testing.T) {
	text, err := os.ReadFile(quickstart)
	if err != nil {
		t.Fatal(err)
	}
	explained := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[A-Z][A-Za-z., `]+`) \\|").FindAllSubmatch(text, -1) {
		for name := range strings.SplitSeq(string(row[1]), ",") {
			explained[strings.Trim(name, " `")] = true
		}
	}
	granted := slices.Concat(documentedRole(t, quickstart, "GitOps"), documentedRole(t, quickstart, "GitOpsHA"))
	for _, privilege := range granted {
		if !explained[privilege] {
			t.Errorf("got no explanation of %s, want one", privilege)
		}
		delete(explained, privilege)
	}
	if len(explained) > 0 {
		t.Errorf("got %v explained and not granted, want them in a role", explained)
	}
}
