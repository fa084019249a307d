package proxmox

import (
	"strings"
	"testing"
)

func TestPermissions(t *testing.T) {
	client := inProcess(t, byPath(t, map[string]stubReply{
		"GET /access/permissions": ok(`{"/":{"Sys.Audit":1,"Sys.Modify":0},"/vms":{"VM.Audit":1,"VM.PowerMgmt":"1"},"/vms/100":{"VM.Audit":0}}`),
	}))
	permissions, err := client.Permissions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{
		"/ Sys.Audit":                  true,
		"/ Sys.Modify":                 true,
		"/nodes/pve1 Sys.Audit":        true,
		"/nodes/pve1 Sys.Modify":       false, // does not propagate
		"/vms/101 VM.PowerMgmt":        true,
		"/vms/100 VM.Audit":            true,
		"/vms/100 VM.PowerMgmt":        false, // the narrower rule replaces the wider one
		"/vms/101 VM.Allocate":         false,
		"/vms/101 Sys.Audit":           false,
		"/storage/local Datastore.Use": false,
	}
	for question, want := range tests {
		object, privilege, _ := strings.Cut(question, " ")
		if got := permissions.Allow(object, privilege); got != want {
			t.Errorf("Allow(%s): got %v, want %v", question, got, want)
		}
	}
	if (Permissions{}).Allow("/vms/100", "VM.Audit") {
		t.Error("got true from no permissions, want false")
	}
}
