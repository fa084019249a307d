package encrypted

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"filippo.io/age"
	"filippo.io/age/armor"
)

var (
	errNoAge      = &Error{"it is not a file of age, or it is damaged", "encrypt it again: age -r RECIPIENT -o FILE"}
	errPassphrase = &Error{"it is encrypted with a passphrase", "encrypt it for the recipient of the agent: age -r RECIPIENT -o FILE"}
	errRecipient  = &Error{"it has no recipient with a key of age", "encrypt it for the recipient that age-keygen -y prints for the agent's identity; SSH keys and plugins are not supported"}
	errIdentity   = &Error{"no identity of the agent can decrypt it", "encrypt it for the recipient of the agent: age-keygen -y IDENTITY_FILE prints it"}
)

// ageKeys are the types of recipients that an identity of age-keygen can open.
var ageKeys = []string{"X25519", "mlkem768x25519"}

// recipientTypes is an identity that opens nothing and remembers the types of the recipients.
type recipientTypes struct{ types []string }

func (r *recipientTypes) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	for _, s := range stanzas {
		r.types = append(r.types, s.Type)
	}
	return nil, age.ErrIncorrectIdentity
}

// checkEnvelope returns why no identity of age can open an age file, or nil.
func checkEnvelope(data []byte) error {
	if isArmored(data) {
		if _, err := io.Copy(io.Discard, envelope(data)); err != nil {
			return errNoAge
		}
	}
	var seen recipientTypes
	_, err := age.Decrypt(envelope(data), &seen)
	switch {
	case slices.Contains(seen.types, "scrypt"):
		return errPassphrase
	case !errors.As(err, new(*age.NoIdentityMatchError)):
		return errNoAge
	case !slices.ContainsFunc(seen.types, func(t string) bool { return slices.Contains(ageKeys, t) }):
		return errRecipient
	}
	return nil
}

// openEnvelope returns the content of an age file.
func openEnvelope(data []byte, identities []age.Identity) ([]byte, error) {
	if err := checkEnvelope(data); err != nil {
		return nil, err
	}
	if len(identities) == 0 {
		return nil, errIdentity
	}
	r, err := age.Decrypt(envelope(data), identities...)
	if errors.As(err, new(*age.NoIdentityMatchError)) {
		return nil, errIdentity
	}
	if err != nil {
		return nil, errNoAge
	}
	content, err := io.ReadAll(io.LimitReader(r, MaxPassword+1))
	switch {
	case err != nil:
		return nil, errNoAge
	case len(content) > MaxPassword:
		return nil, &Error{"its content is longer than 4 KiB", "encrypt only the password, as one line"}
	}
	return content, nil
}

func isArmored(data []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(data), []byte(armor.Header)) }

// envelope returns a reader of the binary form.
func envelope(data []byte) io.Reader {
	if isArmored(data) {
		return armor.NewReader(bytes.NewReader(data))
	}
	return bytes.NewReader(data)
}
