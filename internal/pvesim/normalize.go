package pvesim

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// creationMeta returns the value of the key meta, which a create call writes and no call changes.
func creationMeta(ctime int64) string { return "creation-qemu=10.0.13,ctime=" + itoa64(ctime) }

// pinnedMachine returns the machine version that Proxmox pins for a Windows guest.
func pinnedMachine(current string) string {
	if strings.HasPrefix(current, "q35") || strings.HasPrefix(current, "type=q35") {
		return "pc-q35-10.0+pve1"
	}
	return "pc-i440fx-10.0+pve1"
}

func isWindows(ostype string) bool { return strings.HasPrefix(ostype, "w") }

func clampCPUUnits(s string) string { return itoa(max(1, min(atoi(s), 10000))) }

var hashedPassword = newPattern(`^\$(?:5|6|y)\$`)

// hashPassword replaces crypt: the result looks like a hash and has a new salt each time. A value that is already a hash stays as it is.
func (s *Sim) hashPassword(plain string) string {
	if hashedPassword.MatchString(plain) {
		return plain
	}
	var salt [8]byte
	binary.LittleEndian.PutUint64(salt[:], s.rng.Uint64())
	sum := sha256.Sum256(append(salt[:], plain...))
	return "$5$" + hex.EncodeToString(salt[:4]) + "$" + hex.EncodeToString(sum[:])[:43]
}
