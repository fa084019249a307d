package sigtest

import (
	"encoding/hex"
	"fmt"
	"time"

	"gitops-agent/internal/sigtest/rekor"
)

// SignOptions describes how one signature is made. The zero value gives a valid signature: signed now, logged in Rekor v1, without a timestamp
// token.
type SignOptions struct {
	// At is the start of the certificate's validity and, unless the fields below differ, the time of everything else, in whole seconds.
	// Default: now.
	At time.Time
	// Lifetime is the validity of the certificate. Default: 10 minutes, as in Fulcio.
	Lifetime time.Duration
	// LoggedAt is the time at which Rekor v1 adds the entry. Default: At.
	LoggedAt time.Time
	// StampedAt is the time at which the timestamp authority signs. Default: At.
	StampedAt time.Time
	// ClaimedAt is the signing time by the signer's own clock. Default: At.
	ClaimedAt time.Time

	// CA issues the certificate; it cannot be Absent. Default: this Sigstore.
	CA Party
	// CTLog signs the timestamp that the certificate embeds. Default: this Sigstore.
	CTLog Party
	// Log adds the entry. Default: this Sigstore. Absent gives the signature that gitsign's online mode writes.
	Log Party
	// LogPart is RekorV1 or RekorV2. Default: RekorV1.
	LogPart Part
	// TSA signs a timestamp token. Default: Absent.
	TSA Party

	// Certificate changes the certificate before it is logged and issued.
	Certificate func(*Certificate)
	// Attributes replaces the signed attributes before the signer signs them.
	Attributes func([]Attribute) []Attribute
	// Mutate changes the finished message, in order.
	Mutate []Mutation
}

// Party selects the Sigstore that makes one part of a signature. The zero Party selects the default.
type Party struct {
	sigstore *Sigstore
	absent   bool
}

// By selects a Sigstore, which can be another one than the signing Sigstore.
func By(s *Sigstore) Party { return Party{sigstore: s} }

// Absent leaves out one part of a signature.
func Absent() Party { return Party{absent: true} }

// resolve returns the Sigstore that makes the part, or nil if the part is absent. other is the default.
func (p Party) resolve(other *Sigstore) *Sigstore {
	switch {
	case p.absent:
		return nil
	case p.sigstore != nil:
		return p.sigstore
	}
	return other
}

// withDefaults fills in the times and the kind of log.
func (o SignOptions) withDefaults() SignOptions {
	if o.At.IsZero() {
		o.At = time.Now()
	}
	o.At = o.At.Truncate(time.Second)
	for _, t := range []*time.Time{&o.LoggedAt, &o.StampedAt, &o.ClaimedAt} {
		if t.IsZero() {
			*t = o.At
		}
	}
	if o.Lifetime == 0 {
		o.Lifetime = 10 * time.Minute
	}
	if o.LogPart == "" {
		o.LogPart = RekorV1
	}
	return o
}

// Sign signs a payload, the bytes of a git object without its signature, as an identity. It returns the armored CMS message that
// gitsign writes in its offline mode. It returns an error if the identity or the options cannot be encoded.
func (s *Sigstore) Sign(payload []byte, id Identity, opts SignOptions) ([]byte, error) {
	m, err := s.Message(payload, id, opts)
	if err != nil {
		return nil, err
	}
	return m.Armor()
}

// Message signs like Sign and returns the message before it is encoded.
func (s *Sigstore) Message(payload []byte, id Identity, opts SignOptions) (*Message, error) {
	opts = opts.withDefaults()
	m := &Message{Digest: digestOf(payload)}
	draft, err := s.certify(m, id, opts)
	if err != nil {
		return nil, fmt.Errorf("issue certificate: %w", err)
	}
	if err := m.sign(draft, opts); err != nil {
		return nil, err
	}
	if err := s.log(m, opts); err != nil {
		return nil, fmt.Errorf("log signature: %w", err)
	}
	if tsa := opts.TSA.resolve(nil); tsa != nil {
		token, err := current(tsa, &tsa.tsas).stamp(m.Signature, opts.StampedAt)
		if err != nil {
			return nil, fmt.Errorf("stamp signature: %w", err)
		}
		m.Tokens = [][]byte{token}
	}
	for _, mutate := range opts.Mutate {
		mutate(m)
	}
	return m, nil
}

// certify issues the certificate of a message and returns the draft of the certificate.
func (s *Sigstore) certify(m *Message, id Identity, opts SignOptions) (*Certificate, error) {
	issuer := opts.CA.resolve(s)
	if issuer == nil {
		return nil, fmt.Errorf("choose authority: got Absent, want a Sigstore")
	}
	ca := current(issuer, &issuer.cas)
	draft, err := ca.draft(id, fmt.Sprintf("%s/%s/%d", hex.EncodeToString(m.Digest[:]), id.Subject, opts.At.Unix()), opts.At, opts.Lifetime)
	if err != nil {
		return nil, err
	}
	if opts.Certificate != nil {
		opts.Certificate(draft)
	}
	var log *ctLog
	if logger := opts.CTLog.resolve(s); logger != nil {
		log = current(logger, &logger.ctLogs)
	}
	der, err := ca.issue(draft, log)
	m.Certificates = [][]byte{der}
	return draft, err
}

// sign adds the signed attributes and the signature to a message.
func (m *Message) sign(draft *Certificate, opts SignOptions) error {
	attributes, err := signedAttributes(oidData, opts.ClaimedAt, m.Digest)
	if err != nil {
		return err
	}
	if opts.Attributes != nil {
		attributes = opts.Attributes(attributes)
	}
	if m.SignedAttrs, err = encodeAttributes(attributes); err != nil {
		return err
	}
	m.key = draft.Key
	if m.Signature, err = signECDSA(draft.Key, m.SignedAttrs); err != nil {
		return fmt.Errorf("sign attributes: %w", err)
	}
	return nil
}

// log adds a signed message to a transparency log.
func (s *Sigstore) log(m *Message, opts SignOptions) error {
	logger := opts.Log.resolve(s)
	if logger == nil {
		return nil
	}
	var log *rekorLog
	switch opts.LogPart {
	case RekorV1:
		log = current(logger, &logger.rekorV1)
	case RekorV2:
		log = current(logger, &logger.rekorV2)
	case CA, CTLog, TSA:
		fallthrough
	default:
		return fmt.Errorf("choose log: got %q, want %s or %s", opts.LogPart, RekorV1, RekorV2)
	}
	var err error
	m.Entry, m.Body, err = log.Add(rekor.Record{Artifact: digestOf(m.SignedAttrs), Signature: m.Signature, Certificate: m.Certificates[0]}, opts.LoggedAt)
	return err
}
