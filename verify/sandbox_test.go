package verify_test

import (
	"crypto/x509/pkix"
	"strings"
	"testing"

	"gitops-agent/internal/sigtest"
	"gitops-agent/verify"
)

// TestSandboxMarker: any certificate with the marker is refused, and a sandbox trusts nothing else.
func TestSandboxMarker(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		marked  []string // certificates with the marker
		sandbox bool
		want    string // part of the error; "" is none
	}{
		"none":                   {},
		"root":                   {marked: []string{"ca-root"}, want: "trusted root is of a sandbox"},
		"intermediate":           {marked: []string{"ca-intermediate"}, want: "trusted root is of a sandbox"},
		"timestamp_authority":    {marked: []string{"tsa-root"}, want: "trusted root is of a sandbox"},
		"sandbox":                {marked: []string{"ca-root", "ca-intermediate"}, sandbox: true},
		"sandbox_without_marker": {sandbox: true, want: "trusted root is not of a sandbox"},
		"sandbox_marked_stamper": {marked: []string{"tsa-root"}, sandbox: true, want: "trusted root is not of a sandbox"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newTestRepo(t)
			opts := sigtest.Options{Seed: name, Extensions: map[string][]pkix.Extension{}}
			for _, certificate := range row.marked {
				opts.Extensions[certificate] = []pkix.Extension{verify.SandboxMarker()}
			}
			var err error
			if l.sig, err = sigtest.New(opts); err != nil {
				t.Fatal(err)
			}
			options := l.options()
			options.Sandbox = row.sandbox
			policy, err := verify.NewPolicy(options)
			if row.want == "" && err == nil {
				if v := policy.Audit(t.Context(), l.repo, l.commit(draft{})); !v.Accepted {
					t.Errorf("commit: got %v, want it accepted", v.Err)
				}
			} else if row.want == "" || err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("policy: got %v, want an error with %q", err, row.want)
			}
			// An audit without signers is no sandbox either.
			if _, err := verify.NewIdentifier(options.TrustedRoot); (err != nil) != (len(row.marked) > 0) {
				t.Errorf("identifier: got %v, want an error: %t", err, len(row.marked) > 0)
			}
		})
	}
	t.Run("leaf", func(t *testing.T) {
		t.Parallel()
		l := newTestRepo(t)
		l.sig = newSigstore(t, "leaf")
		mark := func(c *sigtest.Certificate) { c.Extensions = append(c.Extensions, verify.SandboxMarker()) }
		v := l.policy().Audit(t.Context(), l.repo, l.commit(draft{sign: sigtest.SignOptions{Certificate: mark}}))
		if v.Reason != verify.ReasonUntrustedCertificate || !strings.Contains(v.Err.Error(), "sandbox") {
			t.Errorf("got %q (%v), want %s because of the sandbox", v.Reason, v.Err, verify.ReasonUntrustedCertificate)
		}
	})
}
