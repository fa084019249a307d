package sigtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"math/big"
)

// KeyType names a kind of key.
type KeyType string

// The kinds of keys. The public good instance has P384 authorities, which verify several times slower than P256, and an Ed25519 Rekor v2 log.
const (
	P256    KeyType = "P-256"
	P384    KeyType = "P-384"
	Ed25519 KeyType = "Ed25519"
)

// p256 is the curve of every key whose kind cannot be chosen.
var p256 = elliptic.P256()

// keySource derives the keys and names of one generation of one part from the seed. A saved Sigstore therefore consists of its seed, its
// windows and its logs.
type keySource struct {
	options    Options
	part       Part
	generation int
}

// derive returns n bytes that depend on the seed, the part, the generation and the label.
func (k keySource) derive(label string, n int) ([]byte, error) {
	info := fmt.Sprintf("sigtest/%s/%d/%s", k.part, k.generation, label)
	out, err := hkdf.Key(sha256.New, []byte(k.options.Seed), nil, info, n)
	if err != nil {
		return nil, fmt.Errorf("derive %s: %w", label, err)
	}
	return out, nil
}

// ecdsa derives a key on a curve. It skips a derived number that is not a scalar of the curve, which happens about once in 2^32 times.
func (k keySource) ecdsa(curve elliptic.Curve, label string) (*ecdsa.PrivateKey, error) {
	for try := range 4 {
		raw, err := k.derive(fmt.Sprintf("%s/%s/%d", label, curve.Params().Name, try), curve.Params().BitSize/8)
		if err != nil {
			return nil, err
		}
		if key, err := ecdsa.ParseRawPrivateKey(curve, raw); err == nil {
			return key, nil
		}
	}
	return nil, fmt.Errorf("derive %s: no scalar of %s found", label, curve.Params().Name)
}

// ed25519 derives an Ed25519 key.
func (k keySource) ed25519(label string) (ed25519.PrivateKey, error) {
	raw, err := k.derive(label, ed25519.SeedSize)
	if err != nil {
		return nil, err
	}
	return ed25519.NewKeyFromSeed(raw), nil
}

// serial derives a positive certificate serial number of 20 bytes, the length that Fulcio uses.
func (k keySource) serial(label string) (*big.Int, error) {
	raw, err := k.derive("serial/"+label, 20)
	if err != nil {
		return nil, err
	}
	raw[0] = raw[0]&0x3f | 0x40 // positive, and always 20 bytes
	return new(big.Int).SetBytes(raw), nil
}

// signECDSA signs the SHA-256 digest of a message, without randomness (RFC 6979).
func signECDSA(key *ecdsa.PrivateKey, message []byte) ([]byte, error) {
	digest := sha256.Sum256(message)
	return key.Sign(nil, digest[:], crypto.SHA256)
}

// spki returns the DER SubjectPublicKeyInfo of a key.
func spki(key crypto.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode public key: %w", err)
	}
	return der, nil
}
