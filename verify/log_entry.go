package verify

import (
	"bytes"

	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// A logEntry is the log entry of a signature, without its body. Only its form has been verified.
type logEntry struct {
	*protorekor.TransparencyLogEntry
	isV1 bool // from a Rekor v1 log
}

// entryKind is the kind of the only entries that signatures of git objects have.
const entryKind = "hashedrekord"

// parseLogEntry reads the log entry of a signature. No signature covers the entry as a whole, so everything in it that the log does not prove
// must have the one form that gitsign writes: otherwise the same signature could be written in many ways, each with another commit id.
func parseLogEntry(raw []byte) (logEntry, error) {
	e := logEntry{TransparencyLogEntry: &protorekor.TransparencyLogEntry{}}
	if err := proto.Unmarshal(raw, e.TransparencyLogEntry); err != nil {
		return logEntry{}, refuse(ReasonMalformedSignature, "log entry: %w", err)
	}
	if hasUnknownFields(e.ProtoReflect()) || len(e.GetCanonicalizedBody()) != 0 {
		return logEntry{}, refuse(ReasonMalformedSignature, "log entry has fields outside the profile")
	}
	if again, err := (proto.MarshalOptions{Deterministic: true}).Marshal(e.TransparencyLogEntry); err != nil || !bytes.Equal(again, raw) {
		return logEntry{}, refuse(ReasonMalformedSignature, "log entry is not in the canonical encoding of protobuf")
	}
	proof := e.GetInclusionProof()
	c, err := parseCheckpoint(proof.GetCheckpoint().GetEnvelope())
	if err != nil {
		return logEntry{}, err
	}
	if !c.isOf(proof) {
		return logEntry{}, refuse(ReasonBadLogEntry, "the inclusion proof is for another tree than the checkpoint")
	}
	e.isV1 = c.isV1
	return e, e.checkForm()
}

// checkForm refuses values that verifying the entry does not use. Rekor v1 signs the time and the index of an entry; Rekor v2 signs neither.
func (e logEntry) checkForm() error {
	promise := e.GetInclusionPromise().GetSignedEntryTimestamp()
	// gitsign labels entries of both logs with the version of Rekor v1.
	kind, version := e.GetKindVersion().GetKind(), e.GetKindVersion().GetVersion()
	switch {
	case kind != entryKind || version != versionV1 && (e.isV1 || version != versionV2):
		return refuse(ReasonMalformedSignature, "log entry has the label %.40q %.40q, want %s %s", kind, version, entryKind, versionV1)
	case e.isV1 && len(promise) == 0:
		return refuse(ReasonBadLogEntry, "entry of a Rekor v1 log has no signed entry timestamp")
	case !e.isV1 && (len(promise) != 0 || e.GetIntegratedTime() != 0):
		return refuse(ReasonMalformedSignature, "entry of a Rekor v2 log has a time, which such a log does not sign")
	case !e.isV1 && e.GetLogIndex() != e.GetInclusionProof().GetLogIndex():
		return refuse(ReasonMalformedSignature, "entry of a Rekor v2 log has another index than its inclusion proof")
	}
	return nil
}

// hasUnknownFields reports whether m, or a message inside it, has fields that its type does not define. No signature
// covers such fields, so the same log entry could be written in many ways.
func hasUnknownFields(m protoreflect.Message) bool {
	found := len(m.GetUnknown()) > 0
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if field.Message() != nil && !field.IsList() && !field.IsMap() {
			found = found || hasUnknownFields(value.Message())
		}
		return !found
	})
	return found
}
