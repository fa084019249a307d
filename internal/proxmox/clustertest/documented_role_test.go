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
)

// page returns the text of a page of the manual.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// granting returns the pages that grant privileges: the quickstart makes the role GitOps, and privileges.md the roles that further kinds need.
func granting(t *testing.T) string { return page(t, "quickstart.md") + page(t, "privileges.md") }

// documentedRole returns the privileges of the role that a documented pveum command creates.
func documentedRole(t *testing.T, role string) []string {
	t.Helper()
	command := regexp.MustCompile(`pveum role add ` + role + ` --privs "([^"]+)"`).FindStringSubmatch(granting(t))
	if command == nil {
		t.Fatalf("got no documented command that creates role %s, want one", role)
	}
	privileges := strings.Fields(strings.ReplaceAll(command[1], "\\", " "))
	slices.Sort(privileges)
	return privileges
}

// documentedACL returns the privileges that the documented pveum commands grant to the agent's user.
func documentedACL(t *testing.T) []pvesim.ACL {
	t.Helper()
	var acl []pvesim.ACL
	for _, command := range regexp.MustCompile(`pveum acl modify (\S+) --users gitops@pve --roles (\S+)`).FindAllStringSubmatch(granting(t), -1) {
		acl = append(acl, pvesim.ACL{Path: command[1], Privileges: documentedRole(t, command[2])})
	}
	return acl
}

// documented returns options of a simulator whose agent has exactly the documented privileges.
func documented(t *testing.T, options pvesim.Options) pvesim.Options {
	t.Helper()
	options.Users = []pvesim.User{{ID: "gitops@pve", ACL: documentedACL(t)}}
	options.Tokens = []pvesim.Token{{ID: agentToken, Secret: "5eed0000-0000-4000-8000-000000000002", SharesUser: true}}
	return options
}

// The first role of the quickstart does not allow HA: the call is denied with the name of the privilege.
func TestRoleWithoutHA(t *testing.T) {
	options := documented(t, pvesim.Options{})
	options.Users[0].ACL = []pvesim.ACL{{Path: "/", Privileges: documentedRole(t, "GitOps")}}
	sim := pvesim.New(options)
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

// The role names each privilege once. With these privileges the suite passes.
func TestDocumentedRoleNamesEachPrivilegeOnce(t *testing.T) {
	privileges := documentedRole(t, "GitOps")
	if once := slices.Compact(slices.Clone(privileges)); len(once) != len(privileges) {
		t.Errorf("got %v, want every privilege once", privileges)
	}
}

// The privileges in the table of privileges.md are the granted privileges.
func TestEveryPrivilegeIsExplained(t *testing.T) {
	explained := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[A-Z][A-Za-z., `]+`) \\|").FindAllStringSubmatch(page(t, "privileges.md"), -1) {
		for name := range strings.SplitSeq(row[1], ",") {
			explained[strings.Trim(name, " `")] = true
		}
	}
	granted := slices.Concat(documentedRole(t, "GitOps"), documentedRole(t, "GitOpsHA"), documentedRole(t, "GitOpsOrders"))
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
