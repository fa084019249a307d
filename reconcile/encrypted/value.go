package encrypted

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
)

// encryptedValue is a value of SOPS: ENC[AES256_GCM,data:…,iv:…,tag:…,type:…].
type encryptedValue struct {
	sealed []byte // data and tag
	nonce  []byte
	kind   string // str, int, float, bool, bytes, time, comment
}

const (
	nonceSize = 32
	tagSize   = 16
)

var errNoValue = errors.New("not an encrypted value")

func parseValue(text string) (encryptedValue, error) {
	text, opened := strings.CutPrefix(text, "ENC[AES256_GCM,data:")
	text, closed := strings.CutSuffix(text, "]")
	data, text, hasNonce := strings.Cut(text, ",iv:")
	nonce, text, hasTag := strings.Cut(text, ",tag:")
	tag, kind, hasKind := strings.Cut(text, ",type:")
	if !opened || !closed || !hasNonce || !hasTag || !hasKind {
		return encryptedValue{}, errNoValue
	}
	decode := base64.StdEncoding.Strict().DecodeString
	dataBytes, dataErr := decode(data)
	nonceBytes, nonceErr := decode(nonce)
	tagBytes, tagErr := decode(tag)
	if errors.Join(dataErr, nonceErr, tagErr) != nil || len(nonceBytes) != nonceSize || len(tagBytes) != tagSize {
		return encryptedValue{}, errNoValue
	}
	return encryptedValue{append(dataBytes, tagBytes...), nonceBytes, kind}, nil
}

// valueCipher decrypts the values of one file.
type valueCipher struct{ aead cipher.AEAD }

func newValueCipher(key []byte) (valueCipher, error) {
	if len(key) != 32 {
		return valueCipher{}, notSOPS("its data key is damaged")
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return valueCipher{}, err
	}
	aead, err := cipher.NewGCMWithNonceSize(block, nonceSize)
	return valueCipher{aead}, err
}

// decrypt returns the plain text of a value in the form that the MAC covers; ok is false for a comment, which it does not cover. SOPS leaves
// an empty text as it is.
func (c valueCipher) decrypt(text, additional string) (plain string, ok bool, err error) {
	if text == "" {
		return "", true, nil
	}
	v, err := parseValue(text)
	if err != nil {
		return "", false, err
	}
	opened, err := c.aead.Open(nil, v.nonce, v.sealed, []byte(additional))
	if err != nil {
		return "", false, err
	}
	plain, err = canonical(v.kind, string(opened))
	return plain, v.kind != "comment", err
}

// canonical returns the form of a plain text that the MAC covers.
//
// Source: SOPS, Cipher.Decrypt and ToBytes.
func canonical(kind, plain string) (string, error) {
	switch kind {
	case "str", "bytes", "time", "comment":
		return plain, nil
	case "int":
		n, err := strconv.Atoi(plain)
		return strconv.Itoa(n), err
	case "float":
		x, err := strconv.ParseFloat(plain, 64)
		return strconv.FormatFloat(x, 'f', -1, 64), err
	case "bool":
		b, err := strconv.ParseBool(plain)
		return boolText(b), err
	}
	return "", errNoValue
}

func boolText(b bool) string {
	if b {
		return "True"
	}
	return "False"
}
