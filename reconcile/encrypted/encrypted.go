package encrypted

import (
	"bytes"
	"fmt"

	"filippo.io/age"
)

// Bounds of a file.
const (
	MaxFile     = 256 << 10 // bytes of an encrypted file
	MaxPassword = 4 << 10   // bytes of a decrypted password
)

// Format is the format of an encrypted file.
type Format string

// The formats. Each has its own suffix of file names.
const (
	Age  Format = "age"  // the whole file is one password
	SOPS Format = "sops" // a YAML file with encrypted values
)

// Suffix returns how the names of the files of a format end.
func (f Format) Suffix() string {
	if f == SOPS {
		return ".sops.yaml"
	}
	return ".age"
}

// Name returns the name of a password in plans, messages and fingerprints: "age:web.age", "sops:secrets.sops.yaml:web.password".
func Name(format Format, file, key string) string {
	if format == SOPS {
		return "sops:" + file + ":" + key
	}
	return "age:" + file
}

// Error describes why a password cannot be read. It contains no text of the file.
type Error struct {
	Reason string
	Hint   string // how to correct it
}

func (e *Error) Error() string { return e.Reason }

func tooLarge(data []byte) error {
	if len(data) > MaxFile {
		return &Error{fmt.Sprintf("the file has %d bytes, want at most %d", len(data), MaxFile), "split the file"}
	}
	return nil
}

// Check returns why the password cannot be read by any agent, or nil. It needs no key, so it does not find a wrong key or a damaged value. The key is the
// path of the value in a file of SOPS, with dots.
func Check(format Format, data []byte, key string) error {
	if err := tooLarge(data); err != nil {
		return err
	}
	if format == Age {
		return checkEnvelope(data)
	}
	f, err := parseSOPS(data)
	if err != nil {
		return err
	}
	_, err = f.find(key)
	return err
}

// Open returns the password.
func Open(format Format, data []byte, key string, identities []age.Identity) (string, error) {
	if err := tooLarge(data); err != nil {
		return "", err
	}
	if format == Age {
		content, err := openEnvelope(data, identities)
		return string(content), err
	}
	f, err := parseSOPS(data)
	if err != nil {
		return "", err
	}
	return f.open(key, identities)
}

// Identities parses a file of age identities, as age-keygen writes it.
func Identities(text []byte) ([]age.Identity, error) {
	identities, err := age.ParseIdentities(bytes.NewReader(text))
	if err != nil || len(identities) == 0 { // the error of the library may repeat a line
		return nil, &Error{"it contains no identity, or a line that is none", "write it with age-keygen; identities with a passphrase, of plugins and of SSH are not supported"}
	}
	return identities, nil
}
