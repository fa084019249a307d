package verify

import (
	"bytes"
	"testing"

	"gitops-agent/internal/sigtest"
)

// FuzzTokenCertificates: the certificates of an accepted token are parts of it, and reading one needs memory in proportion to its size.
func FuzzTokenCertificates(f *testing.F) {
	s := mustSigstore(f)
	good, err := parseSignature(testMessage(f, sigtest.SignOptions{TSA: sigtest.By(s)}))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good.token)
	f.Fuzz(func(t *testing.T, token []byte) {
		var certificates [][]byte
		requireBounded(t, 64*len(token), func() { certificates, _ = tokenCertificates(token) })
		if !bytes.Contains(token, bytes.Join(certificates, nil)) {
			t.Errorf("got certificates %x, which are not in %x", certificates, token)
		}
	})
}
