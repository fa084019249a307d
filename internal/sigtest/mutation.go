package sigtest

import (
	"bytes"
	"encoding/base64"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
)

// Mutation makes a finished message wrong in one respect. The mutations of this package cover what an attacker can do without a key; a
// caller can write others. Mutations of the log entry or of a token require a message that has one.
type Mutation func(*Message)

// FlipSignature changes one bit of the signer's signature.
func FlipSignature(m *Message) { m.Signature = flipLast(m.Signature) }

// RewriteDigest puts the digest of another payload into the signed attributes, so that they fit that payload and the signature does not.
func RewriteDigest(payload []byte) Mutation {
	return func(m *Message) {
		digest := digestOf(payload)
		m.SignedAttrs = bytes.Replace(m.SignedAttrs, m.Digest[:], digest[:], 1)
		m.Digest = digest
	}
}

// AddCertificate embeds a further certificate, given as DER.
func AddCertificate(der []byte) Mutation {
	return func(m *Message) { m.Certificates = append(m.Certificates, der) }
}

// AddUnsigned adds an unsigned attribute.
func AddUnsigned(a Attribute) Mutation {
	return func(m *Message) { m.Unsigned = append(m.Unsigned, a) }
}

// RemoveEntry removes the log entry, as if the commit was signed in gitsign's online mode.
func RemoveEntry(m *Message) { m.Entry, m.Body = nil, nil }

// UseEntry replaces the log entry by the entry of another message.
func UseEntry(other *Message) Mutation {
	return func(m *Message) {
		m.Entry = proto.CloneOf(other.Entry) // later mutations must not reach the other message
		m.Body = other.Body
	}
}

// FlipSET changes one bit of the signed entry timestamp.
func FlipSET(m *Message) {
	m.Entry.InclusionPromise.SignedEntryTimestamp = flipLast(m.Entry.InclusionPromise.SignedEntryTimestamp)
}

// RemoveSET removes the signed entry timestamp.
func RemoveSET(m *Message) { m.Entry.InclusionPromise = nil }

// ShiftIntegratedTime moves the logging time in the entry, in whole seconds.
func ShiftIntegratedTime(by time.Duration) Mutation {
	return func(m *Message) { m.Entry.IntegratedTime += int64(by / time.Second) }
}

// RemoveProof removes the inclusion proof and its checkpoint.
func RemoveProof(m *Message) { m.Entry.InclusionProof = nil }

// FlipProofHash changes one bit of the first hash of the inclusion proof.
func FlipProofHash(m *Message) {
	hashes := m.Entry.InclusionProof.Hashes
	hashes[0] = flipLast(hashes[0])
}

// FlipRootHash changes one bit of the root in the inclusion proof; the checkpoint keeps the true root.
func FlipRootHash(m *Message) {
	m.Entry.InclusionProof.RootHash = flipLast(m.Entry.InclusionProof.RootHash)
}

// FlipCheckpointSignature changes one bit of the signature of the checkpoint.
func FlipCheckpointSignature(m *Message) {
	checkpoint := m.Entry.InclusionProof.Checkpoint
	text := strings.TrimSuffix(checkpoint.Envelope, "\n")
	at := strings.LastIndexByte(text, ' ') + 1
	signature, err := base64.StdEncoding.DecodeString(text[at:])
	if err != nil {
		panic("sigtest: checkpoint without signature: " + err.Error()) // this package or an earlier mutation wrote it
	}
	checkpoint.Envelope = text[:at] + base64.StdEncoding.EncodeToString(flipLast(signature)) + "\n"
}

// FlipTokenSignature changes one bit of the signature of the first timestamp token, which ends the token.
func FlipTokenSignature(m *Message) { m.Tokens[0] = flipLast(m.Tokens[0]) }

// flipLast returns a copy of b with the lowest bit of the last byte changed.
func flipLast(b []byte) []byte {
	out := bytes.Clone(b)
	out[len(out)-1] ^= 1
	return out
}
