package manifest

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
)

// sshKeyFields is the number of fields that a public key of each type contains, with the type itself. Other types may have any number.
//
// Source: RFC 4253, RFC 5656, RFC 8709 and OpenSSH PROTOCOL.u2f.
var sshKeyFields = map[string]int{
	"ssh-rsa": 3, "ssh-dss": 5, "ssh-ed25519": 2, "ecdsa-sha2-nistp256": 3, "ecdsa-sha2-nistp384": 3, "ecdsa-sha2-nistp521": 3,
	"sk-ssh-ed25519@openssh.com": 3, "sk-ecdsa-sha2-nistp256@openssh.com": 4,
}

// isSSHKey accepts "type base64 comment" if the base64 text is a whole key of that type. A key that was cut or wrapped when it was pasted is refused
// here, and not later by the call that creates the guest, which does not name the field.
func isSSHKey(s string) bool {
	kind, rest, found := strings.Cut(s, " ")
	blob, _, _ := strings.Cut(rest, " ")
	raw, err := base64.StdEncoding.DecodeString(blob)
	if !found || err != nil || strings.ContainsAny(s, "\r\n") {
		return false
	}
	fields, whole := sshFields(raw)
	if !whole || len(fields) == 0 || string(fields[0]) != kind || slices.ContainsFunc(fields, func(f []byte) bool { return len(f) == 0 }) {
		return false
	}
	count, known := sshKeyFields[kind]
	return !known || len(fields) == count
}

// sshFields splits a key into its fields, each of which follows its length in four bytes. It returns false unless the last field ends with the key.
func sshFields(raw []byte) (fields [][]byte, whole bool) {
	for len(raw) > 0 {
		if len(raw) < 4 {
			return nil, false
		}
		length := int64(binary.BigEndian.Uint32(raw))
		raw = raw[4:]
		if length > int64(len(raw)) {
			return nil, false
		}
		fields, raw = append(fields, raw[:length]), raw[length:]
	}
	return fields, true
}

// sshKeyHint returns a hint for a text that begins like a public key.
func sshKeyHint(s string) string {
	kind, rest, _ := strings.Cut(s, " ")
	if _, known := sshKeyFields[kind]; known && rest != "" {
		return "the key is cut, wrapped or of another type: copy the whole line of the .pub file"
	}
	return ""
}
