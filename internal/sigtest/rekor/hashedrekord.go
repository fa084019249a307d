package rekor

import (
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
)

// A Record is the content of a hashedrekord entry.
type Record struct {
	Artifact    [32]byte // SHA-256 of what was signed
	Signature   []byte   // ASN.1 ECDSA
	Certificate []byte   // DER
}

// body returns the canonical JSON that the log hashes: fields in alphabetical order, without spaces.
func (l *Log) body(r Record) ([]byte, error) {
	if l.timed {
		return bodyV1(r)
	}
	return bodyV2(r)
}

func bodyV1(r Record) ([]byte, error) {
	type content struct {
		Content []byte `json:"content"`
	}
	type digest struct {
		Algorithm string `json:"algorithm"`
		Value     string `json:"value"`
	}
	type signature struct {
		Content   []byte  `json:"content"`
		PublicKey content `json:"publicKey"`
	}
	type spec struct {
		Data struct {
			Hash digest `json:"hash"`
		} `json:"data"`
		Signature signature `json:"signature"`
	}
	s := spec{Signature: signature{r.Signature, content{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.Certificate})}}}
	s.Data.Hash = digest{"sha256", hex.EncodeToString(r.Artifact[:])}
	return json.Marshal(envelope[spec]{"0.0.1", "hashedrekord", s})
}

func bodyV2(r Record) ([]byte, error) {
	type digest struct {
		Algorithm string `json:"algorithm"`
		Digest    []byte `json:"digest"`
	}
	type certificate struct {
		RawBytes []byte `json:"rawBytes"`
	}
	type verifier struct {
		KeyDetails  string      `json:"keyDetails"`
		Certificate certificate `json:"x509Certificate"`
	}
	type signature struct {
		Content  []byte   `json:"content"`
		Verifier verifier `json:"verifier"`
	}
	type hashedRekord struct {
		Data      digest    `json:"data"`
		Signature signature `json:"signature"`
	}
	type spec struct {
		HashedRekord hashedRekord `json:"hashedRekordV002"`
	}
	return json.Marshal(envelope[spec]{"0.0.2", "hashedrekord", spec{hashedRekord{
		digest{"SHA2_256", r.Artifact[:]},
		signature{r.Signature, verifier{"PKIX_ECDSA_P256_SHA_256", certificate{r.Certificate}}},
	}}})
}

// envelope is the outer part of an entry.
type envelope[T any] struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       T      `json:"spec"`
}
