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
	"strconv"
	"sync"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// Vault makes of a secret's content what the rest may know: a fingerprint for the journal and the plan, and the text for one
// call. It is safe for concurrent use.
type Vault struct {
	secrets Source
	cluster string

	mu        sync.Mutex
	stretched map[string]stretchedContent // by name
}

// stretched is a content made slow to guess, and what tells that it is still the same.
type stretchedContent struct{ content, key string }

func NewVault(secrets Source, cluster string) *Vault {
	return &Vault{secrets: secrets, cluster: cluster, stretched: make(map[string]stretchedContent)}
}

// Look returns what a plan may know of the secrets of guests. Each is read once, however many guests have it.
func (v *Vault) States(guests []guest.Desired) map[Place]State {
	var places map[Place]State
	read := make(map[string]State)
	contents := make(map[string]string)
	for i := range guests {
		for _, s := range guests[i].Secrets {
			now, done := read[s.File]
			if !done {
				contents[s.File], now = v.open(s.File)
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
	return places
}

// open reads a secret and tells what it is, all but its fingerprint.
func (v *Vault) open(name string) (string, State) {
	if v.secrets.Read == nil {
		return "", State{Problem: &Error{
			Name: name, Reason: "the agent has no directory of secrets", Hint: "set secrets_dir in the agent's config and put the file " + name + " there",
		}}
	}
	content, err := v.secrets.Read(name)
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

var (
	// longHash is what Proxmox takes for a hash in the configuration of a virtual machine, and shortHash what it takes for one when it
	// makes a container. Any other text it hashes.
	//
	// Source: PVE API, update_vm of API2/Qemu.pm; set_user_password of LXC/Setup/Base.pm.
	longHash  = regexp.MustCompile(`^\$(?:[156]|2[ay])(\$.+){2}`)
	shortHash = regexp.MustCompile(`^\$(?:1|2[axy]?|5|6)\$[a-zA-Z0-9./]{1,16}\$[a-zA-Z0-9./]+$`)
	// otherHash are kinds of hash that login knows and Proxmox does not.
	otherHash = regexp.MustCompile(`^\$(?:y|gy|7|2b|sm3|argon2i?d?|scrypt)\$`)
)

// maxPassword is the longest password, in bytes, that crypt compares.
//
// Source: libxcrypt, CRYPT_MAX_PASSPHRASE_SIZE with its final NUL.
const maxPassword = 511

// formOf tells a hash from a password.
func formOf(name, content string) (Form, *Error) {
	switch {
	case longHash.MatchString(content) && shortHash.MatchString(content):
		return Hash, nil
	case longHash.MatchString(content):
		return LongHash, nil
	case otherHash.MatchString(content) || shortHash.MatchString(content):
		return "", &Error{
			Name: name, Reason: "Proxmox does not know this kind of hash and would take it for the password",
			Hint: "put the password itself into the file, or a hash that mkpasswd -m sha-512 made",
		}
	case len(content) > maxPassword:
		return "", &Error{Name: name, Reason: fmt.Sprintf("got a password of %d bytes, want at most %d", len(content), maxPassword), Hint: "choose a shorter password"}
	}
	return Plain, nil
}

// stretchRounds makes trying a password against a fingerprint cost what it costs against the hash in the guest's configuration.
const stretchRounds = cryptRounds

// fingerprint returns 32 hexadecimal digits that tell one content from another in this place. Whoever finds them in a journal needs
// the key to try a password, and then as long as with a hash.
func (v *Vault) fingerprint(vmid int, s guest.Secret, content string) string {
	return hex.EncodeToString(v.mac("fingerprint", v.cluster, strconv.Itoa(vmid), s.Key, v.stretch(s.File, content))[:16])
}

func (v *Vault) stretch(name, content string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	quick := string(v.mac("content", content))
	if known := v.stretched[name]; known.content == quick {
		return known.key
	}
	key, _ := pbkdf2.Key(sha512.New, content, v.mac("stretch"), stretchRounds, sha512.Size) // fails for short salts and keys alone
	v.stretched[name] = stretchedContent{quick, string(key)}
	return string(key)
}

// text returns what Proxmox is sent. A password becomes a hash here, with a salt that stays the same: Proxmox would draw a new one
// each time, and the change of the hash alone would make cloud-init set up the guest anew at its next boot. Windows cannot use a
// hash.
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

// mac returns HMAC-SHA256 over the parts, each after its length.
func (v *Vault) mac(parts ...string) []byte {
	h := hmac.New(sha256.New, v.secrets.Key)
	for _, part := range parts {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	return h.Sum(nil)
}

// Fill puts the contents of secrets into copies of a step's calls. The step itself, which plans, logs and hooks see, keeps the names.
func (v *Vault) Fill(calls []cluster.Call, ostype string) ([]FilledCall, error) {
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
			content, now := v.open(name)
			if problem := CheckUse(s, now, call.Kind, ostype); problem != nil {
				return nil, fmt.Errorf("%s: %w", key, problem)
			}
			params[key] = v.sentText(call.VMID, s, content, now.Form, needsPlain(ostype))
			out[i].Fingerprints[key] = v.fingerprint(call.VMID, s, content)
			out[i].texts = append(out[i].texts, params[key], content)
		}
		out[i].Call.Params = params
	}
	return out, nil
}
