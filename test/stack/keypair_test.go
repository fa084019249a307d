//go:build integration

package stack

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/pem"
	"testing"

	"github.com/sigstore/sigstore/pkg/cryptoutils"
)

// A keyPair is the signing key of a service.
type keyPair struct {
	t   *testing.T
	key crypto.Signer
}

type keyKind int

const (
	p256 keyKind = iota
	p384
	edwards
)

func newKeyPair(t *testing.T, kind keyKind) keyPair {
	t.Helper()
	var key crypto.Signer
	var err error
	switch kind {
	case p256:
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case p384:
		key, err = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case edwards:
		_, key, err = ed25519.GenerateKey(rand.Reader)
	}
	if err != nil {
		t.Fatal(err)
	}
	return keyPair{t, key}
}

// private returns the key in PEM.
func (k keyPair) private() []byte {
	k.t.Helper()
	out, err := cryptoutils.MarshalPrivateKeyToPEM(k.key)
	if err != nil {
		k.t.Fatal(err)
	}
	return out
}

// public returns the public key in PEM.
func (k keyPair) public() []byte { return publicPEM(k.t, k.key.Public()) }

func publicPEM(t *testing.T, key crypto.PublicKey) []byte {
	t.Helper()
	out, err := cryptoutils.MarshalPublicKeyToPEM(key)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// keyID returns the id of the key in Rekor v1 and in certificate logs.
func (k keyPair) keyID() []byte {
	block, _ := pem.Decode(k.public())
	sum := sha256.Sum256(block.Bytes)
	return sum[:]
}
