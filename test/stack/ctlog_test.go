//go:build integration

package stack

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"
)

// A ctLog is a certificate transparency log that promises to include every certificate and stores none. Its signed timestamps
// are real. A certificate contains only these timestamps of its log.
type ctLog struct {
	keyPair
	url string
}

func newCTLog(t *testing.T) *ctLog {
	t.Helper()
	l := &ctLog{keyPair: newKeyPair(t, p256)}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		promise, err := l.add(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(promise); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(srv.Close)
	l.url = srv.URL
	return l
}

// A promise is the reply of a log to a submission (RFC 6962, section 4.1).
type promise struct {
	Version    int    `json:"sct_version"`
	ID         []byte `json:"id"`
	Timestamp  int64  `json:"timestamp"` // milliseconds
	Extensions string `json:"extensions"`
	Signature  []byte `json:"signature"`
}

// add returns the promise for a precertificate. The request has a chain: the precertificate first, then its issuer.
func (l *ctLog) add(r *http.Request) (promise, error) {
	if r.URL.Path != "/ct/v1/add-pre-chain" {
		return promise{}, fmt.Errorf("no such method: %s", r.URL.Path)
	}
	var submission struct{ Chain [][]byte }
	if err := json.NewDecoder(r.Body).Decode(&submission); err != nil || len(submission.Chain) < 2 {
		return promise{}, fmt.Errorf("read chain of %d: %w", len(submission.Chain), err)
	}
	issuer, err := x509.ParseCertificate(submission.Chain[1])
	if err != nil {
		return promise{}, fmt.Errorf("parse issuer: %w", err)
	}
	body, err := withoutPoison(submission.Chain[0])
	if err != nil {
		return promise{}, err
	}
	out := promise{ID: l.keyID(), Timestamp: time.Now().UnixMilli()}
	out.Signature, err = l.sign(out.Timestamp, issuer, body)
	return out, err
}

// Values of RFC 6962, sections 3.2 and 3.3, and of the TLS registries that it refers to.
const (
	sctVersion1          = 0
	certificateTimestamp = 0
	precertificateEntry  = 1
	tlsSHA256, tlsECDSA  = 4, 3
)

// sign returns the signature of a timestamp as a TLS structure.
func (l *ctLog) sign(timestamp int64, issuer *x509.Certificate, body []byte) ([]byte, error) {
	issuerKey := sha256.Sum256(issuer.RawSubjectPublicKeyInfo)
	signed := []byte{sctVersion1, certificateTimestamp}
	signed = binary.BigEndian.AppendUint64(signed, uint64(timestamp))
	signed = append(signed, 0, precertificateEntry)
	signed = append(signed, issuerKey[:]...)
	signed = append(signed, byte(len(body)>>16), byte(len(body)>>8), byte(len(body)))
	signed = append(signed, body...)
	signed = append(signed, 0, 0) // no extensions
	digest := sha256.Sum256(signed)
	signature, err := ecdsa.SignASN1(rand.Reader, l.key.(*ecdsa.PrivateKey), digest[:])
	if err != nil {
		return nil, fmt.Errorf("sign timestamp: %w", err)
	}
	return append([]byte{tlsSHA256, tlsECDSA, byte(len(signature) >> 8), byte(len(signature))}, signature...), nil
}

// withoutPoison returns the signed part of a precertificate without the poison extension, which prevents its use as a
// certificate. The result equals the signed part of the final certificate without its timestamps.
func withoutPoison(precertificate []byte) ([]byte, error) {
	parsed, err := x509.ParseCertificate(precertificate)
	if err != nil {
		return nil, fmt.Errorf("parse precertificate: %w", err)
	}
	var body struct {
		Version                              asn1.RawValue
		Serial                               asn1.RawValue
		Algorithm, Issuer, Validity, Subject asn1.RawValue
		PublicKey                            asn1.RawValue
		Extensions                           []pkix.Extension `asn1:"explicit,tag:3"`
	}
	if _, err := asn1.Unmarshal(parsed.RawTBSCertificate, &body); err != nil {
		return nil, fmt.Errorf("parse the signed part of the precertificate: %w", err)
	}
	poison := asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 3}
	at := slices.IndexFunc(body.Extensions, func(e pkix.Extension) bool { return e.Id.Equal(poison) })
	if at < 0 {
		return nil, errors.New("not a precertificate: the poison extension is missing")
	}
	body.Extensions = slices.Delete(body.Extensions, at, at+1)
	return asn1.Marshal(body)
}
