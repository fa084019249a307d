package reconcile

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/internal/fixture"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

func TestDeniedCondition(t *testing.T) {
	t.Parallel()
	at := guest.Origin{File: "web.yaml", Line: 9, Column: 5}
	d := fixture.WantWeb(fixture.MemoryIntent("4096"), guest.Intent{Key: "cores", Verb: guest.Want, Text: "4", Origin: at},
		guest.Intent{Key: "ide3", Verb: guest.Want, Text: "cdrom", Origin: at})
	step := plan.Step{Guest: d.Ref, Op: cluster.OpConfig, Changes: []guest.Change{{Key: "boot"}, {Key: "cores", Origin: at}, {Key: "ide3", Origin: at}, {Key: "memory"}}}
	refused := func(denied cluster.DeniedError, text string) error {
		return fmt.Errorf("config of web-1: %w: %s", &denied, text)
	}
	lacks := func(path string, anyOf ...string) error {
		return refused(cluster.DeniedError{Path: path, AnyOf: anyOf}, "Permission check failed")
	}
	tests := map[string]struct {
		err    error
		reason reason.Name // "" means no such condition
		words  []string
	}{
		"privilege": {lacks("/vms/201", "VM.Config.CPU"), reason.Denied, []string{"VM.Config.CPU on /vms/201", "cores (web.yaml:9:5)"}},
		"one_of":    {lacks("/vms/201", "VM.Config.CPU", "VM.Config.HWType"), reason.Denied, []string{"cores"}},
		"of_drive":  {lacks("/", "Sys.Console"), reason.Denied, []string{"Sys.Console on /", "ide3 (web.yaml:9:5)"}},
		"of_no_key": {lacks("/", "Sys.Modify"), reason.Denied, []string{"Sys.Modify on /", "cores", "memory"}},
		"tag":       {refused(cluster.DeniedError{Path: "/", AnyOf: []string{"Sys.Modify"}, Tag: "prod"}, "modifying tag 'prod'"), reason.Denied, []string{"user-tag-access", "prod"}},
		"root_key":  {refused(cluster.DeniedError{RootOnly: true}, "only root can set 'args' config"), reason.NeedsRoot, []string{"root@pam", "args"}},
		"token":     {refused(cluster.DeniedError{}, "invalid token value!"), reason.Denied, []string{"invalid token value!"}},
		"sentinel":  {fmt.Errorf("pool of web-1: %w: no such pool", cluster.ErrDenied), reason.Denied, []string{"no such pool"}},
		"other":     {errors.New("no space left"), "", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, denied := deniedCondition(&track{failed: tt.err, failedStep: step}, []guest.Desired{d})
			if denied != (tt.reason != "") || got.Reason != tt.reason {
				t.Fatalf("got %+v, %v, want reason %q", got, denied, tt.reason)
			}
			for _, word := range tt.words {
				if !strings.Contains(got.Message, word) {
					t.Errorf("got message %q, want %q in it", got.Message, word)
				}
			}
			if name == "of_drive" && strings.Contains(got.Message, "boot") {
				t.Errorf("got message %q, want only the drive", got.Message)
			}
			if tt.reason == "denied" && name == "privilege" && strings.Contains(got.Message, "memory") {
				t.Errorf("got message %q, want only the key that needs the privilege", got.Message)
			}
		})
	}
}
