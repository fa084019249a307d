package main

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"os"

	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
)

// key is a key that lives longer than one signature.
type key struct {
	private *ecdsa.PrivateKey
	hint    string // the SHA-256 of the public key
}

func readKey(file string) (*key, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	parsed, err := cryptoutils.UnmarshalPEMToPrivateKey(text, cryptoutils.SkipPassword)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	private, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || private.Curve != elliptic.P256() {
		return nil, fmt.Errorf("read %s: got %T, want an ECDSA key on the curve P-256", file, parsed)
	}
	public, err := x509.MarshalPKIXPublicKey(private.Public())
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(public)
	return &key{private, base64.StdEncoding.EncodeToString(sum[:])}, nil
}

func (k *key) GetHashAlgorithm() protocommon.HashAlgorithm { return protocommon.HashAlgorithm_SHA2_256 }

func (k *key) GetSigningAlgorithm() protocommon.PublicKeyDetails {
	return protocommon.PublicKeyDetails_PKIX_ECDSA_P256_SHA_256
}

func (k *key) GetHint() []byte { return []byte(k.hint) }

func (k *key) GetKeyAlgorithm() string { return "ECDSA" }

func (k *key) GetPublicKey() crypto.PublicKey { return k.private.Public() }

func (k *key) GetPublicKeyPem() (string, error) {
	text, err := cryptoutils.MarshalPublicKeyToPEM(k.private.Public())
	return string(text), err
}

func (k *key) SignData(_ context.Context, data []byte) (signature, digest []byte, err error) {
	sum := sha256.Sum256(data)
	signature, err = ecdsa.SignASN1(rand.Reader, k.private, sum[:])
	return signature, sum[:], err
}
