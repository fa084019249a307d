package secret

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"sync"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// Vault reads secrets and derives two values from a content: a fingerprint for the journal and the plan, and the text for one call. It is
// safe for concurrent use.
type Vault struct {
	secrets Source
	cluster string

	mu        sync.Mutex
	stretched map[string]stretchedContent // by name
}

// stretchedContent is the slow key that was derived from a content, and the MAC of that content.
type stretchedContent struct{ mac, key string }

// NewVault returns a vault for the secrets of a source. The name of the cluster is part of every fingerprint and salt.
func NewVault(secrets Source, cluster string) *Vault {
	return &Vault{secrets: secrets, cluster: cluster, stretched: make(map[string]stretchedContent)}
}

// States returns the state of every secret of the guests, and of every other value that is used at creation only. It reads each secret once, even if several
// guests use it.
func (v *Vault) States(guests []guest.Desired) map[Place]State {
	var places map[Place]State
	read := make(map[string]State)
	contents := make(map[string]string)
	for i := range guests {
		for _, s := range guests[i].Secrets {
			now, done := read[s.File]
			if !done {
				contents[s.File], now = v.open(s)
				read[s.File] = now
			}
			if now.Problem == nil {
				now.Fingerprint = v.fingerprint(guests[i].VMID, s, contents[s.File])
			}
			if places == nil {
				places = make(map[Place]State)
			}
			places[Place{VMID: guests[i].VMID, Key: s.Key}] = now
		}
	}
	if values := v.CreationStates(guests); places == nil {
		places = values
	} else {
		maps.Copy(places, values)
	}
	return places
}

// CreationStates returns the states of the values of the guests that are used at creation only and are no secrets. It needs no secret but the key.
func (v *Vault) CreationStates(guests []guest.Desired) map[Place]State {
	if len(v.secrets.Key) == 0 {
		return nil
	}
	places := map[Place]State{{Key: KeyName}: {Fingerprint: v.KeyID()}}
	for i := range guests {
		for _, value := range guest.AtCreation(guests[i]) {
			if value.Secret == nil {
				mac := v.mac("creation", v.cluster, strconv.Itoa(guests[i].VMID), value.Key, value.Text)
				places[Place{VMID: guests[i].VMID, Key: value.Key}] = State{Fingerprint: hex.EncodeToString(mac[:16])}
			}
		}
	}
	return places
}

// KeyID identifies the key of the fingerprints, and reveals nothing about it: fingerprints of different keys cannot be compared.
func (v *Vault) KeyID() string { return hex.EncodeToString(v.mac("id")[:4]) }

// CreatedWith returns what a guest has that is created as its manifest says now.
func (v *Vault) CreatedWith(d guest.Desired) Baseline {
	states := v.States([]guest.Desired{d})
	return NewBaseline(d, states, func(value guest.CreationValue) bool { return d.CreatesWith(value) })
}

// open returns the content of a secret and its state without the fingerprint.
func (v *Vault) open(s guest.Secret) (string, State) {
	name := s.File
	content, err := v.read(s)
	if problem := (*Error)(nil); errors.As(err, &problem) {
		return "", State{Problem: problem}
	}
	if err != nil {
		return "", State{Problem: &Error{Name: name, Reason: err.Error()}}
	}
	if content == "" {
		return "", State{Problem: &Error{Name: name, Reason: "it is empty", Hint: "put the password there"}}
	}
	form, problem := formOf(name, content)
	return content, State{Form: form, Problem: problem}
}

// read returns the content of a secret on the host or in the repository.
func (v *Vault) read(s guest.Secret) (string, error) {
	switch {
	case s.Encrypted.Problem != "":
		return "", &Error{Name: s.File, Reason: s.Encrypted.Problem, Hint: "commit the encrypted file, or correct the path in the manifest"}
	case s.Encrypted.Path != "" && v.secrets.Decrypt == nil:
		return "", &Error{
			Name: s.File, Reason: "the agent has no identity to decrypt it", Hint: "set secrets.age_identities in the agent's config to a file that age-keygen made",
		}
	case s.Encrypted.Path != "":
		return v.secrets.Decrypt(s)
	case v.secrets.Read == nil:
		return "", &Error{
			Name: s.File, Reason: "the agent has no directory of secrets", Hint: "set secrets_dir in the agent's config and put the file " + s.File + " there",
		}
	}
	return v.secrets.Read(s.File)
}

