package form

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// checkSyntax checks the forms whose rule needs no parameters. It returns why text does not have the form, or nil.
func checkSyntax(f Form, text string) error {
	switch f {
	case Name:
		if !isDNSName(text) {
			return fmt.Errorf("got %q, want a DNS name", text)
		}
	case Tags:
		if tag := badTag(text); tag != "" {
			return fmt.Errorf("got tag %q, want letters, digits, _, -, + and ., beginning with a letter, a digit or _", tag)
		}
	case MAC:
		return checkHardware(text)
	case Address:
		return checkAddress(text)
	case Network:
		return checkNetwork(text)
	case UUID:
		if !isUUID(text) {
			return fmt.Errorf("got %q, want a UUID", text)
		}
	case Keys, Encoded:
		return checkEncoded(text)
	case Machine:
		return checkMachine(text)
	case Size:
		_, err := ParseSize(text)
		return err
	case ID:
		if len(text) < 2 || !isAlphanumeric(text[0]) || IsDigits(text[:1]) || strings.Trim(text, idLetters) != "" {
			return fmt.Errorf("got %q, want the name of a mapping: letters, digits, - and _, beginning with a letter", text)
		}
	case Port:
		if text != "socket" && !strings.HasPrefix(text, "/dev/") {
			return fmt.Errorf("got %q, want socket or a device such as /dev/ttyS0", text)
		}
	case Volume:
		return checkVolume(text)
	case Hex:
		if digits, ok := strings.CutPrefix(text, "0x"); !ok || digits == "" || strings.IndexFunc(digits, notHex) >= 0 {
			return fmt.Errorf("got %q, want a number such as 0x10de", text)
		}
	case Generated:
		if text != "0" && text != "1" && !isUUID(text) {
			return fmt.Errorf("got %q, want a UUID, 1 to generate one, or 0", text)
		}
	case Environ:
		return checkEnvironment(text)
	case PCI, USB, Ranges, Opaque, Bool, Int, Weight, Number, Enum, Notes, Set, List, Hotplug, Secret:
	}
	return nil
}

const idLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

func isDNSName(text string) bool {
	for label := range strings.SplitSeq(text, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			if c := label[i]; !isAlphanumeric(c) && c != '-' {
				return false
			}
		}
	}
	return len(text) <= 253
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func notHex(r rune) bool { return r > 'f' || !isHex(byte(r)) }

// checkHardware accepts a unicast MAC address in six pairs.
func checkHardware(text string) error {
	ok := len(text) == 17
	for i := 0; ok && i < len(text); i++ {
		ok = i%3 == 2 && text[i] == ':' || i%3 != 2 && isHex(text[i])
	}
	if !ok {
		return fmt.Errorf("got %q, want a MAC address such as BC:24:11:00:00:01", text)
	}
	if strings.IndexByte("13579bBdDfF", text[1]) >= 0 {
		return fmt.Errorf("got %q, want a unicast MAC address", text)
	}
	return nil
}

// checkAddress accepts an IP address, with or without a zone, and the word host, which is the address of the node.
func checkAddress(text string) error {
	if _, err := netip.ParseAddr(text); err != nil && text != "host" {
		return fmt.Errorf("got %q, want an IP address", text)
	}
	return nil
}

// checkNetwork accepts an address with its prefix length, and the words for other ways to get an address.
func checkNetwork(text string) error {
	if _, err := netip.ParsePrefix(text); err == nil || slices.Contains([]string{"dhcp", "auto", "manual"}, text) {
		return nil
	}
	return fmt.Errorf("got %q, want an address with its prefix length such as 10.0.0.5/24, or dhcp", text)
}

func isUUID(text string) bool {
	if len(text) != 36 {
		return false
	}
	for i := range len(text) {
		switch i {
		case 8, 13, 18, 23:
			if text[i] != '-' {
				return false
			}
		default:
			if !isHex(text[i]) {
				return false
			}
		}
	}
	return true
}

// checkEncoded accepts text that Proxmox stores as URL-encoded: "/", "@" and "+" must be encoded too.
func checkEncoded(text string) error {
	for i := range len(text) {
		if c := text[i]; !isAlphanumeric(c) && strings.IndexByte("-%_.!~*'()", c) < 0 {
			return fmt.Errorf("got %q unencoded, want URL-encoded text", c)
		}
	}
	if _, err := url.PathUnescape(text); err != nil {
		return fmt.Errorf("decode URL-encoded text: %w", err)
	}
	return nil
}

// checkMachine accepts the families of machine types, with or without a version.
func checkMachine(text string) error {
	for _, family := range []string{"pc-q35", "pc-i440fx", "q35", "pc", "virt"} {
		version, ok := strings.CutPrefix(text, family)
		if !ok {
			continue
		}
		if version == "" && family != "pc-q35" && family != "pc-i440fx" {
			return nil
		}
		number, ok := strings.CutPrefix(version, "-")
		number = strings.TrimSuffix(number, ".pxe")
		number, _, _ = strings.Cut(number, "+pve")
		if ok && family != "q35" && strings.Contains(number, ".") && strings.Trim(number, "0123456789.") == "" {
			return nil
		}
		break
	}
	return fmt.Errorf("got %q, want a machine type such as q35 or pc-i440fx-9.2", text)
}

var errAllocates = errors.New("want the id of an existing volume; to create a volume, set storage and size")

// checkVolume accepts a volume id, "none", "cdrom" and an absolute path of the host. It refuses the allocation syntax, which creates a new
// volume each time it is written.
func checkVolume(text string) error {
	if Allocates(text) {
		return fmt.Errorf("got %q, %w", text, errAllocates)
	}
	if text == "none" || text == "cdrom" || strings.HasPrefix(text, "/") {
		return nil
	}
	storage, name, ok := strings.Cut(text, ":")
	if !ok || storage == "" || name == "" {
		return fmt.Errorf("got %q, want a volume such as local-lvm:vm-100-disk-0", text)
	}
	return nil
}

// Allocates reports whether a volume text is Proxmox's syntax for a new volume and not a volume id: "local-lvm:32", "8",
// "local-lvm:cloudinit".
func Allocates(volume string) bool {
	name := volume[strings.IndexByte(volume, ':')+1:]
	return isDecimal(name) || name == "cloudinit"
}
