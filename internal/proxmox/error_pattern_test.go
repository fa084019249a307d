package proxmox

import (
	"errors"
	"testing"

	"gitops-agent/internal/proxmox/meaning"
	"gitops-agent/reconcile/cluster"

	"github.com/google/go-cmp/cmp"
)

// A DeniedError holds the object, the privileges and root@pam if Proxmox's text names them, in a reply and in the exit status of a task.
func TestDeniedErrors(t *testing.T) {
	tests := map[string]struct {
		text string
		want cluster.DeniedError
	}{
		"privilege": {"Permission check failed (/vms/201, VM.Config.CPU)", cluster.DeniedError{Path: "/vms/201", AnyOf: []string{"VM.Config.CPU"}}},
		"one_of":    {"Permission check failed (/vms/201, VM.Config.CPU|VM.Config.HWType)", cluster.DeniedError{Path: "/vms/201", AnyOf: []string{"VM.Config.CPU", "VM.Config.HWType"}}},
		"of_root":   {"Permission check failed (/, Sys.Modify)", cluster.DeniedError{Path: "/", AnyOf: []string{"Sys.Modify"}}},
		"tag": {
			"unable to create VM 201 - 403 Permission check failed (/, Sys.Modify for modifying tag 'gitops-0123abcd')",
			cluster.DeniedError{Path: "/", AnyOf: []string{"Sys.Modify"}, Tag: "gitops-0123abcd"},
		},
		"root_key":      {"only root can set 'args' config", cluster.DeniedError{RootOnly: true}},
		"root_device":   {"only root can modify 'hostpci0' config for real devices", cluster.DeniedError{RootOnly: true}},
		"root_path":     {"Only root can pass arbitrary filesystem paths.", cluster.DeniedError{RootOnly: true}},
		"root_features": {"Permission check failed (changing feature flags (except nesting) is only allowed for root@pam)", cluster.DeniedError{RootOnly: true}},
		"no_details":    {"Permission check failed", cluster.DeniedError{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, replied := inProcess(t, always(403, test.text, "")).Do(t.Context(), startCall, nil)
			ended := meaning.UPID{Node: "pve1", Kind: "qmstart", ID: "151"}.Ended(testUPID, test.text, nil).Err
			for where, err := range map[string]error{"reply": replied, "task": ended} {
				var got *cluster.DeniedError
				if !errors.As(err, &got) || !errors.Is(err, cluster.ErrDenied) {
					t.Fatalf("%s: got error %v, want a refusal", where, err)
				}
				if diff := cmp.Diff(test.want, *got); diff != "" {
					t.Errorf("%s (-want +got)\n%s", where, diff)
				}
			}
		})
	}
}
