package agent

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"filippo.io/age"

	"gitops-agent/reconcile/encrypted"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/secret"
)

const (
	maxIdentities = 64 << 10 // bytes of a file with identities
	maxDecrypted  = 4096     // passwords in memory
)

// decrypter decrypts passwords of the repository with the identities of the host. It reads the files of identities again when they change, and each password
// once for each content of its file.
type decrypter struct {
	config []AgeIdentityConfig

	mu      sync.Mutex
	files   []identityFile       // in the order of config
	results map[string]decrypted // by name
}

// identityFile are the identities of a file, and the state of the file when it was read.
type identityFile struct {
	info       os.FileInfo
	identities []age.Identity
}

// decrypted is a password, or why there is none, and what it was decrypted from.
type decrypted struct {
	file     [sha256.Size]byte
	password string
	err      error
}

func newDecrypter(config []AgeIdentityConfig) *decrypter {
	return &decrypter{config: config, files: make([]identityFile, len(config)), results: make(map[string]decrypted)}
}

// decrypt returns a password. The error is a *secret.Error.
func (d *decrypter) decrypt(s guest.Secret) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	identities, err := d.identitiesFor(s)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(s.Encrypted.Content))
	if known, ok := d.results[s.File]; ok && known.file == sum {
		return known.password, known.err
	}
	if len(d.results) >= maxDecrypted {
		clear(d.results)
	}
	password, err := open(s, identities)
	d.results[s.File] = decrypted{sum, password, err}
	return password, err
}

// open decrypts a password and checks its text.
func open(s guest.Secret, identities []age.Identity) (string, error) {
	text, err := encrypted.Open(encrypted.Format(s.Encrypted.Format), []byte(s.Encrypted.Content), s.Encrypted.Key, identities)
	var problem *encrypted.Error
	switch {
	case errors.As(err, &problem):
		return "", &secret.Error{Name: s.File, Reason: problem.Reason, Hint: problem.Hint}
	case err != nil:
		return "", &secret.Error{Name: s.File, Reason: "it cannot be decrypted", Hint: "encrypt it again"}
	}
	return passwordOf(s.File, "its content", text)
}

// identitiesFor returns the identities that may decrypt a file. An identity with paths decrypts nothing else: anybody who can read the repository can copy an
// encrypted file into a folder of their own.
func (d *decrypter) identitiesFor(s guest.Secret) ([]age.Identity, error) {
	var identities []age.Identity
	named := false
	for i, c := range d.config {
		if !manifest.InFolders(s.Encrypted.Path, c.Paths) {
			continue
		}
		named = true
		found, err := d.read(i, s.File)
		if err != nil {
			return nil, err
		}
		identities = append(identities, found...)
	}
	if !named {
		return nil, &secret.Error{Name: s.File, Reason: "the agent has no identity for files in this folder", Hint: "add one to secrets.age_identities in the agent's config, with this folder in its paths"}
	}
	return identities, nil
}

// read returns the identities of a file. After a change of the file it forgets what was decrypted.
func (d *decrypter) read(i int, name string) ([]age.Identity, error) {
	at := d.config[i].File
	info, err := os.Stat(at)
	if err == nil && d.files[i].info != nil && sameFile(d.files[i].info, info) {
		return d.files[i].identities, nil
	}
	clear(d.results)
	d.files[i] = identityFile{}
	if err != nil {
		return nil, identityError(name, at, err)
	}
	identities, err := readIdentities(at)
	if err != nil {
		return nil, identityError(name, at, err)
	}
	if time.Since(info.ModTime()) > settledAfter {
		d.files[i] = identityFile{info, identities}
	}
	return identities, nil
}

func identityError(name, at string, err error) error {
	hint := "let the agent's user read it, or put it into the credentials of the systemd unit"
	var private *HostFileError
	if errors.As(err, &private) {
		return &secret.Error{Name: name, Reason: private.Problem, Hint: private.Fix}
	}
	var problem *encrypted.Error
	if errors.As(err, &problem) {
		hint = problem.Hint
	}
	var cause *os.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	return &secret.Error{Name: name, Reason: fmt.Sprintf("read the identities in %s: %v", at, err), Hint: hint}
}

// readIdentities reads a file of identities, which other users must not be able to read.
func readIdentities(at string) ([]age.Identity, error) {
	if err := checkPrivate("secrets.age_identities", at); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(at, os.O_RDONLY|syscall.O_NONBLOCK, 0) //nolint:gosec // the operator chooses the path
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxIdentities {
		return nil, fmt.Errorf("want a regular file of at most %d bytes", maxIdentities)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxIdentities))
	if err != nil {
		return nil, err
	}
	return encrypted.Identities(text)
}
