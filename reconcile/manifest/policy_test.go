package manifest

import (
	"strings"
	"testing"
)

// TestRejectedPolicies are files with policies that are refused, each with file, line, column and a remedy.
func TestRejectedPolicies(t *testing.T) {
	t.Parallel()
	head := "apiVersion: proxmox.gitops/v1alpha1\nkind: Policy\nmetadata: {name: two-nics}\n"
	tests := map[string]struct{ text, want string }{
		"valid":            {head + "spec:\n  when: size(new.networks) < 2\n  message: two\n", ""},
		"valid_with_step":  {head + "spec: {on: step, operations: [destroy], classes: [destructive], kinds: [Container], when: \"true\", result: requireApproval, approvals: 2, messageExpression: step.op}\n", ""},
		"undefined_field":  {head + "spec:\n  when: size(new.network) < 2\n  message: two\n", "p.yaml:5:9: Policy two-nics: when: undefined field 'network', at 1:9 of the expression (a Guest has the field networks)"},
		"not_a_condition":  {head + "spec:\n  when: new.name\n  message: two\n", "p.yaml:5:9: Policy two-nics: when: got an expression of type string, want a condition that is true or false"},
		"boolean":          {head + "spec:\n  when: true\n  message: two\n", "p.yaml:5:9: Policy two-nics: when: got true, want an expression in CEL"},
		"no_condition":     {head + "spec: {message: two}\n", "p.yaml:1:1: Policy two-nics: when: got no condition, want an expression"},
		"no_spec":          {head, "p.yaml:1:1: Policy two-nics: spec: got no spec, want one with when and message"},
		"unknown_result":   {head + "spec:\n  when: \"true\"\n  result: denied\n  message: two\n", "p.yaml:6:11: Policy two-nics: result: got \"denied\", want one of deny, requireApproval, warn"},
		"unknown_field":    {head + "spec:\n  when: \"true\"\n  mesage: two\n", "p.yaml:6:3: Policy two-nics: mesage: unknown field"},
		"unknown_class":    {head + "spec:\n  on: step\n  when: \"true\"\n  message: two\n  classes: [danger]\n", "p.yaml:8:13: Policy two-nics: classes[0]: got \"danger\", want one of live, restart, disruptive, destructive, impossible"},
		"unknown_kind":     {head + "spec:\n  when: \"true\"\n  message: two\n  kinds: [vm]\n", "p.yaml:7:11: Policy two-nics: kinds[0]: got \"vm\", want one of VirtualMachine, Container"},
		"unknown_op":       {head + "spec:\n  on: step\n  when: \"true\"\n  message: two\n  operations: [delete]\n", "p.yaml:8:3: Policy two-nics: operations: got delete, want operations of steps"},
		"too_many_people":  {head + "spec: {when: \"true\", message: two, result: requireApproval, approvals: 20}\n", "approvals: got 20, want"},
		"another_kind":     {"apiVersion: proxmox.gitops/v1alpha1\nkind: VirtualMachine\nmetadata: {name: web-1}\n", "p.yaml:2:7: VirtualMachine web-1: kind: got \"VirtualMachine\", want one of Policy"},
		"another_version":  {"apiVersion: v1\nkind: Policy\nmetadata: {name: web-1}\n", "p.yaml:1:13: Policy web-1: apiVersion: got \"v1\", want proxmox.gitops/v1alpha1"},
		"twice":            {head + "spec: {when: \"true\", message: two}\n---\n" + head + "spec: {when: \"true\", message: two}\n", "p.yaml:6:1: Policy two-nics: metadata.name: another Policy has this name (first at p.yaml:1:1)"},
		"not_yaml":         {"{", "p.yaml:"},
		"secret_in_labels": {head + "spec: {when: new.secrets == \"x\", message: two}\n", "undefined field 'secrets'"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ParsePolicies([]File{{Path: "p.yaml", Data: []byte(test.text)}})
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v\nwant %s", err, test.want)
			}
		})
	}
}
