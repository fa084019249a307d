package encrypted

import (
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"gitops-agent/reconcile/manifest/tree"
)

// macReader decrypts all values of a file in order, and hashes them.
type macReader struct {
	file   *sopsFile
	cipher valueCipher
	hash   hash.Hash
	wanted *tree.Node
	found  string
}

// verified returns the plain text of a value after the MAC over all values was verified.
func (f *sopsFile) verified(c valueCipher, wanted *tree.Node) (string, error) {
	r := macReader{file: f, cipher: c, hash: sha512.New(), wanted: wanted}
	if f.onlyMAC {
		start := sha256.Sum256([]byte("sops")) // a MAC of the other kind never fits
		r.hash.Write(start[:])
	}
	if err := r.mapping(f.values, nil); err != nil {
		return "", err
	}
	mac, _, err := c.decrypt(f.mac, f.modified)
	if err != nil || subtle.ConstantTimeCompare([]byte(strings.ToUpper(hex.EncodeToString(r.hash.Sum(nil)))), []byte(mac)) != 1 {
		return "", &Error{"its MAC does not fit its values: it was changed without sops", "take the file from an earlier commit and change it with sops edit, also after a merge"}
	}
	if len(r.found) > MaxPassword {
		return "", &Error{"its value is longer than 4 KiB", "encrypt only the password, as one line"}
	}
	return r.found, nil
}

func (r *macReader) mapping(entries []tree.Entry, path []string) error {
	for _, e := range entries {
		if err := r.value(e.Value, append(slices.Clip(path), e.Name)); err != nil {
			return err
		}
	}
	return nil
}

// value hashes a value. The items of a list have the path of the list.
func (r *macReader) value(n *tree.Node, path []string) error {
	switch n.Kind {
	case tree.Mapping:
		return r.mapping(n.Entries, path)
	case tree.List:
		for _, item := range n.Items {
			if err := r.value(item, path); err != nil {
				return err
			}
		}
		return nil
	case tree.Scalar:
	}
	if n.IsNull() {
		return nil
	}
	if !r.file.isSecret(path) {
		if r.file.onlyMAC {
			return nil
		}
		plain, err := plainText(n)
		r.hash.Write([]byte(plain))
		return err
	}
	plain, covered, err := r.cipher.decrypt(n.Text, strings.Join(path, ":")+":")
	if err != nil || n.Tag != "!!str" {
		return &Error{fmt.Sprintf("its value in line %d is damaged, or moved from another key", n.At.Line), "take the file from an earlier commit and change it with sops edit, also after a merge"}
	}
	if covered {
		r.hash.Write([]byte(plain))
	}
	if n == r.wanted {
		r.found = plain
	}
	return nil
}

// plainText returns an unencrypted value in the form that the MAC covers.
func plainText(n *tree.Node) (string, error) {
	var value any
	if err := (&yaml.Node{Kind: yaml.ScalarNode, Tag: n.Tag, Value: n.Text}).Decode(&value); err != nil {
		return "", notSOPS(fmt.Sprintf("its value in line %d cannot be read", n.At.Line))
	}
	switch v := value.(type) {
	case string:
		return v, nil
	case int:
		return strconv.Itoa(v), nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	case bool:
		return boolText(v), nil
	case time.Time:
		text, err := v.MarshalText()
		return string(text), err
	}
	return "", notSOPS(fmt.Sprintf("its value in line %d is of a type that SOPS does not know", n.At.Line))
}
