package sigtest

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/binary"
	"fmt"
	"time"
)

// ctLog is one generation of a certificate transparency log. It signs timestamps and has no tree, because nothing that is embedded in a
// certificate proves inclusion.
type ctLog struct {
	window window
	key    *ecdsa.PrivateKey
	public []byte   // SubjectPublicKeyInfo
	id     [32]byte // its SHA-256
}

func newCTLog(src keySource, w window) (*ctLog, error) {
	key, err := src.ecdsa(p256, "log")
	if err != nil {
		return nil, err
	}
	public, err := spki(key.Public())
	if err != nil {
		return nil, err
	}
	return &ctLog{window: w, key: key, public: public, id: sha256.Sum256(public)}, nil
}

// Values of RFC 6962, sections 3.2 to 3.4, and of the TLS registries that it refers to.
const (
	sctV1                = 0
	certificateTimestamp = 0
	precertEntry         = 1
	tlsSHA256, tlsECDSA  = 4, 3
)

var oidSCTList = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}

// submit logs a certificate that is not yet issued and returns the extension with the signed timestamp. The log signs the signed part of the
// precertificate without the poison extension. That is the signed part of the certificate before this extension is added.
func (l *ctLog) submit(tbs tbsCertificate, issuerKey []byte, at time.Time) (pkix.Extension, error) {
	raw, err := asn1.Marshal(tbs)
	if err != nil {
		return pkix.Extension{}, fmt.Errorf("encode precertificate: %w", err)
	}
	issuer := sha256.Sum256(issuerKey)
	millis := binary.BigEndian.AppendUint64(nil, uint64(at.UnixMilli())) //nolint:gosec // times before 1970 have no timestamps

	signed := append([]byte{sctV1, certificateTimestamp}, millis...)
	signed = append(signed, 0, precertEntry)
	signed = append(signed, issuer[:]...)
	signed = append(signed, byte(len(raw)>>16), byte(len(raw)>>8), byte(len(raw)))
	signed = append(signed, raw...)
	signed = append(signed, 0, 0) // no log extensions
	signature, err := signECDSA(l.key, signed)
	if err != nil {
		return pkix.Extension{}, fmt.Errorf("sign certificate timestamp: %w", err)
	}

	sct := append([]byte{sctV1}, l.id[:]...)
	sct = append(sct, millis...)
	sct = append(sct, 0, 0, tlsSHA256, tlsECDSA)
	sct = append(sct, vector16(signature)...)
	value, err := asn1.Marshal(vector16(vector16(sct))) // a list of one
	if err != nil {
		return pkix.Extension{}, fmt.Errorf("encode certificate timestamps: %w", err)
	}
	return pkix.Extension{Id: oidSCTList, Value: value}, nil
}

// vector16 returns a TLS vector whose length has two bytes.
func vector16(b []byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...) //nolint:gosec // signatures are short
}