var (
	// longHash matches a text that Proxmox treats as a hash in the configuration of a virtual machine, and shortHash a text that it treats
	// as a hash when it creates a container. Proxmox hashes any other text.
	//
	// Source: PVE API, update_vm of API2/Qemu.pm; set_user_password of LXC/Setup/Base.pm.
	longHash  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\$(?:[156]|2[ay])(\$.+){2}`) })
	shortHash = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\$(?:1|2[axy]?|5|6)\$[a-zA-Z0-9./]{1,16}\$[a-zA-Z0-9./]+$`)
	})
	// otherHash matches kinds of hash that login supports and Proxmox does not.
	otherHash = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\$(?:y|gy|7|2b|sm3|argon2i?d?|scrypt)\$`) })
)

// maxPassword is the longest password, in bytes, that crypt compares.
//
// Source: libxcrypt, CRYPT_MAX_PASSPHRASE_SIZE with its final NUL.
const maxPassword = 511

// formOf distinguishes a hash from a password.
func formOf(name, content string) (Form, *Error) {
	switch {
	case longHash().MatchString(content) && shortHash().MatchString(content):
		return Hash, nil
	case longHash().MatchString(content):
		return LongHash, nil
	case otherHash().MatchString(content) || shortHash().MatchString(content):
		return "", &Error{
			Name: name, Reason: "Proxmox does not support this kind of hash and would use it as the password",
			Hint: "put the password itself into the file, or a hash that mkpasswd -m sha-512 made",
		}
	case len(content) > maxPassword:
		return "", &Error{Name: name, Reason: fmt.Sprintf("got a password of %d bytes, want at most %d", len(content), maxPassword), Hint: "choose a shorter password"}
	}
	return Plain, nil
}

// stretchRounds makes a guess against a fingerprint as expensive as a guess against the hash in the guest's configuration.
const stretchRounds = cryptRounds

// fingerprint returns 32 hexadecimal digits that differ between contents in this place. An attacker who reads them in a journal needs the key
// to test a password, and then as much time as with a hash.
func (v *Vault) fingerprint(vmid int, s guest.Secret, content string) string {
	return hex.EncodeToString(v.mac("fingerprint", v.cluster, strconv.Itoa(vmid), s.Key, v.stretch(s.File, content))[:16])
}

func (v *Vault) stretch(name, content string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	quick := string(v.mac("content", content))
	if known := v.stretched[name]; known.mac == quick {
		return known.key
	}
	key, _ := pbkdf2.Key(sha512.New, content, v.mac("stretch"), stretchRounds, sha512.Size) // fails only for short salts and keys
	v.stretched[name] = stretchedContent{quick, string(key)}
	return string(key)
}

// sentText returns the text that is sent to Proxmox. A password becomes a hash with a fixed salt: Proxmox would draw a new salt each time,
// and the new hash alone would make cloud-init set up the guest again at its next boot. Windows cannot use a hash.
func (v *Vault) sentText(vmid int, s guest.Secret, content string, form Form, plain bool) string {
	if form != Plain || plain {
		return content
	}
	salt := v.mac("salt", v.cluster, strconv.Itoa(vmid), s.Key, s.File)[:16]
	for i, b := range salt {
		salt[i] = cryptAlphabet[b&63]
	}
	return sha512Crypt(content, string(salt))
}

// mac returns HMAC-SHA256 over the parts, each preceded by its length.
func (v *Vault) mac(parts ...string) []byte {
	h := hmac.New(sha256.New, v.secrets.Key)
	for _, part := range parts {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	return h.Sum(nil)
}

// Fill returns copies of a step's calls with the contents of their secrets. The step itself, which plans, logs and hooks receive, keeps the names. Secrets
// are those of the guest in the revision in force, from which encrypted ones are read.
func (v *Vault) Fill(calls []cluster.Call, secrets []guest.Secret, ostype string) ([]FilledCall, error) {
	out := make([]FilledCall, len(calls))
	for i, call := range calls {
		out[i].Call = call
		if len(call.Secrets) == 0 {
			continue
		}
		params := maps.Clone(call.Params)
		if params == nil {
			params = make(map[string]string, len(call.Secrets))
		}
		out[i].Fingerprints = make(map[string]string, len(call.Secrets))
		for key, name := range call.Secrets {
			s := guest.Secret{Key: key, File: name}
			if i := slices.IndexFunc(secrets, func(s guest.Secret) bool { return s.Key == key && s.File == name }); i >= 0 {
				s = secrets[i]
			}
			content, now := v.open(s)
			if problem := CheckUse(s, now, call.Kind, ostype); problem != nil {
				return nil, fmt.Errorf("%s: %w", key, problem)
			}
			params[key] = v.sentText(call.VMID, s, content, now.Form, needsPlain(ostype))
			out[i].Fingerprints[key] = v.fingerprint(call.VMID, s, content)
		}
		out[i].Call.Params = params
	}
	return out, nil
}

// Check returns why a secret cannot be used for any guest, or nil.
func (s Source) Check(secret guest.Secret) error {
	if _, now := NewVault(s, "").open(secret); now.Problem != nil {
		return now.Problem
	}
	return nil
}
