package sigtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	bundlepb "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	commonpb "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	rekorpb "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"gitops-agent/internal/sigtest/rekor"
)

// Online is what gitsign's online mode logs of an object: a second signature, by the key of the first, over the object's id as text.
type Online struct {
	ID          string // of the object, as hexadecimal text: the bytes that Signature signs
	Certificate []byte // DER
	Signature   []byte
	Entry       *rekorpb.TransparencyLogEntry
	Body        []byte // canonical body of Entry
}

// LogOnline logs an object that was signed with m, as gitsign does in its online mode. Of the options, LoggedAt and Log matter.
func (s *Sigstore) LogOnline(id string, m *Message, opts SignOptions) (*Online, error) {
	opts = opts.withDefaults()
	if m.key == nil {
		return nil, errors.New("log object: the message has no key")
	}
	signature, err := signECDSA(m.key, []byte(id))
	if err != nil {
		return nil, fmt.Errorf("sign object id: %w", err)
	}
	o := &Online{ID: id, Certificate: m.Certificates[0], Signature: signature}
	return o, s.AddOnline(o, opts.LoggedAt)
}

// AddOnline logs o again, or after a change of its signature or certificate, in the Rekor v1 log of this Sigstore.
func (s *Sigstore) AddOnline(o *Online, at time.Time) (err error) {
	log := current(s, &s.rekorV1)
	o.Entry, o.Body, err = log.Add(rekor.Record{Artifact: digestOf([]byte(o.ID)), Signature: o.Signature, Certificate: o.Certificate}, at)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.online = append(s.online, onlineEntry{
		Generation: len(s.rekorV1) - 1, Index: o.Entry.GetInclusionProof().GetLogIndex(), Time: o.Entry.GetIntegratedTime(), Body: o.Body,
	})
	return nil
}

// CommitOnline creates a commit as gitsign does in its online mode, and what it logs.
func (s *Sigstore) CommitOnline(spec CommitSpec, id Identity, opts SignOptions) (raw []byte, logged *Online, err error) {
	opts = opts.withDefaults()
	opts.Log = Absent()
	payload := spec.Payload(opts.At)
	m, err := s.Message(payload, id, opts)
	if err != nil {
		return nil, nil, err
	}
	armored, err := m.Armor()
	if err != nil {
		return nil, nil, err
	}
	if raw, err = AttachToCommit(payload, armored); err != nil {
		return nil, nil, err
	}
	logged, err = s.LogOnline(ObjectID("commit", raw), m, opts)
	return raw, logged, err
}

// Bundle returns o as a Sigstore bundle, on one line.
func (o *Online) Bundle() ([]byte, error) {
	entry := &rekorpb.TransparencyLogEntry{
		LogIndex: o.Entry.GetLogIndex(), LogId: o.Entry.GetLogId(), KindVersion: o.Entry.GetKindVersion(), IntegratedTime: o.Entry.GetIntegratedTime(),
		InclusionPromise: o.Entry.GetInclusionPromise(), InclusionProof: o.Entry.GetInclusionProof(), CanonicalizedBody: o.Body,
	}
	digest := digestOf([]byte(o.ID))
	text, err := protojson.Marshal(&bundlepb.Bundle{
		MediaType: "application/vnd.dev.sigstore.bundle.v0.3+json",
		VerificationMaterial: &bundlepb.VerificationMaterial{
			Content:     &bundlepb.VerificationMaterial_Certificate{Certificate: &commonpb.X509Certificate{RawBytes: o.Certificate}},
			TlogEntries: []*rekorpb.TransparencyLogEntry{entry},
		},
		Content: &bundlepb.Bundle_MessageSignature{MessageSignature: &commonpb.MessageSignature{
			MessageDigest: &commonpb.HashOutput{Algorithm: commonpb.HashAlgorithm_SHA2_256, Digest: digest[:]}, Signature: o.Signature,
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("encode bundle: %w", err)
	}
	var compact json.RawMessage = text // protojson deliberately varies its spaces
	return json.Marshal(compact)
}

// onlineEntry is an entry that a Rekor server can return again.
type onlineEntry struct {
	Generation int    `json:"generation"`
	Index      int64  `json:"index"` // in the tree
	Time       int64  `json:"time"`  // seconds
	Body       []byte `json:"body"`
}
