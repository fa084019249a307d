package pvesim

import (
	"encoding/base64"
	"encoding/binary"
	"net/url"
	"strings"
)

// sshKeyLine matches a public key of an accepted algorithm. The groups are the algorithm and the encoded key.
var sshKeyLine = newPattern(`^(?:\S+ +)?(ssh-rsa|ssh-dss|ssh-ed25519|ecdsa-sha2-nistp(?:256|384|521)|sk-ssh-ed25519@openssh\.com|sk-ecdsa-sha2-nistp256@openssh\.com) +(\S+)(?: .*)?$`)

// keyFields is the number of length-prefixed fields in a key of each algorithm.
var keyFields = map[string]int{
	"ssh-rsa": 3, "ssh-dss": 5, "ssh-ed25519": 2, "ecdsa-sha2-nistp256": 3, "ecdsa-sha2-nistp384": 3, "ecdsa-sha2-nistp521": 3,
	"sk-ssh-ed25519@openssh.com": 3, "sk-ecdsa-sha2-nistp256@openssh.com": 4,
}

// checkSSHKeys decodes the URL-encoded list and checks every key as ssh-keygen does.
func checkSSHKeys(encoded string) error {
	text, err := url.PathUnescape(encoded)
	if err != nil {
		return apiErrorf("SSH public key validation error")
	}
	return checkKeyLines(text)
}

// checkKeyLines checks public keys, one per line.
func checkKeyLines(text string) error {
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		m := sshKeyLine.FindStringSubmatch(line)
		if m == nil || !validKeyBlob(m[1], m[2]) {
			return apiErrorf("SSH public key validation error")
		}
	}
	return nil
}

// validKeyBlob reports whether the length-prefixed fields fill the key exactly and the first field is the algorithm.
func validKeyBlob(typ, text string) bool {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return false
	}
	fields := 0
	for ; len(b) > 0; fields++ {
		if len(b) < 4 {
			return false
		}
		n := binary.BigEndian.Uint32(b)
		if int64(n) > int64(len(b)-4) || fields == 0 && string(b[4:4+n]) != typ {
			return false
		}
		b = b[4+n:]
	}
	return fields == keyFields[typ]
}
