package verify

import (
	"encoding/asn1"
	"math/big"

	"golang.org/x/crypto/cryptobyte"
	tag "golang.org/x/crypto/cryptobyte/asn1"
)

// oidTimestampInfo is the type of a token's content. Source: RFC 3161, 2.4.2.
var oidTimestampInfo = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 1, 4}

// under0 is the tag of the parts of CMS that are tagged with [0].
var under0 = tag.Tag(0).Constructed().ContextSpecific()

// tokenCertificates returns the certificates in an RFC 3161 TimeStampToken, as DER. It refuses a token that is not in the form of an authority's reply:
// SignedData in DER with one signer, and no unsigned attribute. Nothing covers such parts, so a token with them would be the same token in another form.
// It verifies no cryptography.
func tokenCertificates(token []byte) ([][]byte, error) {
	var data, certificates cryptobyte.String
	outer := cryptobyte.String(token)
	if !readWrapped(&outer, oidSignedData, &data, tag.SEQUENCE) || !outer.Empty() || !readToken(&data, &certificates) {
		return nil, refuse(ReasonMalformedSignature, "timestamp token has parts outside the profile, or is not DER")
	}
	found, ok := readSequences(certificates)
	if !ok {
		return nil, refuse(ReasonMalformedSignature, "certificates of the timestamp token are not DER")
	}
	return found, nil
}

// readSequences returns the elements of s, and whether all of them are sequences.
func readSequences(s cryptobyte.String) (list [][]byte, ok bool) {
	for !s.Empty() {
		var one cryptobyte.String
		if !s.ReadASN1Element(&one, tag.SEQUENCE) {
			return nil, false
		}
		list = append(list, one)
	}
	return list, true
}

// readWrapped reads a sequence of a known type and one element under the tag [0].
func readWrapped(s *cryptobyte.String, known asn1.ObjectIdentifier, content *cryptobyte.String, element tag.Tag) bool {
	var sequence, explicit cryptobyte.String
	var oid asn1.ObjectIdentifier
	return s.ReadASN1(&sequence, tag.SEQUENCE) && sequence.ReadASN1ObjectIdentifier(&oid) && oid.Equal(known) &&
		sequence.ReadASN1(&explicit, under0) && sequence.Empty() && explicit.ReadASN1(content, element) && explicit.Empty()
}

// readToken reads the SignedData of a token.
func readToken(data, certificates *cryptobyte.String) bool {
	var version int
	var algorithms, content, signers, signer cryptobyte.String
	var hasCertificates bool
	return data.ReadASN1Integer(&version) && version == 3 &&
		data.ReadASN1(&algorithms, tag.SET) && readAlgorithm(&algorithms) && algorithms.Empty() &&
		readWrapped(data, oidTimestampInfo, &content, tag.OCTET_STRING) &&
		data.ReadOptionalASN1(certificates, &hasCertificates, under0) &&
		data.ReadASN1(&signers, tag.SET) && data.Empty() &&
		signers.ReadASN1(&signer, tag.SEQUENCE) && signers.Empty() && readTokenSigner(&signer)
}

// readTokenSigner reads the SignerInfo of a token, which ends with the signature.
func readTokenSigner(signer *cryptobyte.String) bool {
	var version int
	var certificate, issuer, signed, value cryptobyte.String
	serial := new(big.Int)
	if !signer.ReadASN1Integer(&version) || version != 1 ||
		!signer.ReadASN1(&certificate, tag.SEQUENCE) || !certificate.ReadASN1(&issuer, tag.SEQUENCE) || !certificate.ReadASN1Integer(serial) || !certificate.Empty() ||
		!readAlgorithm(signer) || !signer.ReadASN1Element(&signed, under0) ||
		!readAlgorithm(signer) || !signer.ReadASN1(&value, tag.OCTET_STRING) || !signer.Empty() {
		return false
	}
	_, err := readAttributes(signed)
	return err == nil
}

// readAlgorithm reads an AlgorithmIdentifier without parameters, or with the parameter NULL, which RSA has.
func readAlgorithm(s *cryptobyte.String) bool {
	var algorithm, null cryptobyte.String
	var oid asn1.ObjectIdentifier
	return s.ReadASN1(&algorithm, tag.SEQUENCE) && algorithm.ReadASN1ObjectIdentifier(&oid) &&
		algorithm.ReadOptionalASN1(&null, new(bool), tag.NULL) && null.Empty() && algorithm.Empty()
}
