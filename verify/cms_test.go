package verify

import (
	"bytes"
	"encoding/asn1"
	"testing"
	"time"

	"gitops-agent/internal/sigtest"
)

// testSigner is the identity that signs in the tests of the parsers.
var testSigner = sigtest.Identity{Subject: "alice@lab.test", Issuer: "https://issuer.test"}

func testMessage(tb testing.TB, opts sigtest.SignOptions) []byte {
	tb.Helper()
	s, err := sigtest.New(sigtest.Options{Seed: "parsers"})
	if err != nil {
		tb.Fatal(err)
	}
	opts.At = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	message, err := s.Message([]byte("payload"), testSigner, opts)
	if err != nil {
		tb.Fatal(err)
	}
	der, err := message.DER()
	if err != nil {
		tb.Fatal(err)
	}
	return der
}

func TestParseSignature(t *testing.T) {
	s, err := parseSignature(testMessage(t, sigtest.SignOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	if s.leaf == nil || len(s.value) == 0 || len(s.logEntry) == 0 || s.token != nil || s.signed[0] != 0x31 {
		t.Errorf("got %+v, want certificate, signature, log entry and the attributes as a set", s)
	}
	if !s.matchesCertificateKey() {
		t.Error("the signature does not match its certificate")
	}
}

// TestParseSignatureIsStrict changes one part of the encoding of a valid signature.
func TestParseSignatureIsStrict(t *testing.T) {
	sha256 := []byte{0x30, 0x0b, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01}
	ecdsa := []byte{0x30, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02}
	tests := map[string]func(der []byte) []byte{
		"trailing_data":    func(der []byte) []byte { return append(der, 5, 0) },
		"truncated":        func(der []byte) []byte { return der[:len(der)-1] },
		"long_length":      func(der []byte) []byte { return append([]byte{0x30, 0x83, 0}, der[2:]...) },
		"digest_algorithm": func(der []byte) []byte { return replaceLast(der, sha256, 0x03) },
		"set_of_digests":   func(der []byte) []byte { return replaceFirst(der, sha256, 0x03) },
		"signature_alg":    func(der []byte) []byte { return replaceLast(der, ecdsa, 0x03) },
		"content_type":     func(der []byte) []byte { return bytes.Replace(der, []byte{1, 7, 2}, []byte{1, 7, 3}, 1) },
		"detached_type":    func(der []byte) []byte { return bytes.Replace(der, []byte{1, 7, 1}, []byte{1, 7, 3}, 1) },
		"version":          func(der []byte) []byte { return bytes.Replace(der, []byte{2, 1, 1}, []byte{2, 1, 3}, 1) },
		"signer_version":   changeSigner(func(i *signerInfo) { i.Version = 3 }),
		"signer_serial":    changeSigner(func(i *signerInfo) { i.Certificate.Serial.Add(i.Certificate.Serial, i.Certificate.Serial) }),
		"signer_issuer": changeSigner(func(i *signerInfo) {
			i.Certificate.Issuer = asn1.RawValue{FullBytes: []byte{0x30, 0}}
		}),
		"certificates_tag":    changeData(func(d *signedData) { d.Certificates.FullBytes[0] = 0xa5 }),
		"signed_tag":          changeSigner(func(i *signerInfo) { i.SignedAttributes.FullBytes[0] = 0xa5 }),
		"signed_order":        changeSigner(swapSigned),
		"values_tag":          changeSigner(func(i *signerInfo) { i.UnsignedAttributes[0].Values.FullBytes[0] = 0x30 }),
		"digest_short":        changeSigner(shortDigest),
		"two_signers":         changeData(func(d *signedData) { d.Signers = append(d.Signers, d.Signers[0]) }),
		"no_signer":           changeData(func(d *signedData) { d.Signers = nil }),
		"certificate_garbled": changeData(func(d *signedData) { d.Certificates.Bytes, d.Certificates.FullBytes = []byte{5, 0}, nil }),
		"no_certificate":      changeData(func(d *signedData) { d.Certificates.Bytes, d.Certificates.FullBytes = nil, nil }),
		"two_digests":         changeData(func(d *signedData) { d.Algorithms = append(d.Algorithms, d.Algorithms[0]) }),
		"early_entry_form":    changeSigner(func(i *signerInfo) { i.UnsignedAttributes[0].Type[8] = 2 }),
		"entry_twice": changeSigner(func(i *signerInfo) {
			i.UnsignedAttributes = append(i.UnsignedAttributes, i.UnsignedAttributes[0])
		}),
		"two_values": changeSigner(func(i *signerInfo) {
			v := &i.UnsignedAttributes[0].Values
			v.Bytes, v.FullBytes = append(bytes.Clone(v.Bytes), v.Bytes...), nil
		}),
		"entry_not_octets": changeSigner(func(i *signerInfo) {
			v := &i.UnsignedAttributes[0].Values
			v.Bytes, v.FullBytes = []byte{5, 0}, nil
		}),
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			der := testMessage(t, sigtest.SignOptions{})
			changed := change(bytes.Clone(der))
			if bytes.Equal(changed, der) {
				t.Fatal("the row does not change the signature")
			}
			if s, err := parseSignature(changed); reasonOf(err) != ReasonMalformedSignature {
				t.Errorf("got %+v, %v, want %s", s.content, err, ReasonMalformedSignature)
			}
		})
	}
}

