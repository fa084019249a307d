package clusterview

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/preflight"
)

// A role is created once for each set of privileges and kind of object, and named for the kind.
func TestGrantViews(t *testing.T) {
	t.Parallel()
	grants := []preflight.Grant{
		{Path: "/", Privileges: []string{"Sys.Audit"}},
		{Path: "/storage/a", Privileges: []string{"Datastore.Audit"}, Propagate: true},
		{Path: "/storage/b", Privileges: []string{"Datastore.AllocateSpace"}, Propagate: true},
		{Path: "/storage/c", Privileges: []string{"Datastore.Audit"}, Propagate: true},
	}
	var got []string
	for _, v := range newGrantViews(grants, "gitops@pve!agent") {
		got = append(got, v.Commands...)
	}
	want := []string{
		"pveum role add gitops-agent-cluster --privs Sys.Audit || pveum role modify gitops-agent-cluster --append 1 --privs Sys.Audit",
		"pveum acl modify / --tokens 'gitops@pve!agent' --roles gitops-agent-cluster --propagate 0",
		"pveum role add gitops-agent-storage --privs Datastore.Audit || pveum role modify gitops-agent-storage --append 1 --privs Datastore.Audit",
		"pveum acl modify /storage/a --tokens 'gitops@pve!agent' --roles gitops-agent-storage",
		"pveum role add gitops-agent-storage-2 --privs Datastore.AllocateSpace || pveum role modify gitops-agent-storage-2 --append 1 --privs Datastore.AllocateSpace",
		"pveum acl modify /storage/b --tokens 'gitops@pve!agent' --roles gitops-agent-storage-2",
		"pveum acl modify /storage/c --tokens 'gitops@pve!agent' --roles gitops-agent-storage",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}
