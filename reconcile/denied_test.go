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
)

func TestDeniedCondition(t *testing.T) {
	at := guest.Origin{File: "web.yaml", Line: 9, Column: 5}
	d := fixture.WantWeb(fixture.MemoryIntent("4096"), guest.Intent{Key: "cores", Verb: guest.Want, Text: "4", Origin: at})
	step := plan.Step{Guest: d.Ref, Op: cluster.OpConfig, Changes: []guest.Change{{Key: "cores", Origin: at}, {Key: "memory"}}}
	refused := func(text string) error { return fmt.Errorf("config of web-1: %w: %s", cluster.ErrDenied, text) }
	tests := map[string]struct {
		err    error
		reason string // "" is no such condition
		words  []string
	}{
		"privilege": {refused("Permission check failed (/vms/201, VM.Config.CPU)"), "denied", []string{"VM.Config.CPU on /vms/201", "cores (web.yaml:9:5)"}},
		"one_of":    {refused("Permission check failed (/vms/201, VM.Config.CPU|VM.Config.HWType)"), "denied", []string{"cores"}},
		"of_no_key": {refused("Permission check failed (/, Sys.Modify)"), "denied", []string{"Sys.Modify on /", "cores", "memory"}},
		"root_key":  {refused("only root can set 'args' config"), "root-only", []string{"root@pam", "args"}},
		"token":     {refused("invalid token value!"), "denied", []string{"invalid token value!"}},
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
			if tt.reason == "denied" && name == "privilege" && strings.Contains(got.Message, "memory") {
				t.Errorf("got message %q, want only the key that needs the privilege", got.Message)
			}
		})
	}
}