func TestUnarmorRefuses(t *testing.T) {
	tests := map[string]struct {
		armored string
		want    Reason
	}{
		"unsigned":  {"", ReasonUnsigned},
		"other":     {"-----BEGIN PGP SIGNATURE-----\n", ReasonNotSigstore},
		"too_large": {string(armor(make([]byte, maxSignature))), ReasonMalformedSignature},
		"cut_short": {"-----BEGIN SIGNED MESSAGE-----\nAAAA\n", ReasonMalformedSignature},
		"wide":      {"-----BEGIN SIGNED MESSAGE-----\nAA\nAA\n-----END SIGNED MESSAGE-----\n", ReasonMalformedSignature},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if der, err := unarmor([]byte(tt.armored)); reasonOf(err) != tt.want {
				t.Errorf("got %d bytes, %v, want %s", len(der), err, tt.want)
			}
		})
	}
}

// TestNewEntityRefusesWithoutProof: a signed entry timestamp alone is not enough, as in a bundle of version 0.3.
func TestNewEntityRefusesWithoutProof(t *testing.T) {
	s, err := parseSignature(testMessage(t, sigtest.SignOptions{Mutate: []sigtest.Mutation{sigtest.RemoveProof}}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newEntity(s); reasonOf(err) != ReasonBadLogEntry {
		t.Errorf("got %v, want %s", err, ReasonBadLogEntry)
	}
}

// TestNewEntityRefusesOtherBytes: bytes that are not a protobuf log entry are refused.
func TestNewEntityRefusesOtherBytes(t *testing.T) {
	s, err := parseSignature(testMessage(t, sigtest.SignOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	s.logEntry = []byte{0xff}
	if _, err := newEntity(s); reasonOf(err) != ReasonMalformedSignature {
		t.Errorf("got %v, want %s", err, ReasonMalformedSignature)
	}
}

func replaceFirst(der, old []byte, last byte) []byte {
	at := bytes.Index(der, old) + len(old) - 1
	der[at] = last
	return der
}

func replaceLast(der, old []byte, last byte) []byte {
	at := bytes.LastIndex(der, old) + len(old) - 1
	der[at] = last
	return der
}

// changeData returns a function that decodes a signature, applies change and encodes the signature again.
func changeData(change func(*signedData)) func([]byte) []byte {
	return func(der []byte) []byte {
		var info contentInfo
		if _, err := asn1.Unmarshal(der, &info); err != nil {
			panic(err) // der was made by the test
		}
		change(&info.Content)
		again, err := asn1.Marshal(info)
		if err != nil {
			panic(err)
		}
		return again
	}
}

func changeSigner(change func(*signerInfo)) func([]byte) []byte {
	return changeData(func(d *signedData) { change(&d.Signers[0]) })
}

// swapSigned moves the first signed attribute after the others, which is not DER.
func swapSigned(i *signerInfo) {
	first := i.SignedAttributes.Bytes[1] + 2
	rotated := append(bytes.Clone(i.SignedAttributes.Bytes[first:]), i.SignedAttributes.Bytes[:first]...)
	copy(i.SignedAttributes.FullBytes[len(i.SignedAttributes.FullBytes)-len(rotated):], rotated)
}

// shortDigest shortens the message digest to 31 bytes and adjusts the lengths around it.
func shortDigest(i *signerInfo) {
	attributes := i.SignedAttributes.Bytes
	last := bytes.LastIndex(attributes, []byte{0x04, 32})
	shorter := append(bytes.Clone(attributes[:last]), 0x04, 31)
	shorter = append(shorter, attributes[last+2:last+33]...)
	shorter[last-1]-- // set of values
	start := bytes.LastIndex(shorter[:last], []byte{0x30, 0x2f})
	shorter[start+1]-- // attribute
	i.SignedAttributes.Bytes, i.SignedAttributes.FullBytes = shorter, nil
}

// FuzzParseSignature: what is accepted marshals to the same bytes and wraps into one armor.
func FuzzParseSignature(f *testing.F) {
	s := mustSigstore(f)
	f.Add(testMessage(f, sigtest.SignOptions{}))
	f.Add(testMessage(f, sigtest.SignOptions{TSA: sigtest.By(s), LogPart: sigtest.RekorV2}))
	f.Add(testMessage(f, sigtest.SignOptions{Log: sigtest.Absent()}))
	f.Fuzz(func(t *testing.T, der []byte) {
		var err error
		requireBounded(t, 64*len(der), func() { _, err = parseSignature(der) })
		if err != nil {
			return
		}
		var info contentInfo
		if rest, err := asn1.Unmarshal(der, &info); err != nil || len(rest) != 0 {
			t.Fatalf("accepted, and then: %v", err)
		}
		if again, err := asn1.Marshal(info); err != nil || !bytes.Equal(again, der) {
			t.Errorf("got %x, %v, want %x", again, err, der)
		}
		if back, err := unarmor(armor(der)); err != nil || !bytes.Equal(back, der) {
			t.Errorf("armor: got %x, %v, want %x", back, err, der)
		}
	})
}

// FuzzLogEntry: for every content of the log entry of a valid signature, verification ends with a result, and only the
// signature's own entry proves the signature.
func FuzzLogEntry(f *testing.F) {
	s := mustSigstore(f)
	json, err := s.TrustedRoot()
	if err != nil {
		f.Fatal(err)
	}
	tr, err := parseTrustedRoot(json)
	if err != nil {
		f.Fatal(err)
	}
	p, err := newProver(tr, TimestampOptional)
	if err != nil {
		f.Fatal(err)
	}
	good, err := parseSignature(testMessage(f, sigtest.SignOptions{TSA: sigtest.By(s)}))
	if err != nil {
		f.Fatal(err)
	}
	v2, err := parseSignature(testMessage(f, sigtest.SignOptions{LogPart: sigtest.RekorV2}))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good.logEntry)
	f.Add(v2.logEntry)
	f.Fuzz(func(t *testing.T, logEntry []byte) {
		changed := good
		changed.logEntry = logEntry
		e, err := newEntity(changed)
		if err != nil {
			return
		}
		proven, err := p.verify(changed, e)
		if err == nil && !proven.provenTime.Equal(time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)) {
			t.Errorf("got proven time %v from a foreign entry", proven.provenTime)
		}
	})
}

func mustSigstore(tb testing.TB) *sigtest.Sigstore {
	tb.Helper()
	s, err := sigtest.New(sigtest.Options{Seed: "parsers"})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}
