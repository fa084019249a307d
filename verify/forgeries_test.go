package verify_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509/pkix"

	"google.golang.org/protobuf/encoding/protowire"

	"gitops-agent/internal/sigtest"
	"gitops-agent/verify"
)

// anyWorkflow trusts every workflow of the issuer whose certificate names the repository lab/guests and the branch main.
func anyWorkflow(_ *testRepo, o *verify.Options) {
	o.Signers = []verify.Signer{{
		Name: "merge", Issuer: workflow.Issuer, SubjectRegexp: "https://.+", May: []verify.Role{verify.RoleChange},
		Extensions: verify.Extensions{
			SourceRepositoryURI: workflow.Extensions.SourceRepositoryURI, SourceRepositoryRef: workflow.Extensions.SourceRepositoryRef,
		},
	}}
}

// everythingForeign signs as alice with all services of another Sigstore.
func everythingForeign(l *testRepo) sigtest.SignOptions {
	other := foreign(l)
	return sigtest.SignOptions{CA: other, CTLog: other, Log: other, TSA: other}
}

// entryOfAnother signs with the log entry of another signature. That entry is really in the log.
func entryOfAnother(opts sigtest.SignOptions) func(*testRepo) sigtest.SignOptions {
	return func(l *testRepo) sigtest.SignOptions {
		opts.At, opts.TSA = noon, sigtest.By(l.sig)
		donor, err := l.sig.Message([]byte("another"), alice, opts)
		if err != nil {
			l.Fatal(err)
		}
		opts.Mutate = []sigtest.Mutation{sigtest.UseEntry(donor)}
		return opts
	}
}

// secondCertificate adds another valid certificate to the signature.
func secondCertificate(l *testRepo) sigtest.SignOptions {
	donor, err := l.sig.Message([]byte("another"), bob, sigtest.SignOptions{At: noon})
	if err != nil {
		l.Fatal(err)
	}
	return sigtest.SignOptions{Mutate: []sigtest.Mutation{sigtest.AddCertificate(donor.Certificates[0])}}
}

// largerKey signs with a key on the curve P-384.
func largerKey(l *testRepo) sigtest.SignOptions {
	key, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		l.Fatal(err)
	}
	return sigtest.SignOptions{Certificate: func(c *sigtest.Certificate) { c.Key = key }}
}

func doubleToken(m *sigtest.Message) { m.Tokens = append(m.Tokens, m.Tokens[0]) }

// moveIndex increases the index of the entry in the log, so that it differs from the inclusion proof.
func moveIndex(m *sigtest.Message) {
	m.Entry.LogIndex++
	m.Entry.InclusionProof.LogIndex++
}

// hideField adds a field that the type of the log entry does not have.
func hideField(m *sigtest.Message) {
	unknown := protowire.AppendTag(nil, 1000, protowire.VarintType)
	m.Entry.InclusionProof.ProtoReflect().SetUnknown(protowire.AppendVarint(unknown, 1))
}

// attributes returns options that change the signed attributes before they are signed.
func attributes(change func([]sigtest.Attribute) []sigtest.Attribute) func(*testRepo) sigtest.SignOptions {
	return func(*testRepo) sigtest.SignOptions { return sigtest.SignOptions{Attributes: change} }
}

// otherUsage signs with a certificate that is issued for TLS servers.
func otherUsage(*testRepo) sigtest.SignOptions {
	return sigtest.SignOptions{Certificate: func(c *sigtest.Certificate) {
		codeSigning, serverAuth := []byte{1, 3, 6, 1, 5, 5, 7, 3, 3}, []byte{1, 3, 6, 1, 5, 5, 7, 3, 1}
		for i, e := range c.Extensions {
			c.Extensions[i] = pkix.Extension{Id: e.Id, Critical: e.Critical, Value: bytes.ReplaceAll(e.Value, codeSigning[2:], serverAuth[2:])}
		}
	}}
}

// cutSignature splits a signed commit into its payload and its armored signature.
func cutSignature(raw []byte) (payload, signature []byte) {
	start := bytes.Index(raw, []byte("\ngpgsig ")) + 1
	for end := start; ; {
		line := bytes.IndexByte(raw[end:], '\n') + 1
		signature = append(signature, bytes.TrimPrefix(bytes.TrimPrefix(raw[end:end+line], []byte("gpgsig ")), []byte(" "))...)
		end += line
		if raw[end] != ' ' {
			return append(bytes.Clone(raw[:start]), raw[end:]...), signature
		}
	}
}

func payloadOf(raw []byte) []byte {
	payload, _ := cutSignature(raw)
	return payload
}

func signatureOf(raw []byte) []byte {
	_, signature := cutSignature(raw)
	return signature
}

// withSignature replaces or adds the signature of a commit.
func withSignature(l *testRepo, raw, signature []byte) []byte {
	l.Helper()
	if bytes.Contains(raw, []byte("\ngpgsig ")) {
		raw = payloadOf(raw)
	}
	signed, err := sigtest.AttachToCommit(raw, signature)
	if err != nil {
		l.Fatal(err)
	}
	return signed
}

func resigned(signature string) func(*testRepo, []byte) []byte {
	return func(l *testRepo, raw []byte) []byte { return withSignature(l, raw, []byte(signature)) }
}

// changeHeader replaces the value of the first header of that name.
func changeHeader(name, value string) func(*testRepo, []byte) []byte {
	return func(_ *testRepo, raw []byte) []byte {
		start := bytes.Index(raw, []byte(name+" ")) + len(name) + 1
		end := start + bytes.IndexByte(raw[start:], '\n')
		return append(append(bytes.Clone(raw[:start]), value...), raw[end:]...)
	}
}
