package sigtest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"time"

	commonpb "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	trustpb "github.com/sigstore/protobuf-specs/gen/pb-go/trustroot/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// TrustedRoot returns the trusted_root.json of this Sigstore: every generation of every part with its current window.
func (s *Sigstore) TrustedRoot() ([]byte, error) {
	s.mu.Lock()
	root := s.trustedRoot()
	s.mu.Unlock()
	raw, err := protojson.Marshal(root)
	if err != nil {
		return nil, fmt.Errorf("encode trusted root: %w", err)
	}
	var out bytes.Buffer // protojson deliberately varies its spaces
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return nil, fmt.Errorf("indent trusted root: %w", err)
	}
	return append(out.Bytes(), '\n'), nil
}

func (s *Sigstore) trustedRoot() *trustpb.TrustedRoot {
	root := &trustpb.TrustedRoot{MediaType: "application/vnd.dev.sigstore.trustedroot+json;version=0.1"}
	for _, log := range append(s.rekorV1[:len(s.rekorV1):len(s.rekorV1)], s.rekorV2...) {
		root.Tlogs = append(root.Tlogs, logInstance(log.Host, log.ID, log.Public, log.details(), log.window))
	}
	for i, log := range s.ctLogs {
		host := fmt.Sprintf("ctlog-%d.%s", i+1, s.options.Name)
		root.Ctlogs = append(root.Ctlogs, logInstance(host, log.id[:], log.public, commonpb.PublicKeyDetails_PKIX_ECDSA_P256_SHA_256, log.window))
	}
	for i, ca := range s.cas {
		host := fmt.Sprintf("fulcio-%d.%s", i+1, s.options.Name)
		root.CertificateAuthorities = append(root.CertificateAuthorities, chain(host, ca.window, ca.intermediate, ca.root))
	}
	for i, tsa := range s.tsas {
		host := fmt.Sprintf("timestamp-%d.%s", i+1, s.options.Name)
		root.TimestampAuthorities = append(root.TimestampAuthorities, chain(host, tsa.window, tsa.leaf, tsa.root))
	}
	return root
}

// details returns the key type of a log.
func (l *rekorLog) details() commonpb.PublicKeyDetails {
	if _, ok := l.Key.(*ecdsa.PrivateKey); ok {
		return commonpb.PublicKeyDetails_PKIX_ECDSA_P256_SHA_256
	}
	return commonpb.PublicKeyDetails_PKIX_ED25519
}

func logInstance(host string, id, public []byte, details commonpb.PublicKeyDetails, w window) *trustpb.TransparencyLogInstance {
	return &trustpb.TransparencyLogInstance{
		BaseUrl:       "https://" + host,
		HashAlgorithm: commonpb.HashAlgorithm_SHA2_256,
		PublicKey:     &commonpb.PublicKey{RawBytes: public, KeyDetails: details, ValidFor: w.proto()},
		LogId:         &commonpb.LogId{KeyId: id},
	}
}

// chain returns the description of an authority with its certificates, the root last.
func chain(host string, w window, certificates ...*x509.Certificate) *trustpb.CertificateAuthority {
	root := certificates[len(certificates)-1]
	out := &trustpb.CertificateAuthority{
		Subject:   &commonpb.DistinguishedName{Organization: root.Subject.Organization[0], CommonName: root.Subject.CommonName},
		Uri:       "https://" + host,
		CertChain: &commonpb.X509CertificateChain{},
		ValidFor:  w.proto(),
	}
	for _, c := range certificates {
		out.CertChain.Certificates = append(out.CertChain.Certificates, &commonpb.X509Certificate{RawBytes: c.Raw})
	}
	return out
}

func (w window) proto() *commonpb.TimeRange {
	out := &commonpb.TimeRange{Start: timestamppb.New(w.From)}
	if !w.Until.IsZero() {
		out.End = timestamppb.New(w.Until.Truncate(time.Nanosecond))
	}
	return out
}
