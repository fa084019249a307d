package evidence

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"gitops-agent/gitsource"
	"gitops-agent/verify"
)

// entry is an entry as Rekor v1 returns it. Source: openapi.yaml of Rekor.
type entry struct {
	Body           []byte `json:"body"`
	IntegratedTime int64  `json:"integratedTime"`
	LogID          string `json:"logID"`
	LogIndex       int64  `json:"logIndex"`
	Verification   struct {
		InclusionProof struct {
			Checkpoint string   `json:"checkpoint"`
			Hashes     []string `json:"hashes"`
			LogIndex   int64    `json:"logIndex"`
			RootHash   string   `json:"rootHash"`
			TreeSize   int64    `json:"treeSize"`
		} `json:"inclusionProof"`
		SignedEntryTimestamp []byte `json:"signedEntryTimestamp"`
	} `json:"verification"`
}

// record is the body of a hashedrekord entry of version 0.0.1.
type record struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       struct {
		Data struct {
			Hash struct {
				Algorithm string `json:"algorithm"`
				Value     string `json:"value"`
			} `json:"hash"`
		} `json:"data"`
		Signature struct {
			Content   []byte `json:"content"`
			PublicKey struct {
				Content []byte `json:"content"`
			} `json:"publicKey"`
		} `json:"signature"`
	} `json:"spec"`
}

// errOther means that an entry is about something else: other text, or another certificate.
var errOther = errors.New("the entry is about another object or certificate")

// signatureOf returns the signature that an entry has of an object's id, made with the key of the certificate. The error is errOther if the entry is
// about another object or certificate.
func (e entry) signatureOf(id gitsource.ID, certificate []byte) ([]byte, error) {
	var r record
	if err := bundleLimits.Unmarshal(e.Body, &r); err != nil {
		return nil, fmt.Errorf("read the body of the entry: %w", err)
	}
	digest := sha256.Sum256([]byte(id))
	block, _ := pem.Decode(r.Spec.Signature.PublicKey.Content)
	switch {
	case r.Kind != "hashedrekord" || r.APIVersion != "0.0.1":
		return nil, errOther
	case r.Spec.Data.Hash.Algorithm != "sha256" || r.Spec.Data.Hash.Value != hex.EncodeToString(digest[:]):
		return nil, errOther
	case block == nil || !bytes.Equal(block.Bytes, certificate):
		return nil, errOther
	}
	parsed, err := x509.ParseCertificate(certificate)
	if err != nil {
		return nil, fmt.Errorf("read the certificate: %w", err)
	}
	key, isECDSA := parsed.PublicKey.(*ecdsa.PublicKey)
	if !isECDSA || !ecdsa.VerifyASN1(key, digest[:], r.Spec.Signature.Content) {
		return nil, errOther
	}
	return r.Spec.Signature.Content, nil
}

// bundle returns the entry as a Sigstore bundle of version 0.3, on one line.
func (e entry) bundle(id gitsource.ID, certificate, signature []byte) ([]byte, error) {
	proof, err := e.proof()
	logID, idErr := hex.DecodeString(e.LogID)
	if err := errors.Join(err, idErr); err != nil {
		return nil, fmt.Errorf("read the proof of the entry: %w", err)
	}
	digest := sha256.Sum256([]byte(id))
	text, err := protojson.Marshal(&protobundle.Bundle{
		MediaType: verify.BundleType,
		VerificationMaterial: &protobundle.VerificationMaterial{
			Content: &protobundle.VerificationMaterial_Certificate{Certificate: &protocommon.X509Certificate{RawBytes: certificate}},
			TlogEntries: []*protorekor.TransparencyLogEntry{{
				LogIndex: e.LogIndex, LogId: &protocommon.LogId{KeyId: logID}, IntegratedTime: e.IntegratedTime,
				KindVersion:      &protorekor.KindVersion{Kind: "hashedrekord", Version: "0.0.1"},
				InclusionPromise: &protorekor.InclusionPromise{SignedEntryTimestamp: e.Verification.SignedEntryTimestamp},
				InclusionProof:   proof, CanonicalizedBody: e.Body,
			}},
		},
		Content: &protobundle.Bundle_MessageSignature{MessageSignature: &protocommon.MessageSignature{
			MessageDigest: &protocommon.HashOutput{Algorithm: protocommon.HashAlgorithm_SHA2_256, Digest: digest[:]}, Signature: signature,
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("encode bundle: %w", err)
	}
	return json.Marshal(json.RawMessage(text)) // protojson varies its spaces
}

func (e entry) proof() (*protorekor.InclusionProof, error) {
	p := e.Verification.InclusionProof
	root, err := hex.DecodeString(p.RootHash)
	problems := []error{err}
	var hashes [][]byte
	for _, text := range p.Hashes {
		h, err := hex.DecodeString(text)
		problems = append(problems, err)
		hashes = append(hashes, h)
	}
	return &protorekor.InclusionProof{
		LogIndex: p.LogIndex, RootHash: root, TreeSize: p.TreeSize, Hashes: hashes, Checkpoint: &protorekor.Checkpoint{Envelope: p.Checkpoint},
	}, errors.Join(problems...)
}

// pemOf returns a certificate as PEM in Base64, which is how the search index takes a key.
func pemOf(certificate []byte) string {
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}))
}
