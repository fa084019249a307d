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

// quickstart is the document that states which privileges to grant.
var quickstart = filepath.Join("..", "..", "..", "docs", "quickstart.md")

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

// The first role of the quickstart does not allow HA: the call is denied with the name of the privilege.
func TestRoleWithoutHA(t *testing.T) {
	options := documented(t, quickstart, pvesim.Options{})
	options.Users[0].ACL = []pvesim.ACL{{Path: "/", Privileges: documentedRole(t, quickstart, "GitOps")}}
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
	privileges := documentedRole(t, quickstart, "GitOps")
	if once := slices.Compact(slices.Clone(privileges)); len(once) != len(privileges) {
		t.Errorf("got %v, want every privilege once", privileges)
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
	granted := slices.Concat(documentedRole(t, quickstart, "GitOps"), documentedRole(t, quickstart, "GitOpsHA"), documentedRole(t, quickstart, "GitOpsOrders"))
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
