package pvesim

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// normalizeTags lower-cases, sorts and joins with semicolons. Nothing at all is stored as an empty value.
func normalizeTags(s string) string {
	tags := listOf(strings.ToLower(s))
	slices.Sort(tags)
	return strings.Join(slices.Compact(tags), ";")
}

// bootOrder is the list of boot devices, or nil when the config has none of the order form.
func bootOrder(v values) []string {
	order, ok := strings.CutPrefix(v["boot"], "order=")
	if ok {
		return strings.Split(order, ";")
	}
	if b := strings.TrimSpace(v["boot"]); b == "" && v["boot"] != "" {
		return nil
	}
	if d := v["bootdisk"]; d != "" {
		return []string{d}
	}
	return defaultBootDevices(v)
}

func printBootOrder(devices []string) string {
	if len(devices) == 0 {
		return ""
	}
	return "order=" + strings.Join(devices, ";")
}

// defaultBootDevices are the first disk, the CD-ROMs and the first network device.
func defaultBootDevices(v values) []string {
	var disk string
	var cds []string
	for _, stem := range []string{"ide", "scsi", "virtio", "sata"} {
		for i := range qemuFormats[stem].count {
			slot := stem + itoa(i)
			if v[slot] == "" {
				continue
			}
			d, err := parseDrive(slot, v[slot])
			switch {
			case err != nil || d.isCloudInit():
			case d.isCDROM():
				cds = append(cds, slot)
			case disk == "":
				disk = slot
			}
		}
	}
	var out []string
	if disk != "" {
		out = append(out, disk)
	}
	out = append(out, cds...)
	for i := range 32 {
		if n := "net" + itoa(i); v[n] != "" {
			return append(out, n)
		}
	}
	return out
}

// newMeta is the key that create writes and nobody changes.
func newMeta(ctime int64) string { return "creation-qemu=10.0.13,ctime=" + itoa64(ctime) }

// pinnedMachine is the machine version that a Windows guest is nailed to.
func pinnedMachine(current string) string {
	if strings.HasPrefix(current, "q35") || strings.HasPrefix(current, "type=q35") {
		return "pc-q35-10.0+pve1"
	}
	return "pc-i440fx-10.0+pve1"
}

func isWindows(ostype string) bool { return strings.HasPrefix(ostype, "w") }

func clampCPUUnits(s string) string { return itoa(max(1, min(atoi(s), 10000))) }

var hashedPassword = regexp.MustCompile(`^\$(?:5|6|y)\$`)

// hashPassword stands in for crypt: the text looks like a hash and has a new salt each time.
func (s *Sim) hashPassword(plain string) string {
	if hashedPassword.MatchString(plain) {
		return plain
	}
	var salt [8]byte
	binary.LittleEndian.PutUint64(salt[:], s.rng.Uint64())
	sum := sha256.Sum256(append(salt[:], plain...))
	return "$5$" + hex.EncodeToString(salt[:4]) + "$" + hex.EncodeToString(sum[:])[:43]
}

// sshKeyTypes are the algorithms whose keys pass, with the length of the blob's first field checked.
var sshKeyLine = regexp.MustCompile(`^(?:\S+ +)?(ssh-rsa|ssh-dss|ssh-ed25519|ecdsa-sha2-nistp(?:256|384|521)|sk-ssh-ed25519@openssh\.com|sk-ecdsa-sha2-nistp256@openssh\.com) +(\S+)(?: .*)?$`)

// checkSSHKeys decodes the URL-encoded list and looks at every key as ssh-keygen would.
func checkSSHKeys(encoded string) error {
	text, err := url.PathUnescape(encoded)
	if err != nil {
		return die("SSH public key validation error")
	}
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		m := sshKeyLine.FindStringSubmatch(line)
		if m == nil || !validKeyBlob(m[1], m[2]) {
			return die("SSH public key validation error")
		}
	}
	return nil
}

// validKeyBlob walks the length-prefixed fields of the key: they must fill it exactly.
func validKeyBlob(typ, text string) bool {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return false
	}
	for first := true; len(b) > 0; first = false {
		if len(b) < 4 {
			return false
		}
		n := binary.BigEndian.Uint32(b)
		if int64(n) > int64(len(b)-4) || first && string(b[4:4+n]) != typ {
			return false
		}
		b = b[4+n:]
	}
	return true
}
