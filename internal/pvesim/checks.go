package pvesim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Value formats that more than one parameter uses. The error texts are Proxmox's.

var (
	dnsLabel    = `[a-zA-Z0-9](?:[a-zA-Z0-9\-]*[a-zA-Z0-9])?`
	dnsName     = newPattern(`^(?:` + dnsLabel + `\.)*` + dnsLabel + `$`)
	tagText     = newPattern(`^[a-zA-Z0-9_][a-zA-Z0-9_\-+.]*$`)
	startupPart = newPattern(`^(?:(?:order=)?\d+|up=\d+|down=\d+)$`)
	urlEncoded  = newPattern(`^[-%a-zA-Z0-9_.!~*'()]*$`)
	unicastMAC  = newPattern(`^[a-fA-F0-9][02468aceACE](?::[a-fA-F0-9]{2}){5}$`)
	vmidText    = newPattern(`^[1-9][0-9]{2,8}$`)
	configID    = newPattern(`^[a-zA-Z][a-zA-Z0-9\-_]+$`)
	storageID   = newPattern(`^[a-zA-Z][a-zA-Z0-9\-_.]*[a-zA-Z0-9]$`)
	poolID      = newPattern(`^[A-Za-z0-9.\-_]+(?:/[A-Za-z0-9.\-_]+)*$`)
	bridgeID    = newPattern(`^[-_.\w]+$`)
	volumeID    = newPattern(`^([a-zA-Z][a-zA-Z0-9\-_.]*[a-zA-Z0-9]):(.+)$`)
	newVolume   = newPattern(`^(?:([^/:\s]+):)?(\d+(?:\.\d+)?)$`)
	bootLetters = newPattern(`^[acdn]{1,4}$`)
	bootDevice  = newPattern(`^(?:(?:ide|sata|scsi|virtio|net|usb|hostpci)\d+)$`)
)

func checkDNSName(s string) error {
	if !dnsName.MatchString(s) {
		return errors.New("value does not look like a valid DNS name")
	}
	return nil
}

func checkTags(s string) error {
	for _, t := range listSeparators.Split(s, -1) {
		if t != "" && !tagText.MatchString(t) {
			return errors.New("invalid characters in tag")
		}
	}
	return nil
}

func checkStartup(s string) error {
	for part := range strings.SplitSeq(s, ",") {
		if !startupPart.MatchString(part) {
			return errors.New("unable to parse startup options")
		}
	}
	return nil
}

func checkURLEncoded(s string) error {
	if !urlEncoded.MatchString(s) {
		return fmt.Errorf("invalid urlencoded string: %s", s)
	}
	return nil
}

var vmidRule = rule{typ: typeInteger, check: checkVMID}

func checkVMID(s string) error {
	if !vmidText.MatchString(s) {
		return errors.New("value does not look like a valid VM ID")
	}
	return nil
}

func checkVMIDs(s string) error {
	for _, id := range listOf(s) {
		if err := checkVMID(id); err != nil {
			return err
		}
	}
	return nil
}

func checkConfigID(s string) error {
	if !configID.MatchString(s) {
		return fmt.Errorf("invalid configuration ID '%s'", s)
	}
	return nil
}

func checkStorageID(s string) error {
	if !storageID.MatchString(s) {
		return errors.New("storage ID '" + s + "' contains illegal characters")
	}
	return nil
}

func checkPool(s string) error {
	if strings.Count(s, "/") > 2 {
		return errors.New("pool name '" + s + "' nested too deeply (max levels = 3)")
	}
	if !poolID.MatchString(s) {
		return errors.New("pool name '" + s + "' contains invalid characters")
	}
	return nil
}

func checkSize(s string) error {
	if _, ok := parseSize(s); !ok {
		return errors.New("value does not look like a valid disk size: " + s)
	}
	return nil
}

// checkVolume accepts the values of a drive's volume: none, cdrom, a volume id, allocation syntax or a path.
func checkVolume(s string) error {
	if s == "none" || s == "cdrom" || strings.HasPrefix(s, "/") || newVolume.MatchString(s) || volumeID.MatchString(s) {
		return nil
	}
	return fmt.Errorf("unable to parse volume ID '%s'", s)
}

func checkVolumeID(s string) error {
	if !volumeID.MatchString(s) {
		return fmt.Errorf("unable to parse volume ID '%s'", s)
	}
	return nil
}

func checkHotplug(s string) error {
	if s == "0" || s == "1" {
		return nil
	}
	for f := range strings.SplitSeq(s, ",") {
		if !slices.Contains([]string{"network", "disk", "cpu", "memory", "usb", "cloudinit"}, strings.TrimSpace(f)) {
			return fmt.Errorf("invalid hotplug feature '%s'", f)
		}
	}
	return nil
}

// checkBoot accepts the order form and the legacy letters.
func checkBoot(s string) error {
	if s == "" || bootLetters.MatchString(s) {
		return nil
	}
	p := propertyString{
		"legacy": matching(`[acdn]{1,4}`).asDefaultKey(),
		"order":  checked(checkBootOrder),
	}
	_, err := p.parse("boot", s)
	return err
}

func checkBootOrder(s string) error {
	for d := range strings.SplitSeq(s, ";") {
		if !bootDevice.MatchString(d) {
			return fmt.Errorf("invalid boot device '%s'", d)
		}
	}
	return nil
}

// checkContentType accepts the kinds of volumes that a storage can hold.
func checkContentType(s string) error {
	if !slices.Contains([]string{"images", "rootdir", "vztmpl", "iso", "backup", "snippets", "import", "none"}, s) {
		return fmt.Errorf("invalid content type '%s'", s)
	}
	return nil
}
