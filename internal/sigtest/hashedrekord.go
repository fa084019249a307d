package sigtest

import (
	"encoding/hex"
	"encoding/json"
)

// record is the content of a hashedrekord entry.
type record struct {
	artifact    hash // SHA-256 of what was signed
	signature   []byte
	certificate []byte // DER
}

// body returns the canonical JSON that the log hashes: fields in alphabetical order, without spaces.
func (l *rekorLog) body(r record) ([]byte, error) {
	if l.part == RekorV2 {
		return bodyV2(r)
	}
	return bodyV1(r)
}

func bodyV1(r record) ([]byte, error) {
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
	s := spec{Signature: signature{r.signature, content{encodePEM("CERTIFICATE", r.certificate)}}}
	s.Data.Hash = digest{"sha256", hex.EncodeToString(r.artifact[:])}
	return json.Marshal(envelope[spec]{"0.0.1", "hashedrekord", s})
}

func bodyV2(r record) ([]byte, error) {
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
		digest{"SHA2_256", r.artifact[:]},
		signature{r.signature, verifier{"PKIX_ECDSA_P256_SHA_256", certificate{r.certificate}}},
	}}})
}

// envelope is the outer part of an entry.
type envelope[T any] struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       T      `json:"spec"`
}
