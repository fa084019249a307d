package sigtest

import (
	"encoding/hex"
	"fmt"
	"time"
)

// SignOptions describes one signature. The zero value makes a good one: signed now, logged in Rekor v1, without a timestamp token.
type SignOptions struct {
	// At is when the certificate begins and, unless the fields below say otherwise, when everything else happens, in whole seconds.
	// Default: now.
	At time.Time
	// Lifetime is how long the certificate is valid. Default: 10 minutes, as Fulcio's.
	Lifetime time.Duration
	// LoggedAt is when Rekor v1 takes in the entry. Default: At.
	LoggedAt time.Time
	// StampedAt is when the timestamp authority signs. Default: At.
	StampedAt time.Time
	// ClaimedAt is the signing time that the signer claims by its own clock. Default: At.
	ClaimedAt time.Time

	// CA issues the certificate; it cannot be Nobody. Default: this Sigstore.
	CA Party
	// CTLog signs the timestamp that the certificate embeds. Default: this Sigstore.
	CTLog Party
	// Log takes in the entry. Default: this Sigstore. Nobody gives what gitsign's online mode leaves in a commit.
	Log Party
	// LogPart is RekorV1 or RekorV2. Default: RekorV1.
	LogPart Part
	// TSA signs a timestamp token. Default: Nobody.
	TSA Party

	// Certificate changes the certificate before it is logged and issued.
	Certificate func(*Certificate)
	// Attributes replaces the signed attributes before the signer signs them.
	Attributes func([]Attribute) []Attribute
	// Mutate changes the finished message, in order.
	Mutate []Mutation
}

// Party says who plays a part in a signature. The zero Party leaves the choice to the default.
type Party struct {
	sigstore *Sigstore
	absent   bool
}

// By lets a Sigstore, perhaps another one, play a part.
func By(s *Sigstore) Party { return Party{sigstore: s} }

// Nobody leaves a part out.
func Nobody() Party { return Party{absent: true} }

// or returns who plays the part, nil for nobody.
func (p Party) or(other *Sigstore) *Sigstore {
	switch {
	case p.absent:
		return nil
	case p.sigstore != nil:
		return p.sigstore
	}
	return other
}

// withDefaults fills in the times and the part that logs.
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
// gitsign makes in its offline mode. It fails if the identity or the options cannot be encoded.
func (s *Sigstore) Sign(payload []byte, id Identity, opts SignOptions) ([]byte, error) {
	m, err := s.Message(payload, id, opts)
	if err != nil {
		return nil, err
	}
	return m.Armor()
}

// Message is Sign before encoding, for those who want the pieces.
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
	if tsa := opts.TSA.or(nil); tsa != nil {
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

// certify has a certificate issued for a message and returns what it was made of.
func (s *Sigstore) certify(m *Message, id Identity, opts SignOptions) (*Certificate, error) {
	issuer := opts.CA.or(s)
	if issuer == nil {
		return nil, fmt.Errorf("choose authority: got Nobody, want a Sigstore")
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
	if witness := opts.CTLog.or(s); witness != nil {
		log = current(witness, &witness.ctLogs)
	}
	der, err := ca.issue(draft, log)
	m.Certificates = [][]byte{der}
	return draft, err
}

// sign makes the signed attributes of a message and signs them.
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
	if m.Signature, err = signECDSA(draft.Key, m.SignedAttrs); err != nil {
		return fmt.Errorf("sign attributes: %w", err)
	}
	return nil
}

// log enters a signed message in a transparency log.
func (s *Sigstore) log(m *Message, opts SignOptions) error {
	witness := opts.Log.or(s)
	if witness == nil {
		return nil
	}
	var log *rekorLog
	switch opts.LogPart {
	case RekorV1:
		log = current(witness, &witness.rekorV1)
	case RekorV2:
		log = current(witness, &witness.rekorV2)
	case CA, CTLog, TSA:
		fallthrough
	default:
		return fmt.Errorf("choose log: got %q, want %s or %s", opts.LogPart, RekorV1, RekorV2)
	}
	var err error
	m.Entry, m.Body, err = log.enter(record{digestOf(m.SignedAttrs), m.Signature, m.Certificates[0]}, opts.LoggedAt)
	return err
}
